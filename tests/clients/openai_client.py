"""Uses the proxy with the official `openai` package, as an application does. The base URL is the first argument.

The response of the upstream depends on the model name; tests/it/official_client.rs has its script. Each check is a
function. The names of failed checks are printed with their tracebacks, and the exit status is 1 if any check failed.
"""

import json
import sys

import checks
import openai

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Forecast for a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
QUESTION = [{"role": "user", "content": "What is the weather in Paris and Rome?"}]


def client_of(base_url):
    return openai.OpenAI(base_url=base_url + "/v1", api_key="sk-client", max_retries=0, timeout=60)


def ask(client, model, **options):
    return client.chat.completions.create(model=model, messages=QUESTION, **options)


def calls_of(message):
    return [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]


def check_plain_chat(client):
    answer = ask(client, "text")
    assert answer.choices[0].message.content == "It rains in Paris.", answer
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage.total_tokens == 25
    assert answer.id == "chatcmpl-upstream" and answer.object == "chat.completion"


def check_streamed_chat(client):
    chunks = list(ask(client, "text", stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "It rains in Paris.", chunks
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert {chunk.id for chunk in chunks} == {"chatcmpl-upstream"}


def check_streamed_chat_with_tools(client):
    with client.chat.completions.stream(model="text", messages=QUESTION, tools=[WEATHER]) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "It rains in Paris."
    assert not final.choices[0].message.tool_calls


def check_usage_of_a_stream(client):
    chunks = list(ask(client, "call", stream=True, tools=[WEATHER], stream_options={"include_usage": True}))
    assert chunks[-1].usage.total_tokens == 25 and chunks[-1].choices == [], chunks[-1]
    assert all(chunk.usage is None for chunk in chunks[:-1])


def check_tool_call(client):
    answer = ask(client, "call", tools=[WEATHER])
    assert answer.choices[0].finish_reason == "tool_calls"
    assert calls_of(answer.choices[0].message) == [("get_weather", {"city": "Paris"})], answer
    assert answer.choices[0].message.tool_calls[0].id == "call_1"


def check_streamed_tool_call(client):
    with client.chat.completions.stream(model="call", messages=QUESTION, tools=[WEATHER]) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].finish_reason == "tool_calls"
    assert calls_of(final.choices[0].message) == [("get_weather", {"city": "Paris"})], final


def check_calls_that_are_held_long(client):
    with client.chat.completions.stream(model="slow call", messages=QUESTION, tools=[WEATHER]) as stream:
        final = stream.get_final_completion()
    assert calls_of(final.choices[0].message) == [("get_weather", {"city": "Paris"})], final


def check_parallel_tool_calls(client):
    expected = [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"})]
    answer = ask(client, "two calls", tools=[WEATHER])
    assert calls_of(answer.choices[0].message) == expected, answer
    with client.chat.completions.stream(model="two calls", messages=QUESTION, tools=[WEATHER]) as stream:
        final = stream.get_final_completion()
    assert calls_of(final.choices[0].message) == expected, final
    assert len({call.id for call in final.choices[0].message.tool_calls}) == 2


def check_repaired_calls(client):
    answer = ask(client, "wrong name", tools=[WEATHER])
    assert calls_of(answer.choices[0].message) == [("get_weather", {"city": "Paris", "days": 3})], answer
    with client.chat.completions.stream(model="wrong name", messages=QUESTION, tools=[WEATHER]) as stream:
        final = stream.get_final_completion()
    assert calls_of(final.choices[0].message) == [("get_weather", {"city": "Paris", "days": 3})], final


def check_corrected_calls(client):
    answer = ask(client, "missing city", tools=[WEATHER])
    assert calls_of(answer.choices[0].message) == [("get_weather", {"city": "Paris"})], answer
    with client.chat.completions.stream(model="missing city", messages=QUESTION, tools=[WEATHER]) as stream:
        final = stream.get_final_completion()
    assert calls_of(final.choices[0].message) == [("get_weather", {"city": "Paris"})], final


def check_a_conversation_with_tools(client):
    first = ask(client, "call", tools=[WEATHER]).choices[0].message
    results = [{"role": "tool", "tool_call_id": call.id, "content": "rain"} for call in first.tool_calls]
    answer = client.chat.completions.create(model="text", messages=[*QUESTION, first, *results], tools=[WEATHER])
    assert answer.choices[0].message.content == "It rains in Paris."


def check_errors(client):
    expected = {
        "error 400": openai.BadRequestError,
        "error 401": openai.AuthenticationError,
        "error 404": openai.NotFoundError,
        "error 422": openai.UnprocessableEntityError,
        "error 429": openai.RateLimitError,
        "error 500": openai.InternalServerError,
        "error 418": openai.APIStatusError,
    }
    for model, kind in expected.items():
        for stream in (False, True):
            try:
                ask(client, model, tools=[WEATHER], stream=stream)
            except openai.APIStatusError as error:
                assert type(error) is kind, (model, error)
                assert error.status_code == int(model.split()[1])
                assert error.body["code"] == "of_upstream", error.body
                assert error.request_id == "req_upstream"
                if error.status_code == 429:
                    assert error.response.headers["retry-after"] == "7"
            else:
                raise AssertionError(f"{model}: no error")


def check_errors_of_the_proxy(client):
    try:
        ask(client, "text", n="many")
    except openai.BadRequestError as error:
        assert error.type == "invalid_request_error", error.body
    else:
        raise AssertionError("no error")
    try:
        ask(client, "reset")
    except openai.InternalServerError as error:
        assert error.status_code == 502 and error.code == "reset", error.body
    else:
        raise AssertionError("no error")


def check_errors_in_the_middle_of_a_stream(client):
    received = []
    try:
        for chunk in ask(client, "reset in stream", stream=True, tools=[WEATHER]):
            received.append(chunk)
    except openai.APIError as error:
        assert error.code == "reset", error
    else:
        raise AssertionError("no error")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in received) == "It ", received


def check_raw_response(client):
    raw = client.chat.completions.with_raw_response.create(model="wrong name", messages=QUESTION, tools=[WEATHER])
    assert raw.headers["x-request-id"] == "req_upstream"
    assert len(raw.headers["x-callwright-trace"]) == 32
    assert raw.headers["x-callwright-verdict"] == "repaired"
    assert raw.headers["x-callwright-attempts"] == "1"
    assert float(raw.headers["x-callwright-overhead-ms"]) >= 0
    assert raw.parse()._request_id == "req_upstream"


def check_models(client):
    names = [model.id for model in client.models.list()]
    assert "gpt-test" in names and "helper" in names, names


def check_other_endpoints(client):
    vectors = client.embeddings.create(model="text", input="Paris", encoding_format="float")
    assert vectors.data[0].embedding == [0.5, -0.25], vectors


def check_debug(client):
    answer = ask(client, "wrong name", tools=[WEATHER], extra_headers={"x-callwright-debug": "true"})
    assert answer.model_extra["callwright"]["verdict"] == "repaired", answer


async def drive_asynchronously(base_url):
    async with openai.AsyncOpenAI(base_url=base_url + "/v1", api_key="sk-client", max_retries=0, timeout=60) as client:
        stream = await client.chat.completions.create(model="two calls", messages=QUESTION, tools=[WEATHER], stream=True)
        names = [
            call.function.name
            async for chunk in stream
            for call in (chunk.choices[0].delta.tool_calls or [] if chunk.choices else [])
            if call.function.name
        ]
        assert names == ["get_weather", "get_weather"], names


def check_asynchronous_client(client):
    import asyncio

    asyncio.run(drive_asynchronously(str(client.base_url).removesuffix("/v1/")))


def main():
    client = client_of(sys.argv[1])
    checks.run(f"openai {openai.__version__}", client, globals())


if __name__ == "__main__":
    main()
