"""LiteLLM as a library."""

import asyncio
import json

import litellm
from harness import KEY, main, schema_tools

litellm.telemetry = False
litellm.suppress_debug_info = True


def completion(provider, api_base, model, stream, tools, **options):
    messages = [{"role": "user", "content": tools.question}]
    while True:
        answer = litellm.completion(
            model=f"{provider}/{model}",
            api_base=api_base,
            api_key=KEY,
            messages=messages,
            tools=schema_tools("chat"),
            stream=stream,
            num_retries=0,
            timeout=30,
            **options,
        )
        if stream:
            answer = litellm.stream_chunk_builder(list(answer), messages=messages)
        message = answer.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = tools.execute(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def chat(base_url, *arguments):
    return completion("openai", base_url + "/v1", *arguments)


def anthropic(base_url, model, stream, tools):
    options = {"allowed_openai_params": ["thinking"]}
    if tools.scenario == "reasoning":
        options["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    return completion("anthropic", base_url, model, stream, tools, max_tokens=2048, **options)


def responses(base_url, model, stream, tools):
    items = [{"role": "user", "content": tools.question}]
    while True:
        response = litellm.responses(
            model=f"openai/{model}",
            api_base=base_url + "/v1",
            api_key=KEY,
            input=items,
            tools=schema_tools("responses"),
            stream=stream,
            timeout=30,
        )
        if stream:
            response = [event for event in response if event.type == "response.completed"][-1].response
        output = [item if isinstance(item, dict) else item.model_dump(exclude_none=True) for item in response.output]
        calls = [item for item in output if item["type"] == "function_call"]
        if not calls:
            return "".join(part["text"] for item in output for part in item.get("content") or [])
        items += output
        for call in calls:
            result = tools.execute(call["name"], call["arguments"])
            items.append({"type": "function_call_output", "call_id": call["call_id"], "output": result})


async def request_message(stream, **options):
    """Returns the content blocks of an answer. The interface yields the bytes of the events."""
    answer = await litellm.anthropic.messages.acreate(stream=stream, **options)
    if not stream:
        return answer["content"]
    data = b"".join([chunk if isinstance(chunk, bytes) else str(chunk).encode() async for chunk in answer]).decode()
    events = [json.loads(line[6:]) for line in data.splitlines() if line.startswith("data: ")]
    blocks = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"], partial="")
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            if delta["type"] == "input_json_delta":
                block["partial"] += delta["partial_json"]
            else:
                name = delta["type"].removesuffix("_delta")
                block[name] = block.get(name, "") + delta[name]
    for block in blocks.values():
        partial = block.pop("partial")
        if block["type"] == "tool_use":
            block["input"] = json.loads(partial or "{}")
    return list(blocks.values())


def messages(base_url, model, stream, tools):
    history = [{"role": "user", "content": tools.question}]
    options = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if tools.scenario == "reasoning" else {}
    while True:
        content = asyncio.run(
            request_message(
                stream,
                model=f"anthropic/{model}",
                api_base=base_url,
                api_key=KEY,
                max_tokens=2048,
                messages=history,
                tools=schema_tools("messages"),
                **options,
            )
        )
        calls = [block for block in content if block["type"] == "tool_use"]
        if not calls:
            return "".join(block.get("text", "") for block in content)
        history.append({"role": "assistant", "content": content})
        results = [
            {"type": "tool_result", "tool_use_id": call["id"], "content": tools.execute(call["name"], call["input"])}
            for call in calls
        ]
        history.append({"role": "user", "content": results})


if __name__ == "__main__":
    variants = {"chat": chat, "responses": responses, "anthropic": anthropic, "messages": messages}
    main(variants)
