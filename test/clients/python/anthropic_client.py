"""`anthropic` from PyPI: makes the calls that it is told to, and tells what came of them."""

import json
import sys

from anthropic import Anthropic
from told import run

CLIENT = Anthropic(base_url=sys.argv[1], api_key="sk-mock", max_retries=0)
PROMPT = {"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": "hello"}]}
ASKED = {**PROMPT, "max_tokens": 77}


def streamed(told):
    for event in CLIENT.messages.create(**ASKED, stream=True):
        if event.type == "content_block_start" and event.content_block.type == "tool_use":
            told.call(event.index, event.content_block.name, "")
        elif event.type == "content_block_delta":
            if event.delta.type == "text_delta":
                told.text += event.delta.text
            elif event.delta.type == "thinking_delta":
                told.reasoning += event.delta.thinking
            elif event.delta.type == "input_json_delta":
                told.call(event.index, "", event.delta.partial_json)
        elif event.type == "message_delta":
            told.finish = event.delta.stop_reason
            told.output_tokens = event.usage.output_tokens


def message_told(told, message):
    for index, block in enumerate(message.content):
        if block.type == "text":
            told.text += block.text
        elif block.type == "thinking":
            told.reasoning += block.thinking
        elif block.type == "tool_use":
            told.call(index, block.name, json.dumps(block.input, separators=(",", ":")))
    told.finish = message.stop_reason
    told.output_tokens = message.usage.output_tokens


def helper(told):
    with CLIENT.messages.stream(**ASKED) as stream:
        message_told(told, stream.get_final_message())


def whole(told):
    message_told(told, CLIENT.messages.create(**ASKED))


def count_tokens(told):
    told.output_tokens = CLIENT.messages.count_tokens(**PROMPT).input_tokens


def models(told):
    told.text = " ".join(model.id for model in CLIENT.models.list())


run({"streamed": streamed, "helper": helper, "whole": whole, "count_tokens": count_tokens, "models": models})
