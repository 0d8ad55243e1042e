"""Pydantic AI."""

from harness import KEY, finish, main
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider


async def run(model, stream, tools, settings=None):
    agent = Agent(model, tools=[tools.find_city, tools.get_weather], model_settings=settings)
    if not stream:
        return (await agent.run(tools.question)).output
    # `run_stream` ends with the first text, even if calls follow it. A handler of events streams every answer.
    return (await agent.run(tools.question, event_stream_handler=consume)).output


async def consume(_context, events):
    async for _ in events:
        pass


def chat(base_url, model, stream, tools):
    provider = OpenAIProvider(base_url=base_url + "/v1", api_key=KEY)
    return finish(provider.client, run(OpenAIChatModel(model, provider=provider), stream, tools))


def responses(base_url, model, stream, tools, settings=None):
    provider = OpenAIProvider(base_url=base_url + "/v1", api_key=KEY)
    return finish(provider.client, run(OpenAIResponsesModel(model, provider=provider), stream, tools, settings))


def responses_previous(*arguments):
    return responses(*arguments, settings={"openai_previous_response_id": "auto"})


def messages(base_url, model, stream, tools):
    thinking = {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}}
    settings = thinking if tools.scenario == "reasoning" else None
    provider = AnthropicProvider(base_url=base_url, api_key=KEY)
    return finish(provider.client, run(AnthropicModel(model, provider=provider), stream, tools, settings))


if __name__ == "__main__":
    variants = {"chat": chat, "responses": responses, "responses-previous": responses_previous, "messages": messages}
    main(variants)
