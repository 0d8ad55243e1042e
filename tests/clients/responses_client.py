"""Uses the Responses protocol of the proxy with the official `openai` package. The base URL is the first argument.

The response of the upstream depends on the model name; tests/it/protocols/official_clients.rs has its script. Each check
is a function. The names of failed checks are printed with their tracebacks, and the exit status is 1 if any check failed.
"""

import asyncio
import json
import sys

import checks
import openai

WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Forecast for a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
    "strict": False,
}
QUESTION = [{"role": "user", "content": "What is the weather in Paris and Rome?"}]


def ask(client, model, **options):
    return client.responses.create(model=model, input=QUESTION, **options)


def streamed(client, model):
    with client.responses.stream(model=model, input=QUESTION, tools=[WEATHER]) as stream:
        events = list(stream)
        return events, stream.get_final_response()


def calls_of(response):
    return [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]


def check_plain(client):
    response = ask(client, "text")
    assert response.output_text == "It rains in Paris.", response
    assert (response.id, response.status, response.usage.total_tokens) == ("resp_upstream", "completed", 25)


def check_streamed(client):
    events, response = streamed(client, "text")
    assert response.output_text == "It rains in Paris.", response
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == "It rains in Paris.", deltas
    assert [event.sequence_number for event in events] == list(range(len(events)))


def check_reasoning(client):
    for response in (ask(client, "thought"), streamed(client, "thought")[1]):
        assert [item.type for item in response.output] == ["reasoning", "message"], response
        assert response.output[0].summary[0].text == "Rain?"


def check_calls(client):
    for response in (ask(client, "call", tools=[WEATHER]), streamed(client, "call")[1]):
        assert calls_of(response) == [("get_weather", {"city": "Paris"})], response
        assert response.output[0].call_id == "call_1"


def check_calls_that_are_held_long(client):
    events, response = streamed(client, "slow call")
    assert calls_of(response) == [("get_weather", {"city": "Paris"})], response
    assert sum(event.type == "response.in_progress" for event in events) > 2, events


def check_parallel_calls(client):
    for response in (ask(client, "two calls", tools=[WEATHER]), streamed(client, "two calls")[1]):
        assert calls_of(response) == [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"})], response


def check_repaired_calls(client):
    for response in (ask(client, "wrong name", tools=[WEATHER]), streamed(client, "wrong name")[1]):
        assert calls_of(response) == [("get_weather", {"city": "Paris", "days": 3})], response


def check_corrected_calls(client):
    for response in (ask(client, "missing city", tools=[WEATHER]), streamed(client, "missing city")[1]):
        assert calls_of(response) == [("get_weather", {"city": "Paris"})], response


def check_reasoning_of_corrected_calls(client):
    events, response = streamed(client, "missing city")
    deltas = [event.delta for event in events if event.type == "response.reasoning_summary_text.delta"]
    assert "".join(deltas) == "Rain?", deltas
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert [item.type for item in response.output] == ["reasoning", "function_call"], response
    output = {"type": "function_call_output", "call_id": response.output[1].call_id, "output": "rain"}
    conversation = [*QUESTION, *response.output, output]
    response = client.responses.create(model="no reasoning", input=conversation, tools=[WEATHER])
    assert response.output_text == "It rains in Paris."


def check_rescued_calls(client):
    for response in (ask(client, "written", tools=[WEATHER]), streamed(client, "written")[1]):
        assert calls_of(response) == [("get_weather", {"city": "Paris"})], response
        assert response.output_text.strip() == "I look it up.", response


def check_a_conversation_with_tools(client):
    first = ask(client, "call", tools=[WEATHER])
    outputs = [
        {"type": "function_call_output", "call_id": item.call_id, "output": "rain"}
        for item in first.output
        if item.type == "function_call"
    ]
    response = client.responses.create(model="text", input=[*QUESTION, *first.output, *outputs], tools=[WEATHER])
    assert response.output_text == "It rains in Paris."


def check_errors(client):
    expected = {
        "error 400": openai.BadRequestError,
        "error 401": openai.AuthenticationError,
        "error 404": openai.NotFoundError,
        "error 429": openai.RateLimitError,
        "error 500": openai.InternalServerError,
    }
    for model, kind in expected.items():
        for stream in (False, True):
            try:
                ask(client, model, tools=[WEATHER], stream=stream)
            except openai.APIStatusError as error:
                assert type(error) is kind, (model, error)
                assert error.status_code == int(model.split()[1])
                assert error.body["code"] == "of_upstream", error.body
                if error.status_code == 429:
                    assert error.response.headers["retry-after"] == "7"
            else:
                raise AssertionError(f"{model}: no error")


def check_errors_of_the_proxy(client):
    try:
        ask(client, "reset")
    except openai.InternalServerError as error:
        assert error.status_code == 502 and error.code == "reset", error.body
    else:
        raise AssertionError("no error")


def check_errors_in_the_middle_of_a_stream(client):
    for model in ("error in stream", "reset in stream"):
        text = ""
        try:
            for event in ask(client, model, tools=[WEATHER], stream=True):
                if event.type == "response.output_text.delta":
                    text += event.delta
                assert event.type not in ("response.completed", "response.incomplete"), event
                if event.type == "error":
                    raise openai.APIError(event.message, request=None, body=None)
        except openai.APIError:
            pass
        else:
            raise AssertionError(f"{model}: no error")
        assert text and "It rains in Paris.".startswith(text), text


def check_headers(client):
    raw = client.responses.with_raw_response.create(model="wrong name", input=QUESTION, tools=[WEATHER])
    assert raw.headers["x-callwright-verdict"] == "repaired"
    assert len(raw.headers["x-callwright-trace"]) == 32


def check_stored_responses(client):
    assert client.responses.retrieve("resp_upstream").output_text == "It rains in Paris."
    assert client.responses.cancel("resp_upstream").id == "resp_upstream"
    assert [item.id for item in client.responses.input_items.list("resp_upstream")] == ["msg_in"]


async def drive_asynchronously(base_url):
    async with openai.AsyncOpenAI(base_url=base_url, api_key="sk-client", max_retries=0, timeout=60) as client:
        async with client.responses.stream(model="two calls", input=QUESTION, tools=[WEATHER]) as stream:
            response = await stream.get_final_response()
        assert len(calls_of(response)) == 2, response


def check_asynchronous_client(client):
    asyncio.run(drive_asynchronously(str(client.base_url)))


def check_cancellation(client):
    stream = ask(client, "endless", tools=[WEATHER], stream=True)
    for event in stream:
        if event.type == "response.output_text.delta":
            break
    stream.close()


def main():
    client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="sk-client", max_retries=0, timeout=60)
    checks.run(f"openai {openai.__version__}", client, globals())


if __name__ == "__main__":
    main()
