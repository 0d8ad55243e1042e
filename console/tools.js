// Toolsets with what became of their documents, tools by how they fare, and one tool with what models are shown of it.
import { button, element, empty, facts, field, heading, next, table, when } from "./elements.js";
import { get, metrics, post, put, remove } from "./api.js";
import { graph } from "./graph.js";

const toolLink = (toolset, tool, text = tool) => element("a", { href: `#/tool/${encodeURIComponent(toolset)}/${encodeURIComponent(tool)}` }, text);

/** Tools by how often they fail, the documents, and a list to search. */
export async function tools(_, query) {
  const [series, documents, page] = await Promise.all([metrics(), get("/admin/toolsets"), get(`/admin/tools?${query}`)]);
  const search = element("form", { class: "filter", "aria-label": "Find tools" },
    field("toolset", "Toolset", query.get("toolset") ?? "", ["", ...documents.toolsets.map((one) => one.name)]),
    field("name", "Name or operation", query.get("name") ?? ""), element("button", {}, "Find"));
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = `#/tools?${new URLSearchParams([...new FormData(search)].filter(([, value]) => value !== ""))}`;
  });
  const listed = page.tools.map((tool) => [toolLink(tool.toolset, tool.tool), tool.toolset, tool.operation, `${tool.patterns}`, tool.deprecated ? "deprecated" : ""]);
  const sets = documents.toolsets.map((one) => [
    element("a", { href: `#/toolset/${encodeURIComponent(one.name)}` }, one.name), one.title, one.servers.join(" "), `${one.loaded}`,
    element("span", { class: one.skipped ? "bad" : "" }, `${one.skipped}`), `${one.renamed}`, `${one.simplified}`,
  ]);
  return [heading("Tools"), ...faring(series),
    element("h2", {}, "Documents"), sets.length ? table("Documents that tools are made from", ["Toolset", "Title", "Servers", "#Tools", "#Left out", "#Renamed", "#Simplified"], sets)
      : empty("No document is loaded; [toolsets] in the configuration names them."),
    element("h2", {}, `Tools of documents (${page.total})`), search,
    listed.length ? table("Tools of documents", ["Tool", "Toolset", "Operation", "#Patterns", ""], listed) : empty("No tool that fits."), ...next("tools", query, page)];
}

/** What was counted of calls since the process began. */
function faring(series) {
  const byTool = new Map();
  const of = (tool) => byTool.get(tool) ?? byTool.set(tool, { judged: 0, faulty: 0, mended: 0, ran: 0, failed: 0 }).get(tool);
  for (const { name, labels, value } of series) {
    if (name === "callwright_calls_judged_total") {
      const tool = of(labels.tool);
      tool.judged += value;
      if (labels.verdict === "faulty") tool.faulty += value;
      if (labels.verdict === "repaired" || labels.verdict === "corrected") tool.mended += value;
    }
    if (name === "callwright_tool_executions_total") {
      const tool = of(labels.tool);
      tool.ran += value;
      if (labels.outcome !== "success") tool.failed += value;
    }
  }
  // A call is judged, and then executed where it is the proxy's to do: it fails in one of the two.
  const share = (tool) => (tool.faulty + tool.failed) / Math.max(1, tool.judged, tool.ran);
  const used = [...byTool].filter(([, tool]) => tool.judged + tool.ran > 0);
  used.sort(([, one], [, other]) => other.faulty + other.failed - one.faulty - one.failed || share(other) - share(one));
  const rows = used.map(([name, tool]) => [
    element("a", { href: `#/turns?${new URLSearchParams({ tool: name })}` }, name), `${tool.judged}`, `${tool.mended}`,
    element("span", { class: tool.faulty ? "bad" : "" }, `${tool.faulty}`), `${tool.ran}`, element("span", { class: tool.failed ? "bad" : "" }, `${tool.failed}`), `${(100 * share(tool)).toFixed(1)} %`,
  ]);
  return [element("p", { class: "soft" }, "Since this process began; the tool that fails most comes first. Tools that clients bring are “other”."),
    rows.length ? table("Calls by tool", ["Tool", "#Judged", "#Mended", "#Faulty", "#Executed", "#Failed", "#Failing"], rows) : empty("No call was judged yet.")];
}

/** What became of a document's operations. */
export async function toolset(name) {
  const report = await get(`/admin/toolsets/${encodeURIComponent(name)}`);
  const part = (title, caption, heads, rows) => (rows.length ? [element("h2", {}, title), table(caption, heads, rows)] : []);
  const parts = [
    ...part("Left out", "Operations that became no tool", ["Operation", "Why"], report.operations_skipped.map((one) => [one.operation, one.reason])),
    ...part("Simplified", "What was understood with a loss or a guess", ["Operation", "What"], report.simplified.map((one) => [one.operation || "the whole document", one.what])),
    ...part("Renamed", "Tools that do not bear their operationId", ["Operation", "operationId", "Tool"], report.renamed.map((one) => [one.operation, one.from ?? "(none)", one.to])),
  ];
  return [heading(`The document of ${name}`), facts([["File", report.file], ["Operations that became tools", `${report.operations_loaded}`], ["Left out", `${report.operations_skipped.length}`]]),
    ...(parts.length ? parts : [empty("All of its operations became tools, as the document says them.")]),
    element("p", {}, element("a", { href: `#/tools?${new URLSearchParams({ toolset: name })}` }, "Its tools"))];
}

/** One tool: what models are shown, where its arguments come from. */
export async function tool(toolset, _, name) {
  const path = `/admin/tools/${encodeURIComponent(toolset)}/${encodeURIComponent(name)}`;
  const one = await get(path);
  return [heading(one.tool), facts([["Toolset", element("a", { href: `#/toolset/${encodeURIComponent(toolset)}` }, toolset)], ["Operation", one.operation],
    ["Offered as", one.offered_as], ["Turns", element("a", { href: `#/turns?${new URLSearchParams({ tool: one.offered_as })}` }, "those that used it")]]),
    ...representation(one, path), ...sources(one),
    element("h2", {}, "Schema of its arguments"), element("pre", { tabindex: "0" }, JSON.stringify(one.parameters, null, 2))];
}

/** Its own words beside what models are shown, and a form for what stands between them. */
function representation(one, path) {
  const shown = element("pre", { id: "shown" }, one.shown);
  const list = element("div", { class: "patterns" });
  const add = (pattern) => list.append(patternForm(pattern, list));
  one.patterns.forEach(add);
  const patterns = () => ({ patterns: [...list.querySelectorAll("fieldset")].map(readPattern) });
  const whose = one.shared_at ? `Shared by all replicas since ${when(one.shared_at)}.` : one.patterns.length ? "From a representation file." : "Nothing was learned of it or written.";
  const actions = [
    button("Add a pattern", async () => add({ description: "", cases: [], weight: 1 })),
    button("Preview", async () => { shown.textContent = (await post(`${path}/representation/preview`, patterns())).shown; return "Above is what models would be shown."; }),
    button("Save for all replicas", async () => { shown.textContent = (await put(`${path}/representation`, patterns())).shown; return "Saved: it stands over what files say."; }),
    ...(one.shared_at ? [button("Take back", async () => { await remove(`${path}/representation`); return "What files say holds again."; }, true)] : []),
  ];
  return [element("h2", {}, "What models are shown"), element("div", { class: "beside" },
    element("section", {}, element("h3", {}, "The document says"), element("pre", {}, one.description || "(nothing)")),
    element("section", {}, element("h3", {}, "Models read"), shown)),
    element("h2", {}, "Patterns"), element("p", { class: "soft" }, `${whose} Best first: a general sentence, and two or three short phrases as people use them.`),
    list, element("div", { class: "actions" }, ...actions)];
}

function patternForm(pattern, list) {
  const gone = element("button", { type: "button", class: "grave" }, "Remove");
  const form = element("fieldset", {}, element("legend", {}, "A pattern"),
    element("label", {}, "What requests for it are like", area("description", pattern.description, 2)),
    element("label", {}, "Phrases, one on each line", area("cases", pattern.cases.join("\n"), 3)),
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

/** Where the values of its arguments can come from: as a drawing, and in words. */
function sources(one) {
  const known = one.arguments.filter((argument) => argument.sources.length);
  const title = element("h2", {}, "Where its arguments come from");
  if (!known.length) return [title, empty("No other tool's answer holds a value that it takes: users say all of them.")];
  const self = `${one.toolset}/${one.tool}`;
  const best = known.map(({ argument, sources: [first] }) => ({ from: `${first.toolset}/${first.tool}`, to: self, label: argument, source: first }));
  const others = new Map(best.filter(({ from }) => from !== self).map(({ from, source }) => [from, { id: from, label: source.tool, href: toolLink(source.toolset, source.tool).getAttribute("href") }]));
  const rows = known.flatMap(({ argument, sources: all }) => all.map((source, at) =>
    [at ? "" : argument, toolLink(source.toolset, source.tool), source.output || "the answer", source.score.toFixed(1), source.reasons.join("; ")]));
  return [title, graph(`The likeliest sources of the arguments of ${one.tool}`, [...others.values(), { id: self, label: one.tool, tone: "this" }], best),
    table("Sources of arguments, likeliest first", ["Argument", "Tool", "Place in its answer", "#Score", "What speaks for it and against it"], rows)];
}
