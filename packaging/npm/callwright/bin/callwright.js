#!/usr/bin/env node
// Starts the program of the installed platform package, with the same arguments, streams, signals and exit status.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');

function binary() {
  // For programs that are built from source.
  if (process.env.CALLWRIGHT_BINARY) return process.env.CALLWRIGHT_BINARY;
  const name = `@callwright/${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/callwright`);
  } catch {
    const { optionalDependencies } = require('../package.json');
    const advice = name in optionalDependencies
      ? `The package ${name} is not installed: reinstall without --omit=optional.`
      : 'There is no program for it: build it from source and set CALLWRIGHT_BINARY to its path.';
    console.error(`callwright: no program for ${process.platform}-${process.arch}. ${advice}`);
    process.exit(1);
  }
}

const child = spawn(binary(), process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends signals to the whole process group; a supervisor sends them only to this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (error) => {
  console.error(`callwright: ${error.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
