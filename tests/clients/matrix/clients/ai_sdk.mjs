// The AI SDK (`ai`) with its providers.

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';

import { DESCRIPTIONS, KEY, SCHEMAS, main } from './harness.mjs';

async function run(model, stream, tools, providerOptions) {
  const offered = Object.keys(SCHEMAS).map(name => {
    const execute = async input => tools[name](input);
    return [name, tool({ description: DESCRIPTIONS[name], inputSchema: jsonSchema(SCHEMAS[name]), execute })];
  });
  const options = {
    model,
    prompt: tools.question,
    tools: Object.fromEntries(offered),
    stopWhen: stepCountIs(8),
    maxRetries: 0,
    providerOptions,
  };
  if (!stream) return (await generateText(options)).text;
  let failure;
  const result = streamText({ ...options, onError: ({ error }) => (failure = error) });
  await result.consumeStream({ onError: error => (failure = error) });
  if (failure) throw failure;
  return await result.text;
}

const openai = baseUrl => createOpenAI({ baseURL: `${baseUrl}/v1`, apiKey: KEY });

const chat = (baseUrl, model, ...rest) => run(openai(baseUrl).chat(model), ...rest);

const responses = (baseUrl, model, ...rest) => run(openai(baseUrl)(model), ...rest);

const stateless = (baseUrl, model, ...rest) => responses(baseUrl, model, ...rest, { openai: { store: false } });

function compatible(baseUrl, model, ...rest) {
  const provider = createOpenAICompatible({ name: 'callwright', baseURL: `${baseUrl}/v1`, apiKey: KEY });
  return run(provider(model), ...rest);
}

function messages(baseUrl, model, stream, tools) {
  const provider = createAnthropic({ baseURL: `${baseUrl}/v1`, apiKey: KEY });
  const thinking = { type: 'enabled', budgetTokens: 1024 };
  return run(provider(model), stream, tools, tools.scenario === 'reasoning' ? { anthropic: { thinking } } : undefined);
}

await main({ chat, responses, 'responses-stateless': stateless, compatible, messages });
