"""Sends one request with the default retries of the official `openai` package. The base URL is the first argument."""

import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="sk-client", timeout=60)
try:
    client.chat.completions.create(model="busy", messages=[{"role": "user", "content": "Hello"}])
except openai.RateLimitError as error:
    print("refused:", error.status_code)
else:
    sys.exit("the client got an answer")
