"""A scripted provider of Responses, Messages and Chat Completions for coding agents, as streams.

The words `scenario NAME` in the user's text select the answers. The step is the number of tool results in the request,
so that a feedback of the proxy, which is one, leads to the next answer: a call that is refused is never made again.
A call with the member `seconds` is streamed for so long.
"""

import json
import re
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCENARIO = re.compile(r"scenario ([a-z0-9-]+)")
RESULTS = ("function_call_output", "custom_tool_call_output", "tool_search_output")


def texts(value):
    """Returns all texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from texts(member)
    elif isinstance(value, list):
        for element in value:
            yield from texts(element)


def results(body):
    """Returns the tool results of a request."""
    if "input" in body:
        return [item for item in body["input"] if item.get("type") in RESULTS]
    found = []
    for message in body.get("messages", []):
        if message.get("role") == "tool":
            found.append(message)
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                found.append(block)
    return found


def names(body):
    """Returns the names of the tools of a request."""
    tools = list(body.get("tools") or [])
    for item in body.get("input", []) if isinstance(body.get("input"), list) else []:
        if item.get("type") == "additional_tools":
            tools += item["tools"]
    return {(tool.get("function") or tool).get("name") or tool.get("type") for tool in tools}


def next_item(body, scenarios):
    """Returns the next item of the scenario, or a final text. Requests for titles and summaries get a text."""
    conversation = body.get("input") or body.get("messages")
    found = [match for text in texts(conversation) for match in SCENARIO.findall(text)]
    steps = scenarios.get(found[0]) if found else None
    at = len(results(body))
    # Clients ask for titles without their tools.
    if steps is None or at >= len(steps) or not names(body):
        return {"type": "text", "text": "Done."}
    return steps[at]


def argument_parts(item):
    """Returns the text of a call's arguments, in a part for each second of its stream."""
    text = json.dumps(item["arguments"])
    parts = item.get("seconds", 1)
    return [text[at * len(text) // parts : (at + 1) * len(text) // parts] for at in range(parts)]


def responses_events(body, item):
    identifier = uuid.uuid4().hex
    if item["type"] == "text":
        part = {"type": "output_text", "annotations": [], "text": item["text"]}
        output = {"id": f"msg_{identifier}", "type": "message", "status": "completed", "role": "assistant"}
        output["content"] = [part]
    elif item["type"] == "custom":
        output = {"id": f"ctc_{identifier}", "type": "custom_tool_call", "status": "completed"}
        output |= {"call_id": f"call_{identifier}", "name": item["name"], "input": item["input"]}
    elif item["type"] == "tool_search":
        output = {"id": f"tsc_{identifier}", "type": "tool_search_call", "status": "completed"}
        output |= {"call_id": f"call_{identifier}", "execution": "client", "arguments": item["arguments"]}
    else:
        output = {"id": f"fc_{identifier}", "type": "function_call", "status": "completed"}
        output |= {"call_id": f"call_{identifier}", "name": item["name"], "arguments": json.dumps(item["arguments"])}
    if "namespace" in item:
        output["namespace"] = item["namespace"]
    response = {"id": f"resp_{identifier}", "object": "response", "created_at": 1, "status": "completed"}
    response |= {"model": body["model"], "output": [output], "error": None, "incomplete_details": None}
    response |= {"parallel_tool_calls": False, "tool_choice": "auto", "tools": body.get("tools") or []}
    response["usage"] = {
        "input_tokens": 1,
        "output_tokens": 1,
        "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    begun = dict(output, status="in_progress")
    deltas = []
    if item["type"] == "call":
        begun["arguments"] = ""
        place = {"output_index": 0, "item_id": output["id"]}
        kind = "response.function_call_arguments"
        deltas = [(f"{kind}.delta", {**place, "delta": part}) for part in argument_parts(item)]
        deltas.append((f"{kind}.done", {**place, "arguments": output["arguments"]}))
    events = [
        ("response.created", {"response": dict(response, status="in_progress", output=[], usage=None)}),
        ("response.output_item.added", {"output_index": 0, "item": begun}),
        *deltas,
        ("response.output_item.done", {"output_index": 0, "item": output}),
        ("response.completed", {"response": response}),
    ]
    return [(kind, {"type": kind, "sequence_number": at, **event}) for at, (kind, event) in enumerate(events)]


def messages_events(body, item):
    identifier = uuid.uuid4().hex
    message = {"id": f"msg_{identifier}", "type": "message", "role": "assistant", "model": body["model"]}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None}
    message["usage"] = {"input_tokens": 1, "output_tokens": 1}
    if item["type"] == "text":
        block, reason = {"type": "text", "text": ""}, "end_turn"
        deltas = [{"type": "text_delta", "text": item["text"]}]
    else:
        block, reason = {"type": "tool_use", "id": f"toolu_{identifier}", "name": item["name"], "input": {}}, "tool_use"
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in argument_parts(item)]
    events = [
        ("message_start", {"message": message}),
        ("content_block_start", {"index": 0, "content_block": block}),
        *(("content_block_delta", {"index": 0, "delta": delta}) for delta in deltas),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 2}}),
        ("message_stop", {}),
    ]
    return [(kind, {"type": kind, **event}) for kind, event in events]


def chat_events(body, item):
    identifier = uuid.uuid4().hex
    chunk = {"id": f"chatcmpl-{identifier}", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
    if item["type"] == "text":
        delta, reason = {"role": "assistant", "content": item["text"]}, "stop"
    else:
        function = {"name": item["name"], "arguments": json.dumps(item["arguments"])}
        call = {"index": 0, "id": f"call_{identifier}", "type": "function", "function": function}
        delta, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    deltas = [(delta, None), ({}, reason)]
    return [
        (None, {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}) for delta, reason in deltas
    ]


class Provider:
    """Serves on a free port of the loopback interface until `close`. `requests` has the bodies received, `answers` the items
    sent."""

    def __init__(self, scenarios):
        self.requests, self.answers = [], []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def respond(self, status, kind, body):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                # A WebSocket of Codex, which then uses HTTP; else the list of models.
                status = 426 if self.headers.get("upgrade") else 200
                self.respond(status, "application/json", b'{"object": "list", "data": []}')

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                path = self.path.split("?")[0]
                encode = {"responses": responses_events, "messages": messages_events, "completions": chat_events}
                events = encode.get(path.rsplit("/", 1)[-1])
                if events is None:
                    return self.respond(404, "application/json", b'{"error": {"message": "not served"}}')
                provider.requests.append(body)
                item = next_item(body, scenarios)
                provider.answers.append(item)
                lines = [
                    (f"event: {kind}\n" if kind else "") + f"data: {json.dumps(event)}\n\n"
                    for kind, event in events(body, item)
                ]
                lines += ["data: [DONE]\n\n"] if events is chat_events else []
                if "seconds" not in item:
                    return self.respond(200, "text/event-stream", "".join(lines).encode())
                self.stream_slowly(lines, item["seconds"] / len(lines))

            def stream_slowly(self, lines, pause):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                try:
                    for line in lines:
                        self.wfile.write(line.encode())
                        time.sleep(pause)
                except OSError:
                    # The client gave up.
                    return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
