// The policies in force, and which of them a request would get.
import { button, element, heading, table } from "./elements.js";
import { get, post } from "./api.js";

const EXAMPLE = '{"model": "gpt-5.2"}';

/** All policies, and a form to ask. */
export async function policies() {
  const { policies: all } = await get("/admin/policies");
  const rows = all.map((one) => [element("a", { href: `#/policy/${encodeURIComponent(one.name)}` }, one.name), one.mode, `${one.priority}`,
    one.match ? JSON.stringify(one.match) : one.is_default ? "where no other matches" : one.aliases.length ? "" : "where it is named", one.aliases.join(", "), one.selectable ? "yes" : "", one.description]);
  return [heading("Policies"), table("Policies in the order in which they are tried", ["Policy", "Mode", "#Priority", "Is for", "Aliases", "Selectable", "Purpose"], rows), ...asking()];
}

/** One policy, every key. */
export async function policy(name) {
  const { policies: all } = await get("/admin/policies");
  const found = all.find((one) => one.name === name);
  if (!found) throw new Error(`There is no policy ${name} any more.`);
  const { is_default, aliases, ...rules } = found;
  return [heading(`Policy ${name}`), ...(is_default ? [element("p", {}, "It holds where no other matches.")] : []),
    ...(aliases.length ? [element("p", {}, `It is bound to ${aliases.join(", ")}.`)] : []), element("pre", { tabindex: "0" }, JSON.stringify(rules, null, 2))];
}

function asking() {
  const request = element("textarea", { name: "request", rows: 4, cols: 60, spellcheck: "false" });
  request.value = EXAMPLE;
  const headers = element("textarea", { name: "headers", rows: 2, cols: 60, spellcheck: "false", placeholder: "x-team: search" });
  const key = element("input", { name: "key", autocomplete: "off" });
  const answer = element("div", { role: "status" });
  const ask = async () => {
    let body;
    try {
      body = JSON.parse(request.value);
    } catch (error) {
      throw new Error(`The request is no JSON: ${error.message}`);
    }
    const fields = headers.value.split("\n").filter((line) => line.trim()).map((line) => {
      const [name, ...value] = line.split(":");
      return [name.trim(), value.join(":").trim()];
    });
    answer.replaceChildren(...told(await post("/admin/policies/explain", { request: body, headers: Object.fromEntries(fields), ...(key.value.trim() ? { key: key.value.trim() } : {}) })));
  };
  return [element("h2", {}, "Which one would a request get?"), element("div", { class: "ask" },
    element("label", {}, "Body of the request", request), element("label", {}, "Header fields, one on each line", headers),
    element("label", {}, "Name of its virtual key, where it has one", key), button("Explain", ask)), answer];
}

function told(found) {
  const said = (one) => (one.matches === null ? "has no match: it holds where it is named" : one.matches ? "matches" : `does not match${one.lacks ? `: ${one.lacks}` : ""}`);
  return [element("p", {}, `${found.alias ? "Alias" : "Model"} ${found.model}: policy `, element("strong", {}, found.policy), `, mode ${found.mode}. ${found.base} holds: ${found.because}.`),
    table("The policies, as they were tried", ["Policy", "#Priority", ""], found.considered.map((one) => [one.policy, `${one.priority}`, said(one)])),
    element("details", {}, element("summary", {}, "Every rule as it would hold"), element("pre", { tabindex: "0" }, JSON.stringify(found.rules, null, 2)))];
}
