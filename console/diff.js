// Differences between two versions of a call's arguments.
import { element, table } from "./elements.js";

/** Maximum number of compared values. */
const MOST = 500;

/** Returns the values of a JSON text by JSON Pointer, or undefined if it is not an object. */
function leaves(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (value === null || typeof value !== "object") return undefined;
  const found = new Map();
  const add = (part, path, depth) => {
    if (found.size >= MOST) return;
    if (part === null || typeof part !== "object" || depth > 20 || Object.keys(part).length === 0) {
      found.set(path, JSON.stringify(part));
      return;
    }
    for (const [name, child] of Object.entries(part)) add(child, `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1);
  };
  add(value, "", 0);
  found.delete("");
  return found;
}

/** Returns the changed places: location, value before, value after; undefined if one of the texts is no JSON object. */
export function changes(before, after) {
  const [old, young] = [leaves(before), leaves(after)];
  if (!old || !young) return undefined;
  const paths = [...new Set([...old.keys(), ...young.keys()])];
  return paths.filter((path) => old.get(path) !== young.get(path)).map((path) => [path, old.get(path), young.get(path)]);
}

/** Shows the differences between two calls as a table; returns nothing if there are none or arguments were not recorded. */
export function difference(caption, before, after) {
  if (!before?.arguments || !after?.arguments) return [];
  const changed = changes(before.arguments, after.arguments) ?? (before.arguments === after.arguments ? [] : [["whole call", before.arguments, after.arguments]]);
  const renamed = before.name === after.name ? [] : [["tool", before.name, after.name]];
  const rows = [...renamed, ...changed].map(([path, from, to]) => [path, from === undefined ? element("span", { class: "soft" }, "absent") : element("del", {}, from), to === undefined ? element("span", { class: "soft" }, "removed") : element("ins", {}, to)]);
  return rows.length ? [element("h4", {}, caption), table(caption, ["Place", "Model's call", "After"], rows)] : [];
}
