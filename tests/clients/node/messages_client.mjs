// Uses the Messages protocol of the proxy with the official `@anthropic-ai/sdk` package. Arguments: base URL, folder of
// the packages. The answer of the upstream depends on the model name; tests/it/protocols/official_clients.rs has its
// script.

import { assert, baseUrl, load, rejection, run } from "./checks.mjs";

const { Anthropic } = load("@anthropic-ai/sdk");
const client = new Anthropic({ baseURL: baseUrl, apiKey: "sk-client", maxRetries: 0, timeout: 60_000 });

const tools = [
  {
    name: "get_weather",
    description: "Forecast for a city",
    input_schema: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city"],
    },
  },
];
const request = (model) => ({
  model,
  max_tokens: 1024,
  messages: [{ role: "user", content: "What is the weather in Paris and Rome?" }],
  tools,
});

const plain = (model) => client.messages.create(request(model));
const streamed = (model) => client.messages.stream(request(model)).finalMessage();
const both = async (model) => [await plain(model), await streamed(model)];
const calls = (message) =>
  message.content.filter((block) => block.type === "tool_use").map((block) => [block.name, block.input]);
const text = (message) =>
  message.content
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("");

await run("@anthropic-ai/sdk (Node.js)", {
  async text() {
    for (const message of await both("text")) {
      assert.equal(text(message), "It rains in Paris.");
      assert.equal(message.id, "msg_upstream");
      assert.equal(message.stop_reason, "end_turn");
      assert.equal(message.usage.output_tokens, 5);
    }
  },

  async thinking() {
    for (const message of await both("thought")) {
      assert.deepEqual(
        message.content.map((block) => block.type),
        ["thinking", "text"],
      );
      assert.equal(message.content[0].signature, "EqQBCgIYAhIM");
    }
  },

  async calls() {
    for (const message of await both("call")) {
      assert.deepEqual(calls(message), [["get_weather", { city: "Paris" }]]);
      assert.equal(message.content[0].id, "call_1");
      assert.equal(message.stop_reason, "tool_use");
    }
  },

  async parallelCalls() {
    for (const message of await both("two calls")) {
      assert.deepEqual(calls(message), [
        ["get_weather", { city: "Paris" }],
        ["get_weather", { city: "Rome" }],
      ]);
    }
  },

  async repairedCalls() {
    for (const message of await both("wrong name")) {
      assert.deepEqual(calls(message), [["get_weather", { city: "Paris", days: 3 }]]);
    }
  },

  async correctedCalls() {
    for (const message of await both("missing city")) {
      assert.deepEqual(calls(message), [["get_weather", { city: "Paris" }]]);
    }
  },

  async rescuedCalls() {
    for (const message of await both("written")) {
      assert.deepEqual(calls(message), [["get_weather", { city: "Paris" }]]);
      assert.equal(text(message).trim(), "I look it up.");
      assert.equal(message.stop_reason, "tool_use");
    }
  },

  async errors() {
    for (const status of [400, 401, 404, 429, 500, 529]) {
      for (const stream of [false, true]) {
        const error = await rejection(client.messages.create({ ...request(`error ${status}`), stream }));
        assert.equal(error.status, status);
        assert.equal(error.error.error.message, "as scripted");
        if (status === 429) assert.ok(error instanceof Anthropic.RateLimitError);
      }
    }
    const error = await rejection(plain("reset"));
    assert.equal(error.status, 502);
    assert.equal(error.error.error.type, "api_error");
  },

  async errorsInTheMiddleOfAStream() {
    for (const model of ["error in stream", "reset in stream"]) {
      const error = await rejection(streamed(model));
      assert.ok(error instanceof Anthropic.AnthropicError, String(error));
    }
  },

  async tokenCounts() {
    const { model, messages } = request("text");
    assert.equal((await client.messages.countTokens({ model, messages, tools })).input_tokens, 42);
  },

  async cancellation() {
    const stream = await client.messages.create({ ...request("endless"), stream: true });
    for await (const event of stream) {
      if (event.type === "content_block_delta") break;
    }
    stream.controller.abort();
  },
});
