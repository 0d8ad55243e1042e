// One turn as a timeline: what was shown, asked, found wrong, repaired, executed, explained, answered.
import { element, facts, when, duration, table } from "./elements.js";
import { graph } from "./graph.js";

const PURPOSES = {
  first: "The model is asked", static_feedback: "The model is told what is wrong with its call", dynamic_feedback: "The model is told why the call failed",
  tool_results: "The model is given the results", closing: "The model is asked for a last word", plan: "A plan is drawn", procedure: "An outline is made",
};

/** The parts of the page. */
export function timeline(trace) {
  const steps = [
    ...(trace.memory?.lessons ?? []).filter((lesson) => !lesson.withheld).map((lesson) =>
      step("good", "A lesson stands behind the question", element("a", { href: `#/lesson/${encodeURIComponent(lesson.id)}` }, lesson.id))),
    ...(trace.observed ?? []).map(observed),
    ...(trace.plan ? [plan(trace.plan)] : []),
    ...interleaved(trace),
  ];
  const verdict = step(trace.verdict === "faulty" ? "bad" : "good", `The answer: ${trace.verdict}`,
    facts([["Status", `${trace.status}`], ["Ended by the limit", trace.exhausted], ["Error", trace.error]]),
    ...(trace.answer ? [element("pre", {}, JSON.stringify(trace.answer, null, 2))] : []));
  return [
    facts([["Arrived", when(trace.started_at)], ["Model", trace.model], ["Upstream", trace.upstream], ["Policy", `${trace.policy} (${trace.mode})`], ["Session", trace.session], ["Key", trace.key?.name],
      ["Took", `${duration(trace.duration_ms)}, of which ${duration(trace.overhead_ms)} the proxy's own`],
      ["Tokens", `${trace.usage.prompt_tokens} in, ${trace.usage.completion_tokens} out`], ["Tools offered", `${trace.tools_offered.length}`], ["Trace", trace.id]]),
    element("h2", {}, "What happened"), element("ol", { class: "timeline" }, ...steps, verdict),
  ];
}

function step(tone, title, ...parts) {
  return element("li", { class: tone }, element("h3", {}, title), ...parts);
}

/** Attempts with the executions of their calls behind them. */
function interleaved(trace) {
  const left = [...trace.executions];
  return trace.attempts.flatMap((attempt) => {
    const ids = attempt.calls.map((call) => call.id);
    const own = left.filter((execution) => ids.includes(execution.call.id));
    own.forEach((execution) => left.splice(left.indexOf(execution), 1));
    return [asked(attempt), ...own.map(executed)];
  }).concat(left.map(executed));
}

function asked(attempt) {
  const wrong = attempt.outcome !== "success" || attempt.verdict === "faulty";
  const calls = attempt.calls.flatMap((call, at) => {
    const diagnoses = attempt.diagnoses.filter((diagnosis) => diagnosis.call === at);
    const repairs = attempt.repairs.filter((repair) => repair.call === at);
    return [element("pre", { "aria-label": `call of ${call.name}` }, `${call.name} `, ...marked(call.arguments, diagnoses)), ...diagnoses.map(diagnosed), ...repairs.map(repaired)];
  });
  const others = attempt.diagnoses.filter((diagnosis) => diagnosis.call >= attempt.calls.length).map(diagnosed);
  return step(wrong ? "bad" : attempt.repairs.length ? "warn" : "good", `${PURPOSES[attempt.purpose] ?? attempt.purpose} (${attempt.upstream})`,
    facts([["Outcome", `${attempt.outcome}${attempt.status ? `, status ${attempt.status}` : ""}`], ["Verdict", attempt.verdict], ["Took", duration(attempt.duration_ms)],
      ["Tokens", `${attempt.usage.prompt_tokens} in, ${attempt.usage.completion_tokens} out`]]), ...calls, ...others);
}

/** Arguments, with the members at which something is wrong marked. */
function marked(text, diagnoses) {
  if (!text) return [element("span", { class: "soft" }, "(arguments are not recorded; policy record.bodies says whether they are)")];
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return diagnoses.length ? [element("mark", {}, text)] : [text];
  }
  const wrong = new Set(diagnoses.map((diagnosis) => diagnosis.path));
  const write = (part, path, depth) => {
    const pad = "  ".repeat(depth);
    const inside = part !== null && typeof part === "object" ? Object.entries(part) : undefined;
    const [open, close] = Array.isArray(part) ? ["[", "]"] : ["{", "}"];
    const pieces = inside === undefined ? [JSON.stringify(part)] : [open, ...inside.flatMap(([name, child], at) => {
      const below = `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      return [`${at ? "," : ""}\n${pad}  `, ...(Array.isArray(part) ? [] : [`${JSON.stringify(name)}: `]), ...write(child, below, depth + 1)];
    }), inside.length ? `\n${pad}${close}` : close];
    return wrong.has(path) && path !== "" ? [element("mark", {}, ...pieces)] : pieces;
  };
  return write(value, "", 0);
}

function diagnosed(diagnosis) {
  return element("p", {}, element("strong", { class: "bad" }, diagnosis.code), ` ${diagnosis.message || `at ${diagnosis.path || "the whole call"}`}`, diagnosis.suggestion ? ` (${diagnosis.suggestion})` : "");
}

function repaired(repair) {
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  return element("p", {}, element("strong", { class: "good" }, repair.kind), ` ${repair.path} `,
    ...(repair.from === null ? [] : [element("del", {}, text(repair.from)), " "]), ...(repair.to === null ? [] : [element("ins", {}, text(repair.to))]));
}

function executed(execution) {
  const good = execution.outcome === "success" && !execution.explanation;
  return step(good ? "good" : "bad", `${execution.toolset} is called: ${execution.operation}`,
    facts([["Outcome", `${execution.outcome}${execution.status ? `, status ${execution.status}` : ""}`], ["Took", duration(execution.duration_ms)],
      ["Approval", execution.approval ? `${execution.approval.status} ${execution.approval.decided_by ?? ""}` : undefined]]),
    ...(execution.body ? [element("pre", {}, execution.body)] : []), ...explained(execution.explanation));
}

function observed(observation) {
  return step("bad", `A tool of the client failed: ${observation.call.name}`, element("p", {}, `recognised by ${observation.rule}`), ...explained(observation.explanation));
}

function explained(explanation) {
  return (explanation?.passages ?? []).map((passage) => element("blockquote", {}, passage.text, " ", element("cite", { class: "soft" }, passage.source ?? passage.locator ?? "")));
}

/** The plan as a drawing, with a table that says the same. */
function plan(note) {
  const nodes = note.plan?.nodes ?? [];
  const made = new Set(note.made ?? []);
  const name = (node) => `${node.label}: ${node.tool}`;
  const references = (source) => (source?.output ? [source.output] : source?.composed?.outputs ?? []);
  const said = (source) => {
    if (source?.value) return source.value.words ? `“${source.value.words}”` : JSON.stringify(source.value.value);
    if (source?.missing) return `asked of the user: ${source.missing.question}`;
    return references(source).map((one) => `${one.node}${one.output}`).join(", ") || JSON.stringify(source ?? null);
  };
  const edges = nodes.flatMap((node) => (node.arguments ?? []).flatMap((argument) => references(argument.source).map((one) => ({ from: one.node, to: node.label, label: argument.name }))));
  const drawing = graph("The plan: what feeds what", nodes.map((node) => ({ id: node.label, label: name(node), tone: made.has(node.label) ? "good" : "" })), edges);
  const rows = nodes.map((node) => [node.label, node.tool, (node.arguments ?? []).map((argument) => `${argument.name}: ${said(argument.source)}`).join("\n"), made.has(node.label) ? "made" : ""]);
  return step("good", `A plan: ${note.result.replace("_", " ")}`, ...(note.reason ? [element("p", {}, note.reason)] : []),
    ...(rows.length ? [drawing, table("The plan", ["Step", "Tool", "Arguments", ""], rows)] : []));
}
