"""LangChain's agent, which is a LangGraph graph."""

from harness import main
from langchain.agents import create_agent
from langchain_models import chat_model, messages_model, responses_model


def run(model, stream, tools):
    agent = create_agent(model, [tools.find_city, tools.get_weather])
    question = {"messages": [{"role": "user", "content": tools.question}]}
    if not stream:
        return agent.invoke(question)["messages"][-1].text
    state = None
    for mode, part in agent.stream(question, stream_mode=["messages", "values"]):
        if mode == "values":
            state = part
    return state["messages"][-1].text


def chat(base_url, model, stream, tools):
    return run(chat_model(base_url, model), stream, tools)


def responses(base_url, model, stream, tools):
    return run(responses_model(base_url, model), stream, tools)


def messages(base_url, model, stream, tools):
    return run(messages_model(base_url, model, tools), stream, tools)


if __name__ == "__main__":
    main({"chat": chat, "responses": responses, "messages": messages})
