"""The scripted model provider of the client matrix as an HTTP/1.1 server on 127.0.0.1.

Usage: upstream.py [--port PORT] [--log FILE]

It prints its port. The log has one JSON line per request: the API key, path, status and, for a refused request, its
body and the error. provider/ has the protocols and the scripted model.
"""

import argparse
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from provider import chat, messages, responses, scenario
from provider.error import Refusal

ENDPOINTS = {
    "/v1/chat/completions": (chat, chat.respond),
    "/v1/responses": (responses, responses.respond),
    "/v1/messages": (messages, messages.respond),
    "/v1/messages/count_tokens": (messages, messages.count_tokens),
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        path = self.path.partition("?")[0]
        try:
            self.check_key(path)
            if path == "/v1/models":
                return self.send_json(200, models("anthropic-version" in self.headers))
            if path.startswith("/v1/responses/"):
                return self.send_json(200, responses.retrieve(path.rpartition("/")[2]))
            raise Refusal(f"Invalid URL (GET {path})", status=404)
        except Refusal as refusal:
            return self.refuse(chat, refusal, None)

    def do_POST(self):
        path = self.path.partition("?")[0]
        data = self.read_body()
        body, protocol = None, messages if path.startswith("/v1/messages") else chat
        try:
            self.check_key(path)
            if path not in ENDPOINTS:
                raise Refusal(f"Invalid URL (POST {path})", status=404)
            protocol, respond = ENDPOINTS[path]
            try:
                body = json.loads(data)
            except ValueError:
                raise Refusal("We could not parse the JSON body of your request.") from None
            try:
                answer = respond(body, self.headers)
            except (KeyError, TypeError, AttributeError) as error:
                raise Refusal(f"Malformed request: {error!r}") from error
        except Refusal as refusal:
            return self.refuse(protocol, refusal, body)
        self.record(200, request=body)
        if isinstance(answer, dict):
            return self.send_json(200, answer)
        return self.send_events(answer)

    def read_body(self):
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        data = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def key(self):
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return self.headers.get("x-api-key") or bearer

    def check_key(self, path):
        """Checks the key. Anthropic takes `x-api-key` or a bearer token, OpenAI a bearer token."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        key = self.key() if path.startswith("/v1/messages") or "anthropic-version" in self.headers else bearer
        if not key.startswith("sk-matrix"):
            raise Refusal("Incorrect API key provided.", status=401, code="invalid_api_key")

    def refuse(self, protocol, refusal, body):
        self.record(refusal.status, error=refusal.message, request=body)
        self.send_json(refusal.status, protocol.error(refusal))

    def record(self, status, **fields):
        if self.server.log:
            entry = {"key": self.key(), "path": self.path, "status": status, **fields}
            self.server.log.write(json.dumps(entry) + "\n")
            self.server.log.flush()

    def send_json(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("x-request-id", "req_matrix")
        self.send_header("request-id", "req_matrix")
        self.end_headers()
        self.wfile.write(data)

    def send_events(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("x-request-id", "req_matrix")
        self.send_header("request-id", "req_matrix")
        self.end_headers()
        for kind, data in events:
            event = (f"event: {kind}\n" if kind else "") + f"data: {data}\n\n"
            encoded = event.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(encoded), encoded))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


def models(anthropic):
    if anthropic:
        data = [
            {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
            for name in scenario.SCENARIOS
        ]
        return {"data": data, "has_more": False, "first_id": data[0]["id"], "last_id": data[-1]["id"]}
    data = [{"id": name, "object": "model", "created": 1, "owned_by": "matrix"} for name in scenario.SCENARIOS]
    return {"object": "list", "data": data}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log")
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    server.log = open(options.log, "w") if options.log else None
    print(server.server_address[1], flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
