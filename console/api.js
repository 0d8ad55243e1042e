// Requests to the operator listener.
import { authorized } from "./token.js";

async function answer(response) {
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  // /readyz answers 503 with a status while the proxy drains.
  if (!response.ok && body?.status === undefined) throw new Error(body?.error?.message ?? `${response.status} ${response.statusText}`);
  return body;
}

/** Returns the JSON at a path. */
export async function get(path) {
  return answer(await authorized(path, { headers: { accept: "application/json" } }));
}

function sending(method) {
  return async (path, body) => answer(await authorized(path, { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) }));
}

/** Sends JSON. */
export const post = sending("POST");

/** Replaces the JSON at a path. */
export const put = sending("PUT");

/** Deletes the resource at a path. */
export async function remove(path) {
  return answer(await authorized(path, { method: "DELETE" }));
}

/** Maximum characters of an event; a longer one is not an event of the proxy. */
const MAX_EVENT = 4_000_000;

/** Reads server-sent events until the stream ends, and passes the data of each to `handle`. `EventSource` cannot send the token. */
export async function events(path, handle) {
  const response = await authorized(path, { headers: { accept: "text/event-stream" } });
  if (!response.ok) await answer(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done || text.length > MAX_EVENT) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (data) handle(JSON.parse(data));
    }
  }
}

const SERIES = /^([a-z_]+)(?:\{(.*)\})? ([0-9.e+-]+)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** Returns the series of /metrics: name, labels, value. */
export async function metrics() {
  const text = await (await authorized("/metrics")).text();
  const series = [];
  for (const line of text.split("\n")) {
    const found = SERIES.exec(line);
    if (!found) continue;
    const labels = Object.fromEntries([...(found[2] ?? "").matchAll(LABEL)].map(([, name, value]) => [name, value.replace(/\\(.)/g, "$1")]));
    series.push({ name: found[1], labels, value: Number(found[3]) });
  }
  return series;
}
