#!/usr/bin/env node
// Checks the boards against Grafana's dashboard model: the types of @grafana/schema, applied by the TypeScript compiler
// to each board and to the options of each panel. Unknown keys, misspelt enumerations and wrong types are errors.
//
//   npm install --prefix target/grafana --no-save @grafana/schema@13.2.3 typescript@7.0.2
//   dashboards/grafana/check.mjs target/grafana
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = resolve(process.argv[2] ?? 'target/grafana');
const boards = join(dirname(fileURLToPath(import.meta.url)), 'boards');

// Panel types of the boards, and the model of their options.
const PANELS = {
  alertlist: null, // Its options are not in the model.
  bargauge: 'bargauge',
  row: null,
  stat: 'stat',
  'state-timeline': 'statetimeline',
  table: 'table',
  timeseries: 'timeseries',
};

const names = new Set(Object.values(PANELS).filter(Boolean));
const types = join(packages, 'node_modules/@grafana/schema/dist/types');
const source = [
  `import type { Dashboard } from '${types}/index';`,
  ...[...names].map((name) => `import type { Options as ${name} } from '${types}/raw/composable/${name}/panelcfg/x/types.gen';`),
  // JSON has the values of enumerations instead of their members.
  'type Json<T> = unknown extends T ? unknown : T extends string ? `${T}` : T extends number | boolean | null | undefined ? T',
  '  : T extends (infer E)[] ? Json<E>[] : T extends object ? { [K in keyof T]: Json<T[K]> } : T;',
  // The query and the fields that the data source Prometheus adds.
  "type Annotation = Json<Omit<NonNullable<NonNullable<Dashboard['annotations']>['list']>[number], 'target'>>",
  '  & { target?: { refId: string; expr: string; interval: string }; titleFormat?: string; textFormat?: string; tagKeys?: string; useValueForTime?: boolean };',
];
const places = [];
const add = (place, type, value) => {
  places[source.length + 1] = place;
  source.push(`export const _${source.length}: ${type} = ${JSON.stringify(value)};`);
};
const errors = [];
for (const file of readdirSync(boards).filter((file) => file.endsWith('.json')).sort()) {
  const board = JSON.parse(readFileSync(join(boards, file), 'utf8'));
  const { annotations, panels, templating, ...rest } = board;
  add(file, "Json<Omit<Dashboard, 'annotations' | 'panels' | 'templating'>>", rest);
  for (const annotation of annotations.list) add(`${file}: annotation ${annotation.name}`, 'Annotation', annotation);
  const panel = "Json<NonNullable<Dashboard['panels']>[number]>";
  for (const variable of templating.list) {
    add(`${file}: variable ${variable.name}`, "Json<NonNullable<NonNullable<Dashboard['templating']>['list']>[number]>", variable);
  }
  for (const one of panels) {
    const place = `${file}: ${one.title}`;
    add(place, panel, one);
    if (!(one.type in PANELS)) errors.push(`${place}: the panel type ${one.type} is not in PANELS`);
    else if (PANELS[one.type]) add(`${place}: options`, `Partial<Json<${PANELS[one.type]}>>`, one.options);
  }
  // Panels are on a grid of 24 columns and must not overlap.
  const taken = new Map();
  for (const { title, gridPos: { x, y, w, h } } of panels) {
    if (x + w > 24) errors.push(`${file}: ${title}: beyond the 24th column`);
    for (let row = y; row < y + h; row += 1) {
      for (let column = x; column < x + w; column += 1) {
        const cell = `${column},${row}`;
        if (taken.has(cell)) errors.push(`${file}: ${title} overlaps ${taken.get(cell)}`);
        taken.set(cell, title);
      }
    }
  }
}

const folder = join(packages, 'check');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'boards.ts'), `${source.join('\n')}\n`);
writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({
  compilerOptions: { strict: true, noEmit: true, skipLibCheck: true, module: 'esnext', moduleResolution: 'bundler', target: 'es2022', types: [] },
  files: ['boards.ts'],
}));
const program = join(packages, 'node_modules/.bin/tsc');
try {
  execFileSync(program, ['--project', folder, '--pretty', 'false'], { encoding: 'utf8', cwd: folder });
} catch (error) {
  if (!error.stdout) throw error;
  for (const line of error.stdout.split('\n').filter(Boolean)) {
    const at = /boards\.ts\((\d+),/.exec(line);
    errors.push(at ? `${places[at[1]] ?? 'model'}: ${line.slice(line.indexOf('error'))}` : line);
  }
}
if (errors.length) {
  console.error([...new Set(errors)].join('\n'));
  process.exit(1);
}
console.log(`${places.filter(Boolean).length} boards, variables, panels and options agree with Grafana's model`);
