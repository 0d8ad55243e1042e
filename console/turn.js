// One turn as a timeline: lessons, requests, diagnoses, repairs, executions, explanations, answer.
import { element, facts, when, duration, table } from "./elements.js";
import { graph } from "./graph.js";

const PURPOSES = {
  first: "Request to the model", static_feedback: "Feedback: faults of the call", dynamic_feedback: "Feedback: explanation of the failure",
  tool_results: "Results of the calls", closing: "Request for a final answer", plan: "Generation of a plan", procedure: "Generation of an outline",
};

/** Returns the elements of the page. */
export function timeline(trace) {
  const steps = [
    ...(trace.memory?.lessons ?? []).filter((lesson) => !lesson.withheld).map((lesson) =>
      step("good", "Lesson added to the request", element("a", { href: `#/lesson/${encodeURIComponent(lesson.id)}` }, lesson.id))),
    ...(trace.observed ?? []).map(observed),
    ...(trace.plan ? [plan(trace.plan)] : []),
    ...interleaved(trace),
  ];
  const verdict = step(["faulty", "refused", "failed"].includes(trace.verdict) ? "bad" : "good", `Answer: ${trace.verdict}`,
    facts([["Status", `${trace.status}`], ["Limit reached", trace.exhausted], ["Error", trace.error]]),
    ...(trace.answer ? [element("pre", {}, JSON.stringify(trace.answer, null, 2))] : []));
  return [
    facts([["Arrived", when(trace.started_at)], ["Model", trace.model], ["Upstream", trace.upstream], ["Policy", `${trace.policy} (${trace.mode})`], ["Session", trace.session], ["Key", trace.key?.name],
      ["Duration", `${duration(trace.duration_ms)}, including ${duration(trace.overhead_ms)} overhead`],
      ["Tokens", `${trace.usage.prompt_tokens} in, ${trace.usage.completion_tokens} out`], ["Tools offered", `${trace.tools_offered.length}`], ["Trace", trace.id]]),
    element("h2", {}, "Timeline"), element("ol", { class: "timeline" }, ...steps, verdict),
  ];
}

function step(tone, title, ...parts) {
  return element("li", { class: tone }, element("h3", {}, title), ...parts);
}

/** Returns each attempt, followed by the executions of its calls. */
function interleaved(trace) {
  const left = [...trace.executions];
  return trace.attempts.flatMap((attempt) => {
    const ids = attempt.calls.map((call) => call.id);
    const own = left.filter((execution) => ids.includes(execution.call.id));
    own.forEach((execution) => left.splice(left.indexOf(execution), 1));
    return [requested(attempt), ...own.map(executed)];
  }).concat(left.map(executed));
}

function requested(attempt) {
  const wrong = attempt.outcome !== "success" || attempt.verdict === "faulty";
  const calls = attempt.calls.flatMap((call, at) => {
    const diagnoses = attempt.diagnoses.filter((diagnosis) => diagnosis.call === at);
    const repairs = attempt.repairs.filter((repair) => repair.call === at);
    return [element("pre", { "aria-label": `call of ${call.name}` }, `${call.name} `, ...marked(call.arguments, diagnoses)), ...diagnoses.map(diagnosed), ...repairs.map(repaired)];
  });
  const others = attempt.diagnoses.filter((diagnosis) => diagnosis.call >= attempt.calls.length).map(diagnosed);
  return step(wrong ? "bad" : attempt.repairs.length ? "warn" : "good", `${PURPOSES[attempt.purpose] ?? attempt.purpose} (${attempt.upstream})`,
    facts([["Outcome", `${attempt.outcome}${attempt.status ? `, status ${attempt.status}` : ""}`], ["Verdict", attempt.verdict], ["Duration", duration(attempt.duration_ms)],
      ["Tokens", `${attempt.usage.prompt_tokens} in, ${attempt.usage.completion_tokens} out`]]), ...calls, ...others);
}

/** Shows arguments and marks the faulty members. */
function marked(text, diagnoses) {
  if (!text) return [element("span", { class: "soft" }, "(not recorded; the policy key record.bodies controls this)")];
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
  return step(good ? "good" : "bad", `Call of ${execution.toolset}: ${execution.operation}`,
    facts([["Outcome", `${execution.outcome}${execution.status ? `, status ${execution.status}` : ""}`], ["Not sent because of", execution.reason], ["Remedy", execution.remedy],
      ["Duration", duration(execution.duration_ms)], ["Approval", execution.approval ? `${execution.approval.status} ${execution.approval.decided_by ?? ""}` : undefined]]),
    ...(execution.body ? [element("pre", {}, execution.body)] : []), ...explained(execution.explanation));
}

function observed(observation) {
  return step("bad", `Failed tool of the client: ${observation.call.name}`, element("p", {}, `recognised by ${observation.rule}`), ...explained(observation.explanation));
}

function explained(explanation) {
  return (explanation?.passages ?? []).map((passage) => element("blockquote", {}, passage.text, " ", element("cite", { class: "soft" }, passage.source ?? passage.locator ?? "")));
}

/** Shows the plan as a graph and as a table. */
function plan(note) {
  const nodes = note.plan?.nodes ?? [];
  const made = new Set(note.made ?? []);
  const name = (node) => `${node.label}: ${node.tool}`;
  const references = (source) => (source?.output ? [source.output] : source?.composed?.outputs ?? []);
  const describe = (source) => {
    if (source?.value) return source.value.words ? `“${source.value.words}”` : JSON.stringify(source.value.value);
    if (source?.missing) return `question to the user: ${source.missing.question}`;
    return references(source).map((one) => `${one.node}${one.output}`).join(", ") || JSON.stringify(source ?? null);
  };
  const edges = nodes.flatMap((node) => (node.arguments ?? []).flatMap((argument) => references(argument.source).map((one) => ({ from: one.node, to: node.label, label: argument.name }))));
  const drawing = graph("Data flow of the plan", nodes.map((node) => ({ id: node.label, label: name(node), tone: made.has(node.label) ? "good" : "" })), edges);
  const rows = nodes.map((node) => [node.label, node.tool, (node.arguments ?? []).map((argument) => `${argument.name}: ${describe(argument.source)}`).join("\n"), made.has(node.label) ? "made" : ""]);
  return step("good", `Plan: ${note.result.replace("_", " ")}`, ...(note.reason ? [element("p", {}, note.reason)] : []),
    ...(rows.length ? [drawing, table("Plan", ["Step", "Tool", "Arguments", ""], rows)] : []));
}
