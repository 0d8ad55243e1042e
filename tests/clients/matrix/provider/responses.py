"""OpenAI Responses: checks a request, writes the answer and keeps stored responses."""

import json
import time
import uuid

from . import scenario
from .chat import NAME, error  # noqa: F401  (both protocols have one form of errors)
from .error import Refusal, known, require

FIELDS = set(
    "background client_metadata context_management conversation include input instructions max_output_tokens "
    "max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key "
    "prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text "
    "tool_choice tools top_logprobs top_p truncation user".split()
)
PREFIXES = {
    "function_call": "fc",
    "message": "msg",
    "reasoning": "rs",
    "custom_tool_call": "ctc",
    "function_call_output": "fc",
}
CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")

STORED = {}
"""Stored responses by id: the response, and the items of its conversation including its output."""
ITEMS = {}
"""Items of stored responses by id."""


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


def resolve(body):
    """Returns the items of the conversation: those of the previous response, then those of the request."""
    previous, items = body.get("previous_response_id"), []
    if previous is not None:
        require(
            previous in STORED,
            f"Previous response with id '{previous}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
        items = list(STORED[previous][1])
    given = body.get("input", [])
    if isinstance(given, str):
        given = [{"type": "message", "role": "user", "content": given}]
    require(isinstance(given, list), "Invalid type for 'input'.", param="input")
    for at, item in enumerate(given):
        if item.get("type") == "item_reference":
            require(item.get("id") in ITEMS, f"Item with id '{item.get('id')}' not found.", status=404, param="input")
            item = ITEMS[item["id"]]
        else:
            check_item(item, at)
        items.append(item)
    return items


def check_item(item, at):
    kind, param = item.get("type", "message"), f"input[{at}]"
    identifier = item.get("id")
    if identifier is not None and kind in PREFIXES:
        require(
            identifier.startswith(PREFIXES[kind]),
            f"Invalid '{param}.id': '{identifier}'. Expected an ID that begins with '{PREFIXES[kind]}'.",
            param=f"{param}.id",
        )
    if kind == "message":
        role = item.get("role")
        require(
            role in ("user", "assistant", "system", "developer"), f"Invalid value: '{role}'.", param=f"{param}.role"
        )
        content = item.get("content")
        require(content is not None, f"Missing required parameter: '{param}.content'.", param=param)
        allowed = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image", "input_file")
        for index, part in enumerate(content if isinstance(content, list) else []):
            require(
                part.get("type") in allowed,
                f"Invalid value: '{part.get('type')}'. Supported values are: {', '.join(allowed)}.",
                param=f"{param}.content[{index}]",
            )
    elif kind == "function_call":
        for name in ("call_id", "name", "arguments"):
            require(isinstance(item.get(name), str), f"Missing required parameter: '{param}.{name}'.", param=param)
        require(NAME.match(item["name"]), f"Invalid '{param}.name': string does not match pattern.", param=param)
    elif kind in OUTPUTS:
        require(
            isinstance(item.get("output"), (str, list)), f"Missing required parameter: '{param}.output'.", param=param
        )
    elif kind == "reasoning":
        known_items = identifier in ITEMS or item.get("encrypted_content", "").startswith("gAAAA")
        require(known_items, f"Item with id '{identifier}' not found.", status=404, param=param)


def check_conversation(items):
    """Checks that each call has one output behind it, and each function call that needs it its reasoning item."""
    entries, open_calls, seen, reasoning = [], [], set(), set()
    for item in items:
        kind, identifier = item.get("type", "message"), item.get("id")
        if identifier is not None:
            require(identifier not in seen, f"Duplicate item found with id {identifier}.", param="input")
            seen.add(identifier)
        if kind == "reasoning":
            reasoning.add(identifier)
        elif kind in CALLS:
            needed = NEEDS_REASONING.get(identifier)
            require(
                needed is None or needed in reasoning,
                f"Item '{identifier}' of type '{kind}' was provided without its required 'reasoning' item: '{needed}'.",
                param="input",
            )
            open_calls.append(item["call_id"])
            if not entries or entries[-1].role != "assistant":
                entries.append(scenario.Entry("assistant"))
        elif kind in OUTPUTS:
            require(
                item.get("call_id") in open_calls,
                f"No tool call found for function call output with call_id {item.get('call_id')}.",
                param="input",
            )
            open_calls.remove(item["call_id"])
            entries.append(scenario.Entry("result", text_of(item["output"])))
        elif kind == "message":
            role = "assistant" if item["role"] == "assistant" else "user"
            entries.append(scenario.Entry(role, text_of(item["content"])))
    require(not open_calls, f"No tool output found for function call {', '.join(open_calls)}.", param="input")
    require(entries, "One of 'input' or 'previous_response_id' or 'prompt' must be provided.", param="input")
    return entries


NEEDS_REASONING = {}
"""Function calls by item id, with the id of the reasoning item in front of them."""


def check_tools(body):
    tools = {}
    for at, tool in enumerate(body.get("tools") or []):
        require("type" in tool, f"Missing required parameter: 'tools[{at}].type'.", param=f"tools[{at}].type")
        if tool["type"] == "function":
            require(
                isinstance(tool.get("name"), str), f"Missing required parameter: 'tools[{at}].name'.", param="tools"
            )
            tools[tool["name"]] = tool.get("parameters") or {}
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        require(
            choice.get("name") in tools, "Tool choice 'function' not found in 'tools' parameter.", param="tool_choice"
        )
    return tools


def respond(body, _headers):
    """Returns the plain answer, or an iterator over the events of a stream."""
    known(body, FIELDS, "Unknown parameter: '{}'.")
    require(isinstance(body.get("model"), str), "Missing required parameter: 'model'.", param="model")
    items = resolve(body)
    entries, tools = check_conversation(items), check_tools(body)
    try:
        answer = scenario.next_answer(body["model"], entries, tools)
    except scenario.UnknownModel:
        raise Refusal(f"The requested model '{body['model']}' does not exist.", code="model_not_found") from None
    store = body.get("store") is not False
    encrypted = "reasoning.encrypted_content" in (body.get("include") or [])
    output = output_items(answer, store, encrypted)
    response = {
        "id": f"resp_{uuid.uuid4().hex}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "background": False,
        "completed_at": int(time.time()),
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": None,
        "model": body["model"],
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "prompt_cache_key": body.get("prompt_cache_key"),
        "prompt_cache_retention": None,
        "reasoning": {"effort": None, "summary": None},
        "safety_identifier": None,
        "service_tier": "default",
        "store": store,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools") or [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": 20,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 25,
        },
        "user": None,
        "metadata": body.get("metadata") or {},
    }
    if store:
        STORED[response["id"]] = (response, items + output)
        ITEMS.update((item["id"], item) for item in output)
    return events(response) if body.get("stream") else response


def output_items(answer, store, encrypted):
    output = []
    if answer.reasoning:
        item = {"id": f"rs_{uuid.uuid4().hex}", "type": "reasoning", "summary": []}
        if encrypted:
            item["encrypted_content"] = "gAAAA" + uuid.uuid4().hex
        output.append(item)
    if answer.text:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": answer.text}
        identifier = f"msg_{uuid.uuid4().hex}"
        output.append(
            {"id": identifier, "type": "message", "status": "completed", "content": [part], "role": "assistant"}
        )
    for call in answer.calls:
        item = {
            "id": f"fc_{uuid.uuid4().hex}",
            "type": "function_call",
            "status": "completed",
            "arguments": call.arguments,
            "call_id": f"call_{uuid.uuid4().hex[:24]}",
            "name": call.name,
        }
        if answer.reasoning:
            NEEDS_REASONING[item["id"]] = output[0]["id"]
        output.append(item)
    return output


def events(response):
    number = -1

    def event(kind, **fields):
        nonlocal number
        number += 1
        return kind, json.dumps({"type": kind, "sequence_number": number, **fields})

    started = {**response, "status": "in_progress", "completed_at": None, "output": [], "usage": None}
    yield event("response.created", response=started)
    yield event("response.in_progress", response=started)
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            part = item["content"][0]
            head, place = {**item, "status": "in_progress", "content": []}, {**place, "content_index": 0}
            yield event("response.output_item.added", output_index=index, item=head)
            yield event("response.content_part.added", **place, part={**part, "text": ""})
            for piece in scenario.pieces(part["text"]):
                yield event("response.output_text.delta", **place, delta=piece, logprobs=[], obfuscation="x8Jv")
            yield event("response.output_text.done", **place, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **place, part=part)
        elif item["type"] == "function_call":
            head = {**item, "status": "in_progress", "arguments": ""}
            yield event("response.output_item.added", output_index=index, item=head)
            for piece in scenario.pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **place, delta=piece, obfuscation="x8Jv")
            yield event("response.function_call_arguments.done", **place, arguments=item["arguments"])
        else:
            yield event("response.output_item.added", output_index=index, item=item)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=response)


def retrieve(identifier):
    require(identifier in STORED, f"Response with id '{identifier}' not found.", status=404)
    return STORED[identifier][0]
