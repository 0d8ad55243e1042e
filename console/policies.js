// The loaded policies, and which of them a request would get.
import { button, element, heading, table } from "./elements.js";
import { get, post } from "./api.js";

const EXAMPLE = '{"model": "gpt-5.2"}';

/** Shows all policies, and a form that explains the selection for a request. */
export async function policies() {
  const { policies: all } = await get("/admin/policies");
  const rows = all.map((one) => [element("a", { href: `#/policy/${encodeURIComponent(one.name)}` }, one.name), one.mode, `${one.priority}`,
    one.match ? JSON.stringify(one.match) : one.is_default ? "default" : one.aliases.length ? "" : "by name only", one.aliases.join(", "), one.selectable ? "yes" : "", one.description]);
  return [heading("Policies"), table("Policies in order of precedence", ["Policy", "Mode", "#Priority", "Match", "Aliases", "Selectable", "Purpose"], rows), ...explainForm()];
}

/** Shows all keys of one policy. */
export async function policy(name) {
  const { policies: all } = await get("/admin/policies");
  const found = all.find((one) => one.name === name);
  if (!found) throw new Error(`There is no policy ${name}.`);
  const { is_default, aliases, ...rules } = found;
  return [heading(`Policy ${name}`), ...(is_default ? [element("p", {}, "Default: applies if no other policy matches.")] : []),
    ...(aliases.length ? [element("p", {}, `Bound to ${aliases.join(", ")}.`)] : []), element("pre", { tabindex: "0" }, JSON.stringify(rules, null, 2))];
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
    element("details", {}, element("summary", {}, "All rules that apply"), element("pre", { tabindex: "0" }, JSON.stringify(found.rules, null, 2)))];
}
