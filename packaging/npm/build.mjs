#!/usr/bin/env node
// Assembles the npm packages: the wrapper `callwright`, and one package per platform with its program.
//
//   packaging/npm/build.mjs OUT linux-x64=PATH linux-arm64=PATH darwin-x64=PATH darwin-arm64=PATH
//
// Then `npm publish` each folder in OUT, the platforms first. Platforms without a path are not assembled.
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [out, ...binaries] = process.argv.slice(2);
if (!out || binaries.length === 0) {
  console.error('usage: build.mjs OUT PLATFORM=PATH...');
  process.exit(2);
}
const wrapper = JSON.parse(readFileSync(join(here, 'callwright/package.json'), 'utf8'));
const licence = join(here, '../../LICENSE');

for (const entry of binaries) {
  const [platform, path] = entry.split('=', 2);
  const name = `@callwright/${platform}`;
  if (!path || !(name in wrapper.optionalDependencies)) {
    console.error(`${entry}: PLATFORM=PATH, with a platform of packaging/npm/callwright/package.json`);
    process.exit(2);
  }
  const [os, cpu] = platform.split('-');
  const folder = join(out, platform);
  mkdirSync(folder, { recursive: true });
  copyFileSync(path, join(folder, 'callwright'));
  chmodSync(join(folder, 'callwright'), 0o755);
  copyFileSync(licence, join(folder, 'LICENSE'));
  writeFileSync(join(folder, 'README.md'), `# ${name}\n\nThe program of the package \`callwright\` for ${os} on ${cpu}.\n`);
  const manifest = {
    name, version: wrapper.version, description: `The program of callwright for ${os} on ${cpu}`, license: wrapper.license,
    os: [os], cpu: [cpu], files: ['callwright', 'README.md', 'LICENSE'], preferUnplugged: true,
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
cpSync(join(here, 'callwright'), join(out, 'callwright'), { recursive: true });
copyFileSync(licence, join(out, 'callwright/LICENSE'));
