"""The first request of a new user with the official `openai` package. Arguments: base URL, model, question."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="unused")
messages = [{"role": "user", "content": sys.argv[3]}]
answer = client.chat.completions.with_raw_response.create(model=sys.argv[2], messages=messages)
print(answer.headers["x-callwright-verdict"], answer.parse().choices[0].message.content)
