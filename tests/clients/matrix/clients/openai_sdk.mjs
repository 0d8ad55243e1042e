// The official `openai` package for JavaScript.

import OpenAI from 'openai';

import { KEY, main, schemaTools } from './harness.mjs';

const client = baseUrl => new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: KEY, maxRetries: 0, timeout: 30_000 });

async function chat(baseUrl, model, stream, tools) {
  const api = client(baseUrl).chat.completions;
  const messages = [{ role: 'user', content: tools.question }];
  for (;;) {
    const options = { model, messages, tools: schemaTools('chat') };
    const completion = stream ? await api.stream(options).finalChatCompletion() : await api.create(options);
    const { message } = completion.choices[0];
    if (!message.tool_calls?.length) return message.content;
    const calls = message.tool_calls.map(({ id, function: { name, arguments: args } }) => {
      return { id, type: 'function', function: { name, arguments: args } };
    });
    messages.push({ role: 'assistant', content: message.content, tool_calls: calls });
    for (const { id, function: call } of calls) {
      messages.push({ role: 'tool', tool_call_id: id, content: tools.execute(call.name, call.arguments) });
    }
  }
}

/** Removes the parsed values that the stream helper adds and the API does not accept. */
function withoutParsed({ parsed_arguments: _, ...item }) {
  if (!item.content) return item;
  return { ...item, content: item.content.map(({ parsed: _, ...part }) => part) };
}

async function responses(baseUrl, model, stream, tools) {
  const api = client(baseUrl).responses;
  const input = [{ role: 'user', content: tools.question }];
  for (;;) {
    const options = { model, input, tools: schemaTools('responses') };
    const response = stream ? await api.stream(options).finalResponse() : await api.create(options);
    const calls = response.output.filter(item => item.type === 'function_call');
    if (!calls.length) return response.output.flatMap(item => item.content ?? []).map(part => part.text).join('');
    input.push(...response.output.map(withoutParsed));
    for (const { call_id, name, arguments: args } of calls) {
      input.push({ type: 'function_call_output', call_id, output: tools.execute(name, args) });
    }
  }
}

await main({ chat, responses });
