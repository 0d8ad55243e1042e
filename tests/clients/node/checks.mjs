// What both clients need: loading the official packages, assertions, and running the checks.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [baseUrl, packages] = process.argv.slice(2);

// The packages are installed in another folder, which is the second argument.
const load = createRequire(resolve(packages, "package.json"));

export { assert, baseUrl, load };

// Runs all checks. Prints the failed ones, and exits with status 1 if there are any.
export async function run(name, checks) {
  const failed = [];
  for (const [check, run] of Object.entries(checks)) {
    try {
      await run();
    } catch (error) {
      failed.push(check);
      console.log(`--- ${check}\n${error.stack}`);
    }
  }
  const passed = Object.keys(checks).length - failed.length;
  console.log(`${name}: ${passed} checks passed, failed: ${failed.join(", ") || "none"}`);
  process.exit(failed.length ? 1 : 0);
}

// Fails unless the promise is rejected; returns the error.
export async function rejection(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("no error");
}
