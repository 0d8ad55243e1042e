"""Anthropic Messages: checks a request and writes the answer."""

import json
import re
import uuid

from . import scenario
from .error import Refusal, known, require

FIELDS = set(
    "model messages max_tokens system tools tool_choice temperature top_p top_k stop_sequences stream metadata "
    "thinking service_tier container mcp_servers context_management output_config output_format inference_geo "
    "cache_control speed betas diagnostics".split()
)
IDENTIFIER = re.compile(r"^[a-zA-Z0-9_-]+$")
THREADS = {}
"""Messages, system prompt and tools of threads (beta `message-threads-2026-08-12`), by the id of the last answer."""
CONTINUED = set()
"""Ids of answers that a later request continued."""
SIGNATURE = "c2lnbmF0dXJlLW9mLXRoZS1tYXRyaXg="
KINDS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}


def error(refusal):
    kind = KINDS.get(refusal.status, "api_error")
    fields = {"details": refusal.details} if refusal.details else {}
    return {
        "type": "error",
        "error": {"type": kind, "message": refusal.message, **fields},
        "request_id": f"req_{uuid.uuid4().hex[:24]}",
    }


def blocks_of(message):
    content = message.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or [] if block.get("type") == "text")


def check_messages(messages, thinking):
    require(isinstance(messages, list) and messages, "messages: at least one message is required")
    require(messages[0].get("role") == "user", 'messages: first message must use the "user" role')
    entries, seen, open_ids = [], set(), []
    for at, message in enumerate(messages):
        role, blocks = message.get("role"), blocks_of(message)
        known(message, {"role", "content"}, f"messages.{at}." + "{}: Extra inputs are not permitted")
        require(role in ("user", "assistant", "system"), f"messages.{at}.role: Input should be 'user' or 'assistant'")
        require(
            blocks or (role == "assistant" and at == len(messages) - 1),
            f"messages.{at}: all messages must have non-empty content except for the optional final assistant message",
        )
        leading = True
        results = []
        for index, block in enumerate(blocks):
            where, kind = f"messages.{at}.content.{index}", block.get("type")
            if kind == "tool_result":
                require(role == "user", f"{where}: `tool_result` blocks can only be in `user` messages")
                require(
                    leading and block.get("tool_use_id") in open_ids,
                    f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {block.get('tool_use_id')}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                )
                require(
                    block["tool_use_id"] not in results,
                    f"{where}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
                    f"{block['tool_use_id']}",
                )
                results.append(block["tool_use_id"])
                entries.append(scenario.Entry("result", text_of(block.get("content"))))
                continue
            leading = False
            if kind == "text":
                require(block.get("text", "").strip(), "messages: text content blocks must contain non-whitespace text")
            elif kind == "tool_use":
                require(role == "assistant", f"{where}: `tool_use` blocks can only be in `assistant` messages")
                require(
                    isinstance(block.get("input"), dict), f"{where}.tool_use.input: Input should be a valid dictionary"
                )
                require(IDENTIFIER.match(block.get("id", "")), f"{where}.tool_use.id: String should match pattern")
                require(
                    re.match(r"^[a-zA-Z0-9_-]{1,128}$", block["name"]),
                    f"{where}.tool_use.name: String should match pattern",
                )
                require(block["id"] not in seen, f"{where}: `tool_use` ids must be unique")
                seen.add(block["id"])
            elif kind == "thinking":
                require(block.get("signature") == SIGNATURE, f"{where}: Invalid `signature` in `thinking` block")
            else:
                require(
                    kind in ("image", "document", "redacted_thinking"), f"{where}: Input tag '{kind}' is unexpected"
                )
        check_results([name for name in open_ids if name not in results], at - 1)
        open_ids = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        if open_ids and thinking:
            require(
                blocks[0]["type"] in ("thinking", "redacted_thinking"),
                f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
                f"`{blocks[0]['type']}`. When `thinking` is enabled, a final `assistant` message must start with a "
                "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).",
            )
        if role == "assistant":
            entries.append(scenario.Entry("assistant", text_of(message.get("content"))))
        elif not results:
            entries.append(scenario.Entry("user", text_of(message.get("content"))))
    check_results(open_ids, len(messages) - 1)
    return entries


def check_results(missing, at):
    require(
        not missing,
        f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: "
        f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
        "message.",
    )


def check_tools(body):
    tools = {}
    for at, tool in enumerate(body.get("tools") or []):
        require(tool.get("name") and tool["name"] not in tools, "tools: Tool names must be unique.")
        if tool.get("type", "custom") == "custom":
            schema = tool.get("input_schema")
            require(isinstance(schema, dict), f"tools.{at}.custom.input_schema: Field required")
            require(schema.get("type") == "object", f"tools.{at}.custom.input_schema.type: Field required")
        tools[tool["name"]] = tool.get("input_schema", {})
    choice = body.get("tool_choice")
    if choice:
        require(tools, "tool_choice may only be specified while providing tools")
        require(choice.get("type") in ("auto", "any", "tool", "none"), "tool_choice: Input tag is unexpected")
        require(choice.get("type") != "tool" or choice.get("name") in tools, "tool_choice: tool not found in `tools`")
    return tools


def check_cache(body):
    parts = [body.get("system"), body.get("tools")] + [message.get("content") for message in body["messages"]]
    count = sum("cache_control" in block for part in parts if isinstance(part, list) for block in part)
    require(count <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")


def resolve(body, headers):
    """Replaces the messages of a request that continues a thread with those of the whole conversation."""
    thread = body.pop("thread", None)
    if thread is None:
        return None
    require("message-threads-" in headers.get("anthropic-beta", ""), "thread: Extra inputs are not permitted")
    if thread.get("type") == "continue":
        previous = thread.get("previous_message_id")
        require(previous in THREADS, "thread not found", status=404, details={"error_code": "thread_not_found"})
        details = {"error_code": "thread_already_continued"}
        require(previous not in CONTINUED, "thread already continued", status=409, details=details)
        held = THREADS[previous]
        for name in ("system", "tools"):
            require(name not in body, f"{name}: a request that continues a thread cannot have this field")
            body[name] = held[name]
        body["messages"] = held["messages"] + body["messages"]
    else:
        require(thread.get("type") == "create", "thread.type: Input should be 'create' or 'continue'")
    return thread


def check(body, headers):
    require(headers.get("anthropic-version"), "anthropic-version: header is required")
    known(body, FIELDS, "{}: Extra inputs are not permitted")
    require(isinstance(body.get("model"), str), "model: Field required")
    tools = check_tools(body)
    thinking = (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    entries = check_messages(body.get("messages"), thinking)
    check_cache(body)
    return entries, tools, thinking


def count_tokens(body, headers):
    check(body, headers)
    return {"input_tokens": 20}


def respond(body, headers):
    """Returns the plain answer, or an iterator over the events of a stream."""
    body = dict(body)
    thread = resolve(body, headers)
    entries, tools, thinking = check(body, headers)
    require(isinstance(body.get("max_tokens"), int), "max_tokens: Field required")
    if not tools:
        used = any(entry.role == "result" for entry in entries)
        require(not used, "Requests which have `tool_use` or `tool_result` blocks in messages must define tools")
    try:
        answer = scenario.next_answer(body["model"], entries, tools)
    except scenario.UnknownModel:
        raise Refusal(f"model: {body['model']}", status=404) from None
    stream = bool(body.get("stream"))
    content = []
    if thinking:
        content.append({"type": "thinking", "thinking": "The tools give the answer.", "signature": SIGNATURE})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    for call in answer.calls:
        # A provider of this protocol sends an object. Only the events of a stream can carry other text.
        arguments = re.sub(r"^```json\n|\n```$", "", call.arguments)
        entry = {
            "type": "tool_use",
            "id": f"toolu_{uuid.uuid4().hex[:24]}",
            "name": call.name,
            "caller": {"type": "direct"},
        }
        content.append({**entry, "input": arguments if stream else object_of(arguments)})
    message = {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 20,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 5,
            "service_tier": "standard",
        },
    }
    if thread:
        CONTINUED.add(thread.get("previous_message_id"))
        held = [{**block, "input": object_of(block["input"])} if "input" in block else block for block in content]
        messages = body["messages"] + [{"role": "assistant", "content": held}]
        THREADS[message["id"]] = {"messages": messages, "system": body.get("system"), "tools": body.get("tools")}
    return events(message) if stream else message


def object_of(arguments):
    """Parses arguments. Gateways that translate unreadable arguments to this protocol send them as a string."""
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def events(message):
    def event(kind, **fields):
        return kind, json.dumps({"type": kind, **fields})

    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield event("message_start", message=start)
    for index, block in enumerate(message["content"]):
        deltas = []
        if block["type"] == "thinking":
            head = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in scenario.pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif block["type"] == "text":
            head = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in scenario.pieces(block["text"])]
        else:
            head = {**block, "input": {}}
            parts = ["", *scenario.pieces(block["input"])]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in parts]
        yield event("content_block_start", index=index, content_block=head)
        if index == 0:
            yield event("ping")
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    usage = {
        key: message["usage"][key]
        for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    }
    yield event("message_delta", delta={"stop_reason": message["stop_reason"], "stop_sequence": None}, usage=usage)
    yield event("message_stop")
