"""`openai` from PyPI: makes the calls that it is told to, and tells what came of them."""

import sys

from openai import OpenAI
from told import run

CLIENT = OpenAI(base_url=sys.argv[1] + "/v1", api_key="sk-mock", max_retries=0)
CHAT = {"model": "gpt-5.4", "messages": [{"role": "user", "content": "hello"}]}
RESPONSE = {"model": "gpt-5.4", "input": "hello"}


def chat_streamed(told):
    for chunk in CLIENT.chat.completions.create(**CHAT, stream=True, stream_options={"include_usage": True}):
        if chunk.usage:
            told.output_tokens = chunk.usage.completion_tokens
        if not chunk.choices:
            continue
        choice = chunk.choices[0]
        told.text += choice.delta.content or ""
        told.refusal += choice.delta.refusal or ""
        told.reasoning += getattr(choice.delta, "reasoning_content", None) or ""
        for call in choice.delta.tool_calls or []:
            told.call(call.index, call.function.name, call.function.arguments)
        told.finish = choice.finish_reason or told.finish


def chat_told(told, completion):
    choice = completion.choices[0]
    told.text = choice.message.content or ""
    told.refusal = choice.message.refusal or ""
    told.reasoning = getattr(choice.message, "reasoning_content", None) or ""
    for index, call in enumerate(choice.message.tool_calls or []):
        told.call(index, call.function.name, call.function.arguments)
    told.finish = choice.finish_reason
    told.output_tokens = completion.usage and completion.usage.completion_tokens


def chat_helper(told):
    with CLIENT.chat.completions.stream(**CHAT, stream_options={"include_usage": True}) as stream:
        chat_told(told, stream.get_final_completion())


def chat_whole(told):
    chat_told(told, CLIENT.chat.completions.create(**CHAT))


def responses_streamed(told):
    for event in CLIENT.responses.create(**RESPONSE, stream=True):
        if event.type == "response.output_text.delta":
            told.text += event.delta
        elif event.type == "response.refusal.delta":
            told.refusal += event.delta
        elif event.type == "response.reasoning_summary_text.delta":
            told.reasoning += event.delta
        elif event.type == "response.output_item.added" and event.item.type == "function_call":
            told.call(event.output_index, event.item.name, "")
        elif event.type == "response.function_call_arguments.delta":
            told.call(event.output_index, "", event.delta)
        elif event.type == "response.completed":
            told.finish = "completed"
        elif event.type == "response.incomplete":
            told.finish = event.response.incomplete_details.reason


def responses_told(told, response):
    for index, item in enumerate(response.output):
        if item.type == "reasoning":
            told.reasoning += "".join(part.text for part in item.summary)
        elif item.type == "function_call":
            told.call(index, item.name, item.arguments)
        elif item.type == "message":
            told.refusal += "".join(part.refusal for part in item.content if part.type == "refusal")
    told.text = response.output_text
    told.finish = response.incomplete_details.reason if response.incomplete_details else response.status
    told.output_tokens = response.usage and response.usage.output_tokens


def responses_helper(told):
    with CLIENT.responses.stream(**RESPONSE) as stream:
        responses_told(told, stream.get_final_response())


def responses_whole(told):
    responses_told(told, CLIENT.responses.create(**RESPONSE))


def models(told):
    told.text = " ".join(model.id for model in CLIENT.models.list())


run(
    {
        "chat_streamed": chat_streamed,
        "chat_helper": chat_helper,
        "chat_whole": chat_whole,
        "responses_streamed": responses_streamed,
        "responses_helper": responses_helper,
        "responses_whole": responses_whole,
        "models": models,
    }
)
