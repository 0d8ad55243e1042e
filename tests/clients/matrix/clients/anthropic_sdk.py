"""The official `anthropic` package."""

import anthropic
from anthropic import beta_tool
from harness import KEY, main, schema_tools


def client(base_url):
    return anthropic.Anthropic(base_url=base_url, api_key=KEY, max_retries=0, timeout=30)


def thinking(tools):
    return {"thinking": {"type": "enabled", "budget_tokens": 1024}} if tools.scenario == "reasoning" else {}


def messages(base_url, model, stream, tools):
    api = client(base_url).messages
    history = [{"role": "user", "content": tools.question}]
    while True:
        options = {
            "model": model,
            "max_tokens": 2048,
            "messages": history,
            "tools": schema_tools("messages"),
            **thinking(tools),
        }
        if stream:
            with api.stream(**options) as events:
                message = events.get_final_message()
        else:
            message = api.create(**options)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in message.content if block.type == "text")
        history.append({"role": "assistant", "content": message.content})
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": tools.execute(call.name, call.input)}
            for call in calls
        ]
        history.append({"role": "user", "content": results})


def tool_runner(base_url, model, stream, tools):
    runner = client(base_url).beta.messages.tool_runner(
        model=model,
        max_tokens=2048,
        messages=[{"role": "user", "content": tools.question}],
        tools=[beta_tool(tools.find_city), beta_tool(tools.get_weather)],
        stream=stream,
        max_iterations=8,
        **thinking(tools),
    )
    message = None
    for message in runner:
        if stream:
            message = message.get_final_message()
    return "".join(block.text for block in message.content if block.type == "text")


if __name__ == "__main__":
    main({"messages": messages, "tool-runner": tool_runner})
