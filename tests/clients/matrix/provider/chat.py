"""OpenAI Chat Completions: checks a request and writes the answer."""

import json
import re
import time
import uuid

from . import scenario
from .error import Refusal, known, require

FIELDS = set(
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages "
    "metadata modalities model moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key "
    "prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options".split()
)
NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")


def error(refusal):
    kind = "invalid_request_error"
    return {"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": refusal.code}}


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def check_messages(messages):
    require(isinstance(messages, list) and messages, "Invalid 'messages': empty array.", param="messages")
    open_ids, entries = [], []
    for at, message in enumerate(messages):
        role, param = message.get("role"), f"messages.[{at}].role"
        if role == "tool":
            require(
                message.get("tool_call_id") in open_ids,
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                f"'tool_calls': {message.get('tool_call_id')}",
                param=param,
            )
            open_ids.remove(message["tool_call_id"])
            require(isinstance(message.get("content"), (str, list)), "Invalid value for 'content'.", param=param)
            entries.append(scenario.Entry("result", text_of(message["content"])))
            continue
        check_results(open_ids, param)
        require(role in ("system", "developer", "user", "assistant"), f"Invalid value: '{role}'.", param=param)
        if role == "assistant":
            calls = message.get("tool_calls")
            require(calls is None or calls, f"Invalid 'messages[{at}].tool_calls': empty array.", param=param)
            require(
                message.get("content") is not None or calls or message.get("refusal"),
                "Invalid value for 'content': expected a string, got null.",
                param=param,
            )
            for call in calls or []:
                require(call.get("type") == "function", "Missing required parameter: 'type'.", param=param)
                function = call["function"]
                require(NAME.match(function["name"]), "Invalid 'name': string does not match pattern.", param=param)
                require(isinstance(function["arguments"], str), "Invalid type for 'arguments'.", param=param)
                require(call["id"] not in open_ids, f"Duplicate value for 'tool_call_id': {call['id']}", param=param)
                open_ids.append(call["id"])
        else:
            require(message.get("content") is not None, "Invalid value for 'content': got null.", param=param)
        entries.append(scenario.Entry("assistant" if role == "assistant" else "user", text_of(message.get("content"))))
    check_results(open_ids, f"messages.[{len(messages) - 1}].role")
    return entries


def check_results(open_ids, param):
    require(
        not open_ids,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(open_ids)}",
        param=param,
    )


def check_tools(body):
    tools = {}
    for tool in body.get("tools") or []:
        require(tool.get("type") in ("function", "custom"), "Invalid value for 'tools[].type'.", param="tools")
        function = tool[tool["type"]]
        require(NAME.match(function["name"]), "Invalid 'tools[].function.name'.", param="tools")
        tools[function["name"]] = function.get("parameters", {})
    require(body.get("tools") != [], "Invalid 'tools': empty array.", param="tools")
    for name in ("tool_choice", "parallel_tool_calls"):
        require(tools or body.get(name) is None, f"'{name}' is only allowed when 'tools' are specified.", param=name)
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        require(choice["function"]["name"] in tools, "Tool choice names no tool.", param="tool_choice")
    return tools


def respond(body, _headers):
    """Returns the plain answer, or an iterator over the events of a stream."""
    known(body, FIELDS, "Unrecognized request argument supplied: {}")
    require(isinstance(body.get("model"), str), "you must provide a model parameter", param="model")
    require(
        body.get("stream") or body.get("stream_options") is None,
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        param="stream_options",
    )
    entries, tools = check_messages(body.get("messages")), check_tools(body)
    try:
        answer = scenario.next_answer(body["model"], entries, tools)
    except scenario.UnknownModel:
        raise Refusal(f"The model `{body['model']}` does not exist", status=404, code="model_not_found") from None
    head = {
        "id": f"chatcmpl-{uuid.uuid4().hex[:24]}",
        "created": int(time.time()),
        "model": body["model"],
        "service_tier": "default",
        "system_fingerprint": "fp_matrix",
    }
    calls = [
        {
            "id": f"call_{uuid.uuid4().hex[:24]}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in answer.calls
    ]
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 5,
        "total_tokens": 25,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    reason = "tool_calls" if calls else "stop"
    if body.get("stream"):
        include_usage = (body.get("stream_options") or {}).get("include_usage", False)
        return events(head, answer, calls, reason, usage, include_usage)
    message = {"role": "assistant", "content": answer.text or None, "refusal": None, "annotations": []}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": usage}


def events(head, answer, calls, reason, usage, include_usage):
    def chunk(delta, finish=None, choices=None, usage=None):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        body = {**head, "object": "chat.completion.chunk", "choices": [choice] if choices is None else choices}
        if include_usage:
            body["usage"] = usage
        body["obfuscation"] = "x8Jv"
        return None, json.dumps(body)

    if calls:
        yield chunk({"role": "assistant", "content": None, "refusal": None})
    else:
        yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece in scenario.pieces(answer.text):
        yield chunk({"content": piece})
    for index, call in enumerate(calls):
        start = {**call, "function": {"name": call["function"]["name"], "arguments": ""}}
        yield chunk({"tool_calls": [{"index": index, **start}]})
        for piece in scenario.pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, finish=reason)
    if include_usage:
        yield chunk({}, choices=[], usage=usage)
    yield None, "[DONE]"
