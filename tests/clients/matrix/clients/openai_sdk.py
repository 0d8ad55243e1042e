"""The official `openai` package."""

import openai
from harness import KEY, main, schema_tools


def client(base_url):
    return openai.OpenAI(base_url=base_url + "/v1", api_key=KEY, max_retries=0, timeout=30)


def chat(base_url, model, stream, tools):
    api = client(base_url).chat.completions
    messages = [{"role": "user", "content": tools.question}]
    while True:
        options = {"model": model, "messages": messages, "tools": schema_tools("chat")}
        if stream:
            with api.stream(**options) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = api.create(**options).choices[0].message
        if not message.tool_calls:
            return message.content
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in message.tool_calls
        ]
        messages.append({"role": "assistant", "content": message.content, "tool_calls": calls})
        for call in message.tool_calls:
            result = tools.execute(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def responses(base_url, model, stream, tools, previous=False, **options):
    api = client(base_url).responses
    items = [{"role": "user", "content": tools.question}]
    options = {"model": model, "tools": schema_tools("responses"), **options}
    while True:
        if stream:
            with api.stream(input=items, **options) as events:
                response = events.get_final_response()
        else:
            response = api.create(input=items, **options)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        if previous:
            items, options["previous_response_id"] = [], response.id
        else:
            items += [without_parsed(item) for item in response.output]
        for call in calls:
            result = tools.execute(call.name, call.arguments)
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


def without_parsed(item):
    """Returns an item as input: the stream helper adds parsed values, which the API does not accept."""
    value = item.to_dict()
    value.pop("parsed_arguments", None)
    for part in value.get("content") or []:
        part.pop("parsed", None)
    return value


def responses_previous(*arguments):
    return responses(*arguments, previous=True)


def responses_stateless(*arguments):
    return responses(*arguments, store=False, include=["reasoning.encrypted_content"])


if __name__ == "__main__":
    variants = {
        "chat": chat,
        "responses": responses,
        "responses-previous": responses_previous,
        "responses-stateless": responses_stateless,
    }
    main(variants)
