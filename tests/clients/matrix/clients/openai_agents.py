"""The OpenAI Agents SDK."""

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from harness import KEY, finish, main
from openai import AsyncOpenAI

set_tracing_disabled(True)


def run(kind, base_url, *arguments, **options):
    client = AsyncOpenAI(base_url=base_url + "/v1", api_key=KEY, max_retries=0, timeout=30)
    return finish(client, answer(client, kind, *arguments, **options))


async def answer(client, kind, model, stream, tools, **options):
    agent = Agent(
        name="weather",
        instructions="Answer with the tools.",
        model=kind(model=model, openai_client=client),
        tools=[function_tool(tools.find_city), function_tool(tools.get_weather)],
    )
    if not stream:
        return (await Runner.run(agent, tools.question, **options)).final_output
    result = Runner.run_streamed(agent, tools.question, **options)
    async for _ in result.stream_events():
        pass
    return result.final_output


def chat(*arguments):
    return run(OpenAIChatCompletionsModel, *arguments)


def responses(*arguments):
    return run(OpenAIResponsesModel, *arguments)


def responses_previous(*arguments):
    return run(OpenAIResponsesModel, *arguments, auto_previous_response_id=True)


if __name__ == "__main__":
    variants = {"chat": chat, "responses": responses, "responses-previous": responses_previous}
    main(variants)
