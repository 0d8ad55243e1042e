"""An agent with the official `openai` package that executes its tools itself, and whose API returns bare error codes.

The base URL is the first argument. The model behind the proxy is scripted (tests/it/official_client.rs): it corrects its
call only if the tool message explains the error. The agent's loop has no code for the proxy.
"""

import json
import sys

import openai

PLAN = {
    "type": "function",
    "function": {
        "name": "planRoute",
        "description": "Plans a route between two points.",
        "parameters": {
            "type": "object",
            "properties": {"origin": {"type": "string"}, "destination": {"type": "string"}},
            "required": ["origin", "destination"],
        },
    },
}


def plan_route(origin, destination):
    """The vendor's API as the agent sees it: it expects the longitude first, and otherwise returns only a code."""
    longitudes = [float(point.split(",")[0]) for point in (origin, destination)]
    if all(134 <= longitude <= 137 for longitude in longitudes):
        return {"info_code": "10000", "routes": [{"distance_m": 39000}]}
    return {"info_code": "20000"}


def whole(client, messages):
    return client.chat.completions.create(model="travel", messages=messages, tools=[PLAN]).choices[0].message


def streamed(client, messages):
    with client.chat.completions.stream(model="travel", messages=messages, tools=[PLAN]) as stream:
        return stream.get_final_completion().choices[0].message


def run(client, ask):
    """Runs the agent's loop until the model answers without a call. Returns the answer and the tool's codes."""
    messages = [{"role": "user", "content": "Plan a route from 34.9858,135.7588 to 34.6873,135.5258."}]
    said = []
    for _ in range(6):
        message = ask(client, messages)
        messages.append(message)
        if not message.tool_calls:
            return message.content, said
        for call in message.tool_calls:
            result = plan_route(**json.loads(call.function.arguments))
            said.append(result["info_code"])
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    raise AssertionError(f"no end: {messages}")


def main():
    client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="sk-client", max_retries=0, timeout=60)
    for ask in (whole, streamed):
        answer, said = run(client, ask)
        assert said == ["20000", "10000"], (ask.__name__, said, answer)
        assert answer == "39 km.", (ask.__name__, answer)
    print(f"openai {openai.__version__}: the agent found its way, whole and streamed")


if __name__ == "__main__":
    main()
