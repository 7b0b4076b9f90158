"""What the clients' scripts have in common: they make calls in order, and print one line of JSON that tells how each went."""

import json
import sys


class Told:
    """An answer as the client told it. It is filled bit by bit, so that what came before an error is told as well."""

    def __init__(self):
        self.text = ""
        self.reasoning = ""
        self.refusal = ""
        self.calls = {}
        self.finish = None
        self.output_tokens = None

    def call(self, index, name, arguments):
        before = self.calls.setdefault(index, {"name": "", "arguments": ""})
        before["name"] += name or ""
        before["arguments"] += arguments or ""

    def as_json(self):
        return {**vars(self), "calls": list(self.calls.values())}


def error_json(error):
    chain = []
    at = error
    while at:
        chain.append(type(at).__name__)
        at = at.__cause__ or at.__context__
    return {
        "class": type(error).__name__,
        "bases": [base.__name__ for base in type(error).__mro__],
        "chain": chain,
        "status": getattr(error, "status_code", None),
        "code": getattr(error, "code", None),
        "request_id": getattr(error, "request_id", None),
        "message": str(error),
    }


def run(calls):
    """argv: the server's URL, then the names of the calls."""
    results = []
    for name in sys.argv[2:]:
        told = Told()
        error = None
        try:
            calls[name](told)
        except Exception as raised:  # each error is a result here
            error = error_json(raised)
        results.append({**told.as_json(), "error": error})
    print(json.dumps(results))
