"""LangChain's chat models with bound tools, without an agent."""

from harness import KEY, main
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


def chat_model(base_url, model, **options):
    return ChatOpenAI(model=model, base_url=base_url + "/v1", api_key=KEY, max_retries=0, timeout=30, **options)


def responses_model(base_url, model, **options):
    return chat_model(base_url, model, use_responses_api=True, **options)


def messages_model(base_url, model, tools):
    thinking = {"type": "enabled", "budget_tokens": 1024} if tools.scenario == "reasoning" else None
    options = {"thinking": thinking, "max_tokens": 2048, "max_retries": 0, "timeout": 30}
    return ChatAnthropic(model=model, base_url=base_url, api_key=KEY, **options)


def run(model, stream, tools):
    functions = {"find_city": tool(tools.find_city), "get_weather": tool(tools.get_weather)}
    bound = model.bind_tools(list(functions.values()))
    messages = [HumanMessage(tools.question)]
    while True:
        if stream:
            answer = None
            for chunk in bound.stream(messages):
                answer = chunk if answer is None else answer + chunk
        else:
            answer = bound.invoke(messages)
        if answer.invalid_tool_calls:
            raise ValueError(f"invalid tool calls: {answer.invalid_tool_calls}")
        if not answer.tool_calls:
            return answer.text
        messages.append(answer)
        for call in answer.tool_calls:
            content = functions[call["name"]].invoke(call["args"])
            messages.append(ToolMessage(content, tool_call_id=call["id"]))


def chat(base_url, model, stream, tools):
    return run(chat_model(base_url, model), stream, tools)


def responses(base_url, model, stream, tools):
    return run(responses_model(base_url, model), stream, tools)


def responses_previous(base_url, model, stream, tools):
    return run(responses_model(base_url, model, use_previous_response_id=True), stream, tools)


def messages(base_url, model, stream, tools):
    return run(messages_model(base_url, model, tools), stream, tools)


if __name__ == "__main__":
    variants = {"chat": chat, "responses": responses, "responses-previous": responses_previous, "messages": messages}
    main(variants)
