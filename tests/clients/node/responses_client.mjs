// Uses the Responses protocol of the proxy with the official `openai` package. Arguments: base URL, folder of the
// packages. The response of the upstream depends on the model name; tests/it/protocols/official_clients.rs has its script.

import { assert, baseUrl, load, rejection, run } from "./checks.mjs";

const { OpenAI } = load("openai");
const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: "sk-client", maxRetries: 0, timeout: 60_000 });

const tools = [
  {
    type: "function",
    name: "get_weather",
    description: "Forecast for a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city"],
    },
    strict: false,
  },
];
const input = [{ role: "user", content: "What is the weather in Paris and Rome?" }];

const plain = (model) => client.responses.create({ model, input, tools });
const streamed = (model) => client.responses.stream({ model, input, tools }).finalResponse();
const both = async (model) => [await plain(model), await streamed(model)];
const calls = (response) =>
  response.output
    .filter((item) => item.type === "function_call")
    .map((item) => [item.name, JSON.parse(item.arguments)]);

await run("openai (Node.js)", {
  async text() {
    for (const response of await both("text")) {
      assert.equal(response.output_text, "It rains in Paris.");
      assert.equal(response.id, "resp_upstream");
      assert.equal(response.usage.total_tokens, 25);
    }
  },

  async events() {
    const stream = await client.responses.create({ model: "text", input, tools, stream: true });
    const numbers = [];
    let text = "";
    for await (const event of stream) {
      numbers.push(event.sequence_number);
      if (event.type === "response.output_text.delta") text += event.delta;
    }
    assert.equal(text, "It rains in Paris.");
    assert.deepEqual(numbers, [...numbers.keys()]);
  },

  async calls() {
    for (const response of await both("call")) {
      assert.deepEqual(calls(response), [["get_weather", { city: "Paris" }]]);
      assert.equal(response.output[0].call_id, "call_1");
    }
  },

  async parallelCalls() {
    for (const response of await both("two calls")) {
      assert.deepEqual(calls(response), [
        ["get_weather", { city: "Paris" }],
        ["get_weather", { city: "Rome" }],
      ]);
    }
  },

  async repairedCalls() {
    for (const response of await both("wrong name")) {
      assert.deepEqual(calls(response), [["get_weather", { city: "Paris", days: 3 }]]);
    }
  },

  async correctedCalls() {
    for (const response of await both("missing city")) {
      assert.deepEqual(calls(response), [["get_weather", { city: "Paris" }]]);
    }
  },

  async rescuedCalls() {
    for (const response of await both("written")) {
      assert.deepEqual(calls(response), [["get_weather", { city: "Paris" }]]);
      assert.equal(response.output_text.trim(), "I look it up.");
    }
  },

  async errors() {
    for (const status of [400, 401, 404, 429, 500]) {
      for (const stream of [false, true]) {
        const error = await rejection(client.responses.create({ model: `error ${status}`, input, tools, stream }));
        assert.equal(error.status, status);
        assert.equal(error.code, "of_upstream");
        if (status === 429) assert.ok(error instanceof OpenAI.RateLimitError);
      }
    }
    const error = await rejection(plain("reset"));
    assert.equal(error.status, 502);
    assert.equal(error.code, "reset");
  },

  async errorsInTheMiddleOfAStream() {
    for (const model of ["error in stream", "reset in stream"]) {
      const stream = await client.responses.create({ model, input, tools, stream: true });
      const read = async () => {
        for await (const event of stream) {
          if (event.type === "error") throw new Error(event.message);
        }
      };
      await rejection(read());
    }
  },

  async cancellation() {
    const stream = await client.responses.create({ model: "endless", input, tools, stream: true });
    for await (const event of stream) {
      if (event.type === "response.output_text.delta") break;
    }
    stream.controller.abort();
  },
});
