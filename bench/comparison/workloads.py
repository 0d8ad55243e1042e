"""Workloads: a request, the answer that the mock upstream gives to it, and the texts that every answer contains.

A name is `call` (one tool call) or `text`, with the prefix `responses-` or `messages-` for these protocols, the suffix
`-stream`, and at most one more suffix: `-40` tools, `-20k` prompt of 20 kB, `-100m` messages, `-100c` chunks of a
stream, `-2000b` bytes of a text.
"""

from __future__ import annotations

import json
import pathlib
import re
from dataclasses import dataclass

import body

NAME = re.compile(
    r"(?:(?P<protocol>responses|messages)-)?(?P<answer>call|text)(?P<stream>-stream)?(?P<variant>-\d+[kmcb]?)?"
)
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
# Characters of one chunk, about one token.
CHUNK_BYTES = 3


@dataclass(frozen=True)
class Workload:
    """Request, answer and check."""

    name: str
    protocol: str
    # Settings of the mock upstream, which are the first segment of the path.
    answer: str
    body: bytes
    expected: tuple[str, ...]

    @property
    def path(self) -> str:
        return PATHS[self.protocol]

    def write(self, folder: pathlib.Path) -> pathlib.Path:
        """Writes the request's body into a file of the folder."""
        file = folder / f"{self.name}.json"
        file.write_bytes(self.body)
        return file


def parse(name: str, **settings: int) -> Workload:
    """Returns the workload of a name, with further settings of the mock upstream."""
    parts = NAME.fullmatch(name)
    if not parts:
        raise SystemExit(f"bench/run: {name}: no such workload; examples: call, text-stream-100c, messages-call-40")
    protocol, variant = parts["protocol"] or "chat", parts["variant"] or ""
    is_stream, number = bool(parts["stream"]), int(re.sub(r"\D", "", variant) or 0)
    answer = {"answer": parts["answer"]}
    expected = ["get_weather"] if parts["answer"] == "call" else ["Paris"]
    if variant.endswith("c"):
        if not is_stream or parts["answer"] != "text":
            raise SystemExit(f"bench/run: {name}: only text-stream has a number of chunks")
        # Each chunk has a part of a word, so the end of the answer is checked instead.
        answer |= {"chunks": number, "size": number * CHUNK_BYTES}
        expected = ['"finish_reason":"stop"', "[DONE]"] if protocol == "chat" else ["Paris"]
    if variant.endswith("b"):
        answer |= {"size": number}
    request_variant = "" if variant.endswith(("b", "c")) else variant
    request = {**body.request(protocol, request_variant), "temperature": 0.2}
    if is_stream:
        request["stream"] = True
    text = json.dumps(request, separators=(",", ":"))
    joined = "&".join(f"{key}={value}" for key, value in {**answer, **settings}.items())
    return Workload(name, protocol, joined, text.encode(), tuple(expected))
