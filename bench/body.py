"""Prints the request of a workload of bench/run or bench/instructions as JSON.

usage: body.py STREAM PROTOCOL [VARIANT]

STREAM is `yes` or `no`; PROTOCOL is `chat`, `responses` or `messages`; VARIANT is `-40` (40 tools, or another number
from 3), `-20k` (a prompt of 20 kB) or `-100m` (100 messages, or another number). The request offers the tool that the
mock calls and two others, so that each answer is judged against its schema.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

TEXT = {"type": "string"}
NUMBER = {"type": "integer", "minimum": 1, "maximum": 14}
FLAG = {"type": "boolean"}

WEATHER = {
    "city": {**TEXT, "description": "Name of the city"},
    "country": {**TEXT, "pattern": "^[A-Z]{2}$"},
    "unit": {**TEXT, "enum": ["celsius", "fahrenheit"]},
    "days": NUMBER,
    "include": {"type": "array", "items": {**TEXT, "enum": ["wind", "rain", "sun"]}, "uniqueItems": True},
    "detail": {"type": "object", "properties": {"hourly": FLAG}, "additionalProperties": False},
}
TRAINS = {"from": TEXT, "to": TEXT, "departure": {**TEXT, "format": "date-time"}}
ROOM = {"hotel": TEXT, "nights": NUMBER, "breakfast": FLAG}


def function(name: str, description: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name, "description": description, "parameters": schema}


def functions(variant: str) -> list[dict[str, Any]]:
    offered = [
        function("get_weather", "Weather forecast for a city", WEATHER, ["city", "country"]),
        function("find_trains", "Trains between two cities", TRAINS, ["from", "to"]),
        function("book_room", "Books a hotel room", ROOM, ["hotel", "nights"]),
    ]
    if tools := re.fullmatch(r"-(\d+)", variant):
        record = {"id": TEXT, "limit": NUMBER, "deep": FLAG}
        more = int(tools[1]) - len(offered)
        offered += [function(f"look_up_{n}", f"Looks up record {n}", record, ["id"]) for n in range(more)]
    return offered


def conversation(variant: str) -> list[dict[str, Any]]:
    messages = [{"role": "user", "content": "I am off to Paris for three days. What shall I wear?"}]
    if count := re.fullmatch(r"-(\d+)m", variant):
        text = "The train leaves at nine, and the museum opens at ten."
        earlier = int(count[1]) - 1
        before = [{"role": ("user", "assistant")[(earlier - n) % 2], "content": f"{n}: {text}"} for n in range(earlier)]
        return before + messages
    if variant == "-20k":
        text = "The train leaves at nine, and the museum opens at ten. " * 40
        messages += [{"role": ("assistant", "user")[n % 2], "content": f"{n}: {text}"} for n in range(8)]
    return messages


def request(protocol: str, variant: str) -> dict[str, Any]:
    instructions = "You help people to plan their journeys. Use the tools; do not guess what they can tell you."
    messages, offered = conversation(variant), functions(variant)
    if protocol == "responses":
        tools = [{"type": "function", **tool} for tool in offered]
        return {"model": "mock", "instructions": instructions, "input": messages, "tools": tools, "store": False}
    if protocol == "messages":
        tools = [
            {"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}
            for tool in offered
        ]
        return {"model": "mock", "max_tokens": 1024, "system": instructions, "messages": messages, "tools": tools}
    messages = [{"role": "system", "content": instructions}, *messages]
    return {
        "model": "mock",
        "messages": messages,
        "tools": [{"type": "function", "function": tool} for tool in offered],
    }


def main() -> None:
    stream, protocol, variant = (sys.argv[1:] + [""])[:3]
    body = {**request(protocol, variant), "temperature": 0.2}
    if stream == "yes":
        body["stream"] = True
    json.dump(body, sys.stdout, separators=(",", ":"))


if __name__ == "__main__":
    main()
