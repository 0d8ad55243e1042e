"""A scripted model provider: OpenAI Chat Completions and Responses, and Anthropic Messages."""
