// The loaded policies, and which of them a request would get.
import { badge, block, button, element, empty, heading, inline, link, table } from "./elements.js";
import { get, post } from "./api.js";

const EXAMPLE = '{"model": "gpt-5.2"}';

/** Shows all policies, and a form that explains the selection for a request. */
export async function policies() {
  const { policies: all } = await get("/admin/policies");
  const usual = all.find((one) => one.is_default);
  const rows = all.map((one) => [link(one.name, ["policy", one.name]), one.mode, `${one.priority}`,
    one.match ? JSON.stringify(one.match) : one.is_default ? "default" : one.aliases.length ? "" : "by name only", one.aliases.join(", "),
    one === usual ? "" : `${differences(one, usual).length}`, one.description]);
  return [heading("Policies"), table("Policies in order of precedence", ["Policy", "Mode", "#Priority", "Match", "Aliases", "#Differences", "Purpose"], rows), ...explainForm()];
}

/** Members of a policy that identify it instead of defining rules. */
const IDENTITY = ["name", "description", "is_default", "aliases", "match", "priority", "file"];

/** Returns the keys of a policy and their values; lists are values. */
function keysOf(policy) {
  const found = new Map();
  const add = (value, path) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) found.set(path, JSON.stringify(value));
    else for (const [name, child] of Object.entries(value)) add(child, path ? `${path}.${name}` : name);
  };
  for (const [name, value] of Object.entries(policy ?? {})) {
    if (!IDENTITY.includes(name)) add(value, name);
  }
  return found;
}

/** Returns the keys in which a policy differs from the default: key, value of the default, own value. */
function differences(policy, usual) {
  const [own, other] = [keysOf(policy), keysOf(usual)];
  return [...new Set([...other.keys(), ...own.keys()])].filter((key) => own.get(key) !== other.get(key)).map((key) => [key, other.get(key), own.get(key)]);
}

/** Shows one policy as its differences from the default, and all of its keys. */
export async function policy(name) {
  const { policies: all } = await get("/admin/policies");
  const found = all.find((one) => one.name === name);
  if (!found) throw new Error(`There is no policy ${name}.`);
  const { is_default, aliases, ...rules } = found;
  const usual = all.find((one) => one.is_default);
  const absent = () => element("span", { class: "soft" }, "absent");
  const rows = is_default || !usual ? [] : differences(found, usual).map(([key, before, after]) => [key, before === undefined ? absent() : element("del", {}, before), after === undefined ? absent() : element("ins", {}, after)]);
  const difference = is_default ? [element("p", {}, "Default: applies if no other policy matches.")]
    : [element("h2", {}, "Differences from the default"), rows.length ? table(`Differences from ${usual?.name ?? "the default"}`, ["Key", "Default", name], rows) : empty("The policy has the rules of the default.")];
  return [heading(`Policy ${name}`), ...(found.description ? [element("p", {}, found.description)] : []),
    ...(aliases.length ? [element("p", {}, "Bound to ", inline(aliases.map((alias) => badge(alias))), ".")] : []), ...difference,
    element("details", is_default ? { open: "" } : {}, element("summary", {}, "All keys"), block("All keys", JSON.stringify(rules, null, 2)))];
}

function explainForm() {
  const request = element("textarea", { name: "request", rows: 4, cols: 60, spellcheck: "false" });
  request.value = EXAMPLE;
  const headers = element("textarea", { name: "headers", rows: 2, cols: 60, spellcheck: "false", placeholder: "x-team: search" });
  const key = element("input", { name: "key", autocomplete: "off" });
  const answer = element("div", { role: "status" });
  const explain = async () => {
    let body;
    try {
      body = JSON.parse(request.value);
    } catch (error) {
      throw new Error(`The request is not valid JSON: ${error.message}`);
    }
    const fields = headers.value.split("\n").filter((line) => line.trim()).map((line) => {
      const [name, ...value] = line.split(":");
      return [name.trim(), value.join(":").trim()];
    });
    answer.replaceChildren(...explained(await post("/admin/policies/explain", { request: body, headers: Object.fromEntries(fields), ...(key.value.trim() ? { key: key.value.trim() } : {}) })));
  };
  return [element("h2", {}, "Selection for a request"), element("div", { class: "explain" },
    element("label", {}, "Body of the request", request), element("label", {}, "Header fields, one per line", headers),
    element("label", {}, "Name of its virtual key, if any", key), button("Explain", explain)), answer];
}

function explained(found) {
  const result = (one) => (one.matches === null ? "has no match rules: applies by name only" : one.matches ? "matches" : `does not match${one.lacks ? `: ${one.lacks}` : ""}`);
  return [element("p", {}, `${found.alias ? "Alias" : "Model"} ${found.model}: policy `, element("strong", {}, found.policy), `, mode ${found.mode}. ${found.base} applies: ${found.because}.`),
    table("Policies in the order of evaluation", ["Policy", "#Priority", ""], found.considered.map((one) => [one.policy, `${one.priority}`, result(one)])),
    element("details", {}, element("summary", {}, "All rules that apply"), block("All rules", JSON.stringify(found.rules, null, 2)))];
}
