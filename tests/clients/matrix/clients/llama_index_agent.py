"""LlamaIndex's function agent."""

import asyncio

from harness import KEY, main
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.openai import OpenAI, OpenAIResponses


def run(llm, stream, tools):
    async def answer():
        functions = [FunctionTool.from_defaults(tools.find_city), FunctionTool.from_defaults(tools.get_weather)]
        agent = FunctionAgent(tools=functions, llm=llm, streaming=stream)
        return str(await agent.run(tools.question))

    return asyncio.run(answer())


def chat(base_url, model, stream, tools):
    llm = OpenAI(model=model, api_base=base_url + "/v1", api_key=KEY, max_retries=0, timeout=30)
    return run(llm, stream, tools)


def responses(base_url, model, stream, tools):
    llm = OpenAIResponses(model=model, api_base=base_url + "/v1", api_key=KEY, max_retries=0, timeout=30)
    return run(llm, stream, tools)


def messages(base_url, model, stream, tools):
    # The class accepts only names of Anthropic's models, to know their context window.
    scripted = {"model": model}
    options = {"max_retries": 0, "timeout": 30, "max_tokens": 2048, "additional_kwargs": scripted}
    llm = Anthropic(model="claude-sonnet-4-5-20250929", base_url=base_url, api_key=KEY, **options)
    return run(llm, stream, tools)


if __name__ == "__main__":
    main({"chat": chat, "responses": responses, "messages": messages})
