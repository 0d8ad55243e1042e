"""Pydantic AI."""

from importlib.metadata import version

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from harness import KEY, finish, main


async def run(model, stream, tools, settings=None):
    agent = Agent(model, tools=[tools.find_city, tools.get_weather], model_settings=settings)
    if not stream:
        return (await agent.run(tools.question)).output
    async with agent.run_stream(tools.question) as result:
        return await result.get_output()


def openai_client(base_url):
    return AsyncOpenAI(base_url=base_url + "/v1", api_key=KEY, max_retries=0, timeout=30)


def chat(base_url, model, stream, tools):
    client = openai_client(base_url)
    model = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client))
    return finish(client, run(model, stream, tools))


def responses(base_url, model, stream, tools, settings=None):
    client = openai_client(base_url)
    model = OpenAIResponsesModel(model, provider=OpenAIProvider(openai_client=client))
    return finish(client, run(model, stream, tools, settings))


def responses_previous(*arguments):
    return responses(*arguments, settings={"openai_previous_response_id": "auto"})


def messages(base_url, model, stream, tools):
    client = AsyncAnthropic(base_url=base_url, api_key=KEY, max_retries=0, timeout=30)
    settings = {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}} if tools.scenario == "reasoning" else None
    model = AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client))
    return finish(client, run(model, stream, tools, settings))


if __name__ == "__main__":
    variants = {"chat": chat, "responses": responses, "responses-previous": responses_previous, "messages": messages}
    main(variants, version("pydantic-ai-slim"))
