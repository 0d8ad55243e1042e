// The official `@anthropic-ai/sdk` package.

import Anthropic from '@anthropic-ai/sdk';

import { DESCRIPTIONS, KEY, SCHEMAS, main, schemaTools } from './harness.mjs';

const client = baseUrl => new Anthropic({ baseURL: baseUrl, apiKey: KEY, maxRetries: 0, timeout: 30_000 });
const thinking = tools =>
  tools.scenario === 'reasoning' ? { thinking: { type: 'enabled', budget_tokens: 1024 } } : {};
const textOf = message => message.content.map(block => block.text ?? '').join('');

async function messages(baseUrl, model, stream, tools) {
  const api = client(baseUrl).messages;
  const history = [{ role: 'user', content: tools.question }];
  for (;;) {
    const options = { model, max_tokens: 2048, messages: history, tools: schemaTools('messages'), ...thinking(tools) };
    const message = stream ? await api.stream(options).finalMessage() : await api.create(options);
    const calls = message.content.filter(block => block.type === 'tool_use');
    if (!calls.length) return textOf(message);
    history.push({ role: 'assistant', content: message.content });
    const results = calls.map(({ id, name, input }) => {
      return { type: 'tool_result', tool_use_id: id, content: tools.execute(name, input) };
    });
    history.push({ role: 'user', content: results });
  }
}

async function toolRunner(baseUrl, model, stream, tools) {
  const runner = client(baseUrl).beta.messages.toolRunner({
    model,
    max_tokens: 2048,
    messages: [{ role: 'user', content: tools.question }],
    tools: Object.keys(SCHEMAS).map(name => {
      const run = input => tools[name](input);
      return { name, description: DESCRIPTIONS[name], input_schema: SCHEMAS[name], run, parse: input => input };
    }),
    max_iterations: 8,
    stream,
    ...thinking(tools),
  });
  let last;
  for await (const message of runner) last = stream ? await message.finalMessage() : message;
  return textOf(last);
}

await main({ messages, 'tool-runner': toolRunner });
