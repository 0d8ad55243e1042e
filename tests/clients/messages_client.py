"""Uses the Messages protocol of the proxy with the official `anthropic` package. The base URL is the first argument.

The answer of the upstream depends on the model name; tests/it/protocols/official_clients.rs has its script. Each check is
a function. The names of failed checks are printed with their tracebacks, and the exit status is 1 if any check failed.
"""

import asyncio
import sys

import anthropic
import checks

WEATHER = {
    "name": "get_weather",
    "description": "Forecast for a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
}
QUESTION = [{"role": "user", "content": "What is the weather in Paris and Rome?"}]


def ask(client, model, **options):
    return client.messages.create(model=model, max_tokens=1024, messages=QUESTION, **options)


def streamed(client, model):
    with client.messages.stream(model=model, max_tokens=1024, messages=QUESTION, tools=[WEATHER]) as stream:
        events = list(stream)
        return events, stream.get_final_message()


def calls_of(message):
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def check_plain(client):
    message = ask(client, "text")
    assert text_of(message) == "It rains in Paris.", message
    assert (message.id, message.stop_reason, message.usage.output_tokens) == ("msg_upstream", "end_turn", 5)


def check_streamed(client):
    events, message = streamed(client, "text")
    assert text_of(message) == "It rains in Paris.", message
    assert "".join(event.text for event in events if event.type == "text") == "It rains in Paris."
    assert (message.id, message.stop_reason, message.usage.output_tokens) == ("msg_upstream", "end_turn", 5)


def check_thinking(client):
    for message in (ask(client, "thought"), streamed(client, "thought")[1]):
        assert [block.type for block in message.content] == ["thinking", "text"], message
        assert (message.content[0].thinking, message.content[0].signature) == ("Rain?", "EqQBCgIYAhIM")


def check_calls(client):
    for message in (ask(client, "call", tools=[WEATHER]), streamed(client, "call")[1]):
        assert calls_of(message) == [("get_weather", {"city": "Paris"})], message
        assert (message.content[0].id, message.stop_reason) == ("call_1", "tool_use")


def check_calls_that_are_held_long(client):
    _, message = streamed(client, "slow call")
    assert calls_of(message) == [("get_weather", {"city": "Paris"})], message


def check_parallel_calls(client):
    for message in (ask(client, "two calls", tools=[WEATHER]), streamed(client, "two calls")[1]):
        assert calls_of(message) == [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"})], message


def check_repaired_calls(client):
    for message in (ask(client, "wrong name", tools=[WEATHER]), streamed(client, "wrong name")[1]):
        assert calls_of(message) == [("get_weather", {"city": "Paris", "days": 3})], message


def check_corrected_calls(client):
    for message in (ask(client, "missing city", tools=[WEATHER]), streamed(client, "missing city")[1]):
        assert calls_of(message) == [("get_weather", {"city": "Paris"})], message


def check_reasoning_of_corrected_calls(client):
    events, message = streamed(client, "missing city")
    assert "".join(event.thinking for event in events if event.type == "thinking") == "Rain?"
    assert [block.type for block in message.content] == ["thinking", "tool_use"], message
    results = [{"type": "tool_result", "tool_use_id": message.content[1].id, "content": "rain"}]
    messages = [*QUESTION, {"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    message = client.messages.create(model="no reasoning", max_tokens=1024, messages=messages, tools=[WEATHER])
    assert text_of(message) == "It rains in Paris."


def check_rescued_calls(client):
    for message in (ask(client, "written", tools=[WEATHER]), streamed(client, "written")[1]):
        assert calls_of(message) == [("get_weather", {"city": "Paris"})], message
        assert text_of(message).strip() == "I look it up.", message
        assert message.stop_reason == "tool_use"


def check_a_conversation_with_tools(client):
    first = ask(client, "call", tools=[WEATHER])
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": "rain"}
        for block in first.content
        if block.type == "tool_use"
    ]
    messages = [*QUESTION, {"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    message = client.messages.create(model="text", max_tokens=1024, messages=messages, tools=[WEATHER])
    assert text_of(message) == "It rains in Paris."


def check_beta_messages(client):
    message = client.beta.messages.create(
        model="wrong name", max_tokens=1024, messages=QUESTION, tools=[WEATHER], betas=["context-1m-2025-08-07"]
    )
    assert calls_of(message) == [("get_weather", {"city": "Paris", "days": 3})], message


def check_errors(client):
    expected = {
        "error 400": anthropic.BadRequestError,
        "error 401": anthropic.AuthenticationError,
        "error 404": anthropic.NotFoundError,
        "error 429": anthropic.RateLimitError,
        "error 500": anthropic.InternalServerError,
        "error 529": anthropic.InternalServerError,
    }
    for model, kind in expected.items():
        for stream in (False, True):
            try:
                ask(client, model, tools=[WEATHER], stream=stream)
            except anthropic.APIStatusError as error:
                assert isinstance(error, kind), (model, error)
                assert error.status_code == int(model.split()[1])
                assert error.body["error"]["message"] == "as scripted", error.body
                assert error.request_id == "req_upstream"
                if error.status_code == 429:
                    assert error.response.headers["retry-after"] == "7"
            else:
                raise AssertionError(f"{model}: no error")


def check_errors_of_the_proxy(client):
    try:
        ask(client, "reset")
    except anthropic.InternalServerError as error:
        assert error.status_code == 502 and error.body["error"]["type"] == "api_error", error.body
    else:
        raise AssertionError("no error")


def check_errors_in_the_middle_of_a_stream(client):
    for model in ("error in stream", "reset in stream"):
        text = ""
        try:
            for event in ask(client, model, tools=[WEATHER], stream=True):
                if event.type == "content_block_delta":
                    text += event.delta.text
                assert event.type != "message_stop", event
        except anthropic.APIStatusError as error:
            assert error.body["type"] == "error", error.body
        else:
            raise AssertionError(f"{model}: no error")
        assert text and "It rains in Paris.".startswith(text), text


def check_headers(client):
    raw = client.messages.with_raw_response.create(model="wrong name", max_tokens=9, messages=QUESTION, tools=[WEATHER])
    assert raw.headers["x-callwright-verdict"] == "repaired"
    assert len(raw.headers["x-callwright-trace"]) == 32


def check_token_counts(client):
    assert client.messages.count_tokens(model="text", messages=QUESTION, tools=[WEATHER]).input_tokens == 42


async def drive_asynchronously(base_url):
    async with anthropic.AsyncAnthropic(base_url=base_url, api_key="sk-client", max_retries=0, timeout=60) as client:
        stream = client.messages.stream(model="two calls", max_tokens=1024, messages=QUESTION, tools=[WEATHER])
        async with stream as events:
            message = await events.get_final_message()
        assert len(calls_of(message)) == 2, message


def check_asynchronous_client(client):
    asyncio.run(drive_asynchronously(str(client.base_url)))


def check_cancellation(client):
    stream = ask(client, "endless", tools=[WEATHER], stream=True)
    for event in stream:
        if event.type == "content_block_delta":
            break
    stream.close()


def main():
    client = anthropic.Anthropic(base_url=sys.argv[1], api_key="sk-client", max_retries=0, timeout=60)
    checks.run(f"anthropic {anthropic.__version__}", client, globals())


if __name__ == "__main__":
    main()
