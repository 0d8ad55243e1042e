// Toolsets with their load reports, tools by failure rate, and the representation and argument sources of one tool.
import { block, button, element, empty, facts, field, filter, heading, link, next, number, percent, table, when } from "./elements.js";
import { get, metrics, post, put, remove } from "./api.js";
import { graph } from "./graph.js";
import { rangeChoice, rangeKept, rangeQuery } from "./range.js";

const toolLink = (toolset, tool, text = tool) => element("a", { href: `#/tool/${encodeURIComponent(toolset)}/${encodeURIComponent(tool)}` }, text);

/** Members of the query that select tools of documents. */
const SELECTION = ["toolset", "name", "after"];

/** Shows the tools of a time range by failures, the calls since the start, the documents, and a searchable list of tools. */
export async function tools(_, query) {
  const selected = new URLSearchParams(SELECTION.filter((name) => query.get(name)).map((name) => [name, query.get(name)]));
  const [used, series, documents, page] = await Promise.all([get(`/admin/tools/usage?${rangeQuery(query)}`), metrics(), get("/admin/toolsets"), get(`/admin/tools?${selected}`)]);
  const search = filter("Find tools", "tools", query,
    field("toolset", "Toolset", query.get("toolset") ?? "", ["", ...documents.toolsets.map((one) => one.name)]),
    field("name", "Name or operation", query.get("name") ?? ""));
  const listed = page.tools.map((tool) => [toolLink(tool.toolset, tool.tool), tool.toolset, tool.operation, `${tool.patterns}`, tool.deprecated ? "deprecated" : ""]);
  const sets = documents.toolsets.map((one) => [
    element("a", { href: `#/toolset/${encodeURIComponent(one.name)}` }, one.name), one.title, one.servers.join(" "), `${one.loaded}`,
    element("span", { class: one.skipped ? "bad" : "" }, `${one.skipped}`), `${one.renamed}`, `${one.simplified}`,
  ]);
  return [heading("Tools"), rangeChoice("tools", query), ...usage(used, rangeKept(query)), element("h2", {}, "Since the start"), ...callCounts(series),
    element("h2", {}, "Documents"), sets.length ? table("Loaded OpenAPI documents", ["Toolset", "Title", "Servers", "#Tools", "#Skipped", "#Renamed", "#Simplified"], sets)
      : empty("No document is loaded. Add one under [toolsets] in the configuration."),
    element("h2", {}, `Tools of documents (${page.total})`), search,
    listed.length ? table("Tools of documents", ["Tool", "Toolset", "Operation", "#Patterns", ""], listed) : empty("No matching tool."), ...next("tools", query, page)];
}

/** Shows the tools that the turns of the range call. */
function usage(used, kept) {
  const counted = (value) => element("span", { class: value ? "bad" : "" }, number(value));
  const rows = used.tools.map((one) => [link(one.tool, ["turns"], { ...kept, tool: one.tool }), number(one.turns), counted(one.faulty), counted(one.failed), counted(one.refused), number(one.repaired), percent(one.wrong, Math.max(one.turns, one.wrong))]);
  return [...(used.truncated ? [element("p", { class: "soft" }, "The range has more calls or tools than are shown.")] : []),
    rows.length ? table("Tools by turns, most failures first", ["Tool", "#Turns", "#With faults", "#With failures", "#Refused", "#Repaired", "#Failure rate"], rows) : empty("No tool was called in this time range.")];
}

/** Counts calls by tool since the start of the process. */
function callCounts(series) {
  const byTool = new Map();
  const of = (tool) => byTool.get(tool) ?? byTool.set(tool, { judged: 0, faulty: 0, repaired: 0, ran: 0, failed: 0 }).get(tool);
  for (const { name, labels, value } of series) {
    if (name === "callwright_calls_judged_total") {
      const tool = of(labels.tool);
      tool.judged += value;
      if (["faulty", "refused", "failed"].includes(labels.verdict)) tool.faulty += value;
      if (labels.verdict === "repaired" || labels.verdict === "corrected") tool.repaired += value;
    }
    if (name === "callwright_tool_executions_total") {
      const tool = of(labels.tool);
      tool.ran += value;
      if (labels.outcome !== "success") tool.failed += value;
    }
  }
  // A call is judged and, if it is the proxy's, executed: it can fail in either step, not in both.
  const share = (tool) => (tool.faulty + tool.failed) / Math.max(1, tool.judged, tool.ran);
  const used = [...byTool].filter(([, tool]) => tool.judged + tool.ran > 0);
  used.sort(([, one], [, other]) => other.faulty + other.failed - one.faulty - one.failed || share(other) - share(one));
  const rows = used.map(([name, tool]) => [
    element("a", { href: `#/turns?${new URLSearchParams({ tool: name })}` }, name), `${tool.judged}`, `${tool.repaired}`,
    element("span", { class: tool.faulty ? "bad" : "" }, `${tool.faulty}`), `${tool.ran}`, element("span", { class: tool.failed ? "bad" : "" }, `${tool.failed}`), `${(100 * share(tool)).toFixed(1)} %`,
  ]);
  return [element("p", { class: "soft" }, "Calls that this process has judged and executed, most failures first. Tools of clients are “other”."),
    rows.length ? table("Calls by tool", ["Tool", "#Judged", "#Repaired", "#Faulty", "#Executed", "#Failed", "#Failure rate"], rows) : empty("No calls yet.")];
}

/** Shows the load report of a document. */
export async function toolset(name) {
  const report = await get(`/admin/toolsets/${encodeURIComponent(name)}`);
  const part = (title, caption, heads, rows) => (rows.length ? [element("h2", {}, title), table(caption, heads, rows)] : []);
  const parts = [
    ...part("Skipped", "Operations without a tool", ["Operation", "Reason"], report.operations_skipped.map((one) => [one.operation, one.reason])),
    ...part("Simplified", "Simplified parts", ["Operation", "Simplification"], report.simplified.map((one) => [one.operation || "the whole document", one.what])),
    ...part("Renamed", "Tools whose name differs from the operationId", ["Operation", "operationId", "Tool"], report.renamed.map((one) => [one.operation, one.from ?? "(none)", one.to])),
  ];
  return [heading(`Document of ${name}`), facts([["File", report.file], ["Operations loaded", `${report.operations_loaded}`], ["Operations skipped", `${report.operations_skipped.length}`]]),
    ...(parts.length ? parts : [empty("All operations were loaded without a change.")]),
    element("p", {}, element("a", { href: `#/tools?${new URLSearchParams({ toolset: name })}` }, "Show its tools"))];
}

/** Shows one tool: its representation, and the sources of its arguments. */
export async function tool(toolset, _, name) {
  const path = `/admin/tools/${encodeURIComponent(toolset)}/${encodeURIComponent(name)}`;
  const one = await get(path);
  return [heading(one.tool), facts([["Toolset", element("a", { href: `#/toolset/${encodeURIComponent(toolset)}` }, toolset)], ["Operation", one.operation],
    ["Offered as", one.offered_as], ["Turns", element("a", { href: `#/turns?${new URLSearchParams({ tool: one.offered_as })}` }, "turns with this tool")]]),
    ...representation(one, path), ...sources(one),
    element("h2", {}, "Schema of the arguments"), block("Schema of the arguments", JSON.stringify(one.parameters, null, 2))];
}

/** Shows the description in the document beside the text that models get, and a form to edit the patterns. */
function representation(one, path) {
  const shown = element("pre", { id: "shown", tabindex: "0", role: "group", "aria-label": "Text for models" }, one.shown);
  const list = element("div", { class: "patterns" });
  const add = (pattern) => list.append(patternForm(pattern, list));
  one.patterns.forEach(add);
  const patterns = () => ({ patterns: [...list.querySelectorAll("fieldset")].map(readPattern) });
  const origin = one.shared_at ? `Shared by all replicas since ${when(one.shared_at)}.` : one.patterns.length ? "From a representation file." : "No patterns yet.";
  const actions = [
    button("Add a pattern", async () => add({ description: "", cases: [], weight: 1 })),
    button("Preview", async () => { shown.textContent = (await post(`${path}/representation/preview`, patterns())).shown; return "The text above is what models would get."; }),
    button("Save for all replicas", async () => { shown.textContent = (await put(`${path}/representation`, patterns())).shown; return "Saved: it overrides the representation files."; }),
    ...(one.shared_at ? [button("Reset", async () => { await remove(`${path}/representation`); return "The representation files apply again."; }, true)] : []),
  ];
  return [element("h2", {}, "Description"), element("div", { class: "beside" },
    element("section", {}, element("h3", {}, "In the document"), block("Text in the document", one.description || "(nothing)")),
    element("section", {}, element("h3", {}, "For models"), shown)),
    element("h2", {}, "Patterns"), element("p", { class: "soft" }, `${origin} Best first: a general sentence, and two or three short phrases in the words of users.`),
    list, element("div", { class: "actions" }, ...actions)];
}

function patternForm(pattern, list) {
  const gone = element("button", { type: "button", class: "grave" }, "Remove");
  const form = element("fieldset", {}, element("legend", {}, "Pattern"),
    element("label", {}, "Description of the requests", area("description", pattern.description, 2)),
    element("label", {}, "Example phrases, one per line", area("cases", pattern.cases.join("\n"), 3)),
    element("label", {}, "Weight", element("input", { name: "weight", type: "number", min: "0", step: "0.1", value: `${Number(pattern.weight.toFixed(3))}` })), gone);
  gone.addEventListener("click", () => {
    form.remove();
    (list.querySelector("textarea") ?? document.getElementById("main")).focus();
  });
  return form;
}

function area(name, text, rows) {
  const made = element("textarea", { name, rows, cols: 60 });
  made.value = text;
  return made;
}

function readPattern(form) {
  const value = (name) => form.querySelector(`[name=${name}]`).value;
  return { description: value("description").trim(), cases: value("cases").split("\n").map((line) => line.trim()).filter(Boolean), weight: Number(value("weight")) };
}

/** Shows the possible sources of the arguments as a graph and as a table. */
function sources(one) {
  const known = one.arguments.filter((argument) => argument.sources.length);
  const title = element("h2", {}, "Sources of the arguments");
  if (!known.length) return [title, empty("No tool returns a value for an argument: all values come from the user.")];
  const self = `${one.toolset}/${one.tool}`;
  const best = known.map(({ argument, sources: [first] }) => ({ from: `${first.toolset}/${first.tool}`, to: self, label: argument, source: first }));
  const others = new Map(best.filter(({ from }) => from !== self).map(({ from, source }) => [from, { id: from, label: source.tool, href: toolLink(source.toolset, source.tool).getAttribute("href") }]));
  const rows = known.flatMap(({ argument, sources: all }) => all.map((source, at) =>
    [at ? "" : argument, toolLink(source.toolset, source.tool), source.output || "whole answer", source.score.toFixed(1), source.reasons.join("; ")]));
  return [title, graph(`Best sources of the arguments of ${one.tool}`, [...others.values(), { id: self, label: one.tool, tone: "this" }], best),
    table("Sources of arguments, best first", ["Argument", "Tool", "Location in its answer", "#Score", "Reasons"], rows)];
}
