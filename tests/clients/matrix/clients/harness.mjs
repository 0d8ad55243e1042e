// The agent of every JavaScript driver; harness.py describes the usage and the output.

const CITIES = { Oslo: [4711, 'A7'], Bergen: [4712, 'C3'] };
const FORECASTS = { '4711 3': ['rain', 'B9'], '4712 3': ['sun', 'D5'] };

export const SCHEMAS = {
  find_city: {
    type: 'object',
    properties: { name: { type: 'string', description: 'Name of the city' } },
    required: ['name'],
    additionalProperties: false,
  },
  get_weather: {
    type: 'object',
    properties: {
      city_id: { type: 'integer', description: 'Id of the city, from find_city' },
      days: { type: 'integer', description: 'Number of days', minimum: 1, maximum: 7 },
    },
    required: ['city_id', 'days'],
    additionalProperties: false,
  },
};
export const DESCRIPTIONS = {
  find_city: 'Find the id of a city.',
  get_weather: 'Get the forecast of a city by its id.',
};
export const KEY = process.env.MATRIX_KEY ?? 'sk-matrix';
const SECONDS = Number(process.env.MATRIX_SECONDS ?? 40);

export class Tools {
  constructor(model) {
    this.scenario = model.split(/[:/]/).pop();
    const cities = this.scenario === 'parallel' ? ['Oslo', 'Bergen'] : ['Oslo'];
    this.question = `What is the weather in ${cities.join(' and ')} in the next three days?`;
    this.expected = [];
    if (this.scenario !== 'text') {
      for (const name of cities) this.expected.push(['find_city', { name }]);
      for (const name of cities) this.expected.push(['get_weather', { city_id: CITIES[name][0], days: 3 }]);
    }
    this.calls = [];
  }

  find_city({ name }) {
    this.calls.push(['find_city', { name }]);
    const [city_id, ticket] = CITIES[name];
    return JSON.stringify({ city_id, ticket });
  }

  get_weather({ city_id, days }) {
    this.calls.push(['get_weather', { city_id, days }]);
    const [forecast, ticket] = FORECASTS[`${city_id} ${days}`];
    return JSON.stringify({ forecast, ticket });
  }

  /** Runs a call as an application without error handling does. */
  execute(name, args) {
    const values = typeof args === 'string' ? JSON.parse(args) : args;
    if (!(name in SCHEMAS)) throw new Error(`no tool ${name}`);
    return this[name](values);
  }

  check(text) {
    const sorted = calls => calls.map(call => JSON.stringify(call)).sort().join();
    if (sorted(this.calls) !== sorted(this.expected)) return `calls: ${JSON.stringify(this.calls)}`;
    const token = { text: 'T1', parallel: 'A7-B9-C3-D5' }[this.scenario] ?? 'A7-B9';
    return (text ?? '').includes(`Token: ${token}.`) ? null : `text: ${JSON.stringify(text)}`;
  }
}

export function schemaTools(form) {
  return Object.entries(SCHEMAS).map(([name, schema]) => {
    const head = { name, description: DESCRIPTIONS[name] };
    if (form === 'chat') return { type: 'function', function: { ...head, parameters: schema } };
    if (form === 'responses') return { type: 'function', ...head, parameters: schema, strict: false };
    return { ...head, input_schema: schema };
  });
}

function timeout() {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`no result within ${SECONDS} s`)), SECONDS * 1000).unref();
  });
}

/** Runs a variant with each model. */
export async function main(variants) {
  const [variant, baseUrl, mode, ...models] = process.argv.slice(2);
  for (const model of models) {
    const tools = new Tools(model);
    let detail;
    try {
      const run = variants[variant](baseUrl, model, mode === 'stream', tools);
      detail = tools.check(await Promise.race([run, timeout()]));
    } catch (error) {
      if (process.env.MATRIX_TRACEBACK) console.error(error);
      detail = `${error.name}: ${error.message}`.slice(0, 600);
    }
    console.log(JSON.stringify({ model, ok: detail === null, detail }));
  }
  process.exit(0);
}
