// One turn: why it went as it did, the question, a waterfall, and each step in the order of time.
import { badge, block, button, duration, element, facts, heading, inline, link, money, number, table, when } from "./elements.js";
import { get, post } from "./api.js";
import { waterfall } from "./chart.js";
import { difference } from "./diff.js";
import { graph } from "./graph.js";
import * as words from "./words.js";

/** Maximum characters of a text that is shown at once. */
const MOST = 20_000;

const short = (text) => (text.length > MOST ? `${text.slice(0, MOST)}… (${number(text.length - MOST)} characters more)` : text);

/** Shows a turn. */
export async function turn(id) {
  const trace = await get(`/admin/traces/${encodeURIComponent(id)}`);
  const mark = (verdict) => button(verdict === "good" ? "Mark as correct" : "Mark as wrong", async () => {
    await post(`/admin/traces/${encodeURIComponent(id)}/mark`, { verdict });
    return `Marked as ${verdict}. Lessons from this turn are rated accordingly.`;
  }, verdict === "bad");
  return [heading("Turn"), ...page(trace), element("h2", {}, "Your verdict"), element("div", { class: "actions" }, mark("good"), mark("bad"))];
}

function page(trace) {
  const steps = stepsOf(trace);
  const [tone, sentence] = words.VERDICTS[trace.verdict] ?? ["warn", ""];
  return [
    element("p", { class: "headline" }, badge(trace.verdict, tone), " ", sentence, trace.mode === "shadow" ? " The mode is shadow: the client got the model's answer unchanged." : ""),
    ...why(trace),
    element("h2", {}, "Question"), question(trace),
    element("h2", {}, "Facts"), element("div", { class: "columns" }, summary(trace)),
    element("h2", {}, "Timeline"),
    waterfall("Waterfall of the turn", steps.filter(({ took }) => took !== undefined), trace.duration_ms, duration),
    element("ol", { class: "timeline" }, ...before(trace), ...steps.flatMap(({ shown }) => shown), answered(trace)),
  ];
}

function summary(trace) {
  return facts([
    ["Arrived", when(trace.started_at)], ["Model", trace.model], ["Upstream", trace.upstream], ["Policy", element("span", {}, link(trace.policy, ["policy", trace.policy]), ` (${trace.mode})`)],
    ["Session", trace.session ? link(trace.session, ["session", trace.session]) : undefined], ["Key", trace.key?.name],
    ["Duration", `${duration(trace.duration_ms)}, including ${duration(trace.overhead_ms)} overhead`],
    ["Tokens", `${number(trace.usage.prompt_tokens)} in, ${number(trace.usage.completion_tokens)} out`], ["Cost", money(trace.cost)],
    ["Outcome", words.GOT[trace.outcome]], ["Actions", actions(trace.actions)],
    ["Tools offered", `${trace.tools_offered.length}`], ["Status", `${trace.status}`], ["Trace", trace.id],
  ]);
}

/** Returns the actions of the proxy on the answer. */
function actions({ repaired, sent_back: sent, withheld, cut } = {}) {
  const taken = [repaired && "repaired", sent && `sent back ${sent} times`, withheld && "withheld", cut && `${cut} calls left out`].filter(Boolean);
  return taken.join(", ") || "none";
}

/** Returns the sentences about everything that went wrong or was changed, in the order of time. */
function why(trace) {
  const found = [];
  const add = (tone, text) => found.some((one) => one.text === text) || found.push({ tone, text });
  const last = trace.attempts.at(-1);
  // Turns of earlier versions have no outcome.
  const isRepaired = trace.actions?.repaired || !trace.outcome;
  for (const observation of trace.observed ?? []) {
    if (!observation.again) add("bad", words.observationSentence(observation));
  }
  for (const attempt of trace.attempts) {
    const isOver = attempt !== last || trace.verdict === "corrected";
    if (attempt.outcome !== "success") add(isOver ? "warn" : "bad", words.upstreamSentence(attempt));
    for (const diagnosis of attempt.diagnoses) {
      const outcome = attempt === last ? "" : trace.verdict === "corrected" ? " The model corrected it after feedback." : " It was sent back to the model.";
      add(isOver ? "warn" : "bad", words.faultSentence(diagnosis, attempt.calls[diagnosis.call]) + outcome);
    }
    const isMade = trace.mode === "shadow" ? " Guard mode would have done this." : "";
    if (isMade || isRepaired) attempt.repairs.forEach((repair) => add("good", words.repairSentence(repair, attempt) + isMade));
  }
  for (const execution of trace.executions) {
    if (execution.outcome !== "success") add("bad", words.outcomeSentence(execution) + remedy(execution));
    else if (execution.doubt) add("warn", `The check doubts that the result of ${execution.call.name} is what was requested.`);
  }
  if (trace.actions?.cut) add("warn", `Calls that the client did not get, because they are repeated or the request permits only one: ${trace.actions.cut}.`);
  if (trace.unjudged) add("warn", `The answer was not judged. ${words.UNJUDGED[trace.unjudged] ?? trace.unjudged}`);
  if (trace.outcome === "no_call" && !trace.exhausted) add("warn", "The model made no call after feedback.");
  if (trace.exhausted) add("bad", words.limitSentence(trace.exhausted));
  if (trace.error) add("bad", `The client got an error: ${trace.error}`);
  const title = element("h2", {}, "Why");
  if (!found.length) return [title, element("p", { class: "good" }, "Nothing went wrong in this turn.")];
  return [title, element("ul", { class: "why" }, ...found.map(({ tone, text }) => element("li", { class: tone }, text)))];
}

/** Returns the advice about a call that was not sent. */
function remedy(execution) {
  if (!execution.remedy) return "";
  const [, nothing] = /^none: (.*)$/s.exec(execution.remedy) ?? [];
  return nothing ? ` There is nothing to change: ${nothing}.` : ` What to do: ${execution.remedy}.`;
}

/** Returns the text of a message's content. Results of tools are not part of it. */
function textOf(content) {
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.filter((part) => part?.type !== "tool_result").map((part) => part?.text ?? `(${part?.type ?? "part"})`).join("\n") : "";
}

/** Returns the messages of a request: in Responses they are among the items of its input, which may also be a text. */
function messagesOf({ messages, input } = {}) {
  return [messages, input].find(Array.isArray) ?? (typeof input === "string" ? [{ role: "user", content: input }] : []);
}

/** Returns the last message of a user that has a text. */
export function questionOf(trace) {
  const asked = messagesOf(trace.request).filter((message) => message?.role === "user" && textOf(message.content)).at(-1);
  return asked ? textOf(asked.content) : undefined;
}

/** Returns the text of the answer to the client: of a chat completion, of Responses or of Messages. */
export function answerOf(trace) {
  const { choices, output, content } = trace.answer ?? {};
  if (choices) return textOf(choices[0]?.message?.content) || undefined;
  const parts = Array.isArray(output) ? output.flatMap((item) => item?.content ?? []) : content;
  return textOf(Array.isArray(parts) ? parts.filter((part) => typeof part?.text === "string") : parts) || undefined;
}

const unrecorded = () => element("p", { class: "soft" }, "Not recorded. The policy key record.bodies, serve --record or x-callwright-record: full records texts and values.");

function question(trace) {
  const asked = questionOf(trace);
  if (asked === undefined) return unrecorded();
  const all = element("details", {}, element("summary", {}, `Whole request (messages: ${messagesOf(trace.request).length})`));
  all.addEventListener("toggle", () => all.children.length === 1 && all.append(block("Request", short(JSON.stringify(trace.request, null, 2)))));
  return element("div", {}, element("blockquote", { class: "question" }, short(asked)), all);
}

/** Returns the steps before the first request to the model. */
function before(trace) {
  const lessons = (trace.memory?.lessons ?? []).filter((lesson) => !lesson.withheld);
  return [
    ...lessons.map((lesson) => step("good", "Lesson added to the request", link(lesson.id, ["lesson", lesson.id]))),
    ...(trace.observed ?? []).map(observed),
    ...(trace.plan ? [plan(trace.plan)] : []),
  ];
}

/** Returns requests and executions in the order of their start, each with the feedback that precedes it. */
function stepsOf(trace) {
  const rounds = [...(trace.record ?? [])];
  const sent = (kind, most) => rounds.filter((round) => round.kind === kind).slice(0, most).map((round) => rounds.splice(rounds.indexOf(round), 1)[0]);
  const steps = trace.attempts.map((attempt, at) => {
    const previous = trace.attempts[at - 1];
    const count = Math.max(1, new Set(previous?.diagnoses.map((diagnosis) => diagnosis.call)).size);
    const feedback = attempt.purpose === "static_feedback" ? sent("static", count) : attempt.purpose === "dynamic_feedback" ? sent("dynamic", Math.max(1, previous?.calls.length ?? 1)) : [];
    const label = words.PURPOSES[attempt.purpose] ?? attempt.purpose;
    const tone = attempt.outcome !== "success" || attempt.verdict === "faulty" ? "bad" : attempt.repairs.length ? "warn" : "good";
    return { start: attempt.started_ms, took: attempt.duration_ms, label, tone, shown: [...feedback.map(sentBack), requested(attempt, label, tone, trace, at)] };
  });
  const runs = trace.executions.map((execution) => {
    const tone = execution.outcome === "success" && !execution.explanation ? "good" : "bad";
    return { start: execution.started_ms, took: execution.duration_ms, label: execution.call.name, tone, shown: [executed(execution, tone)] };
  });
  const all = [...steps, ...runs].sort((one, other) => one.start - other.start);
  return rounds.length ? [...all, { start: 0, took: undefined, shown: rounds.map(sentBack) }] : all;
}

function step(tone, title, ...parts) {
  return element("li", { class: tone }, element("h3", {}, title), ...parts);
}

/** Shows what was sent back to the model. */
function sentBack(round) {
  const kind = round.kind === "static" ? "Sent back to the model: the faults of its call" : "Sent back to the model: the failure and its explanation";
  return step("warn", kind, facts([["Call", round.action]]),
    round.observation ? block("Text for the model", short(round.observation)) : unrecorded(),
    ...(round.thought ? [element("p", {}, "The model wrote: ", element("q", {}, short(round.thought)))] : []));
}

function requested(attempt, label, tone, trace, at) {
  const later = trace.attempts[at + 1];
  const calls = attempt.calls.flatMap((call, position) => {
    const diagnoses = attempt.diagnoses.filter((diagnosis) => diagnosis.call === position);
    const repairs = attempt.repairs.filter((repair) => repair.call === position);
    // Models use the id of a call again in later answers.
    const isBetween = ({ started_ms: at }) => at >= attempt.started_ms && (!later || at < later.started_ms);
    const ran = trace.executions.find((execution) => execution.call.id === call.id && isBetween(execution))?.call;
    const corrected = diagnoses.length && later ? later.calls.find((one) => one.name === call.name) ?? later.calls[position] : undefined;
    return [
      block(`Call of ${call.name}`, `${call.name} `, ...marked(call.arguments, diagnoses)),
      ...diagnoses.map((diagnosis) => diagnosed(diagnosis, call)), ...repairs.map(repaired),
      ...(repairs.length && ran ? difference("Difference to the executed call", call, ran) : []),
      ...(corrected ? difference("Difference to the corrected call", call, corrected) : []),
    ];
  });
  const others = attempt.diagnoses.filter((diagnosis) => diagnosis.call >= attempt.calls.length).map((diagnosis) => diagnosed(diagnosis));
  const advice = (attempt.advice ?? []).map((diagnosis) => element("p", { class: "soft" }, "Recorded only: ", words.faultSentence(diagnosis, attempt.calls[diagnosis.call])));
  return step(tone, `${label} (${attempt.upstream})`,
    ...(attempt.outcome === "success" ? [] : [element("p", { class: "bad" }, words.upstreamSentence(attempt))]),
    facts([["Outcome", `${attempt.outcome}${attempt.status ? `, status ${attempt.status}` : ""}`], ["Verdict", attempt.verdict], ["Model", attempt.model],
      ["Duration", `${duration(attempt.duration_ms)}${attempt.first_chunk_ms ? `, first chunk after ${duration(attempt.first_chunk_ms)}` : ""}`],
      ["Tokens", `${number(attempt.usage.prompt_tokens)} in, ${number(attempt.usage.completion_tokens)} out`], ["Request id", attempt.request_id]]), ...calls, ...others, ...advice);
}

/** Shows arguments and marks the faulty members. */
function marked(text, diagnoses) {
  if (!text) return [element("span", { class: "soft" }, "(arguments not recorded; the policy key record.bodies controls this)")];
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return diagnoses.length ? [element("mark", {}, short(text))] : [short(text)];
  }
  if (text.length > MOST) return [short(text)];
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

function diagnosed(diagnosis, call) {
  return element("p", { class: "fault" }, badge(words.findingName({ kind: "fault", name: diagnosis.code }), "bad"), " ", words.faultSentence(diagnosis, call),
    diagnosis.message ? element("span", { class: "soft" }, ` ${diagnosis.message}`) : "", diagnosis.suggestion ? element("span", {}, " Suggestion: ", element("ins", {}, diagnosis.suggestion)) : "");
}

function repaired(repair) {
  const [from, to] = ["from", "to"].map((side) => words.repairSide(repair, side));
  return element("p", {}, badge(words.REPAIRS[repair.kind] ?? repair.kind, "good"), ` ${repair.path} `,
    ...(from === undefined ? [] : [element("del", {}, from), " "]), ...(to === undefined ? [] : [element("ins", {}, to)]));
}

function executed(execution, tone) {
  const reason = words.refusalReason(execution);
  return step(tone, `Call of ${execution.call.name} (${execution.toolset})`,
    ...(execution.outcome === "success" ? [] : [element("p", { class: "bad" }, words.outcomeSentence(execution))]),
    facts([["Operation", execution.operation], ["Outcome", `${execution.outcome}${execution.status ? `, status ${execution.status}` : ""}`], ["Reason", reason], ["Remedy", execution.remedy], ["Duration", duration(execution.duration_ms)],
      ["Approval", execution.approval ? inline([link(execution.approval.status, ["approval", execution.approval.id]), execution.approval.decided_by ? `by ${execution.approval.decided_by}` : ""]) : undefined],
      ["Comment", execution.approval?.comment], ["Doubt", execution.doubt]]),
    ...(execution.call.arguments ? [block(`Arguments of ${execution.call.name}`, ...marked(execution.call.arguments, []))] : []),
    ...(execution.body ? [block("Response of the API", short(execution.body))] : []), ...explained(execution.explanation));
}

function observed(observation) {
  return step("bad", `Failed tool of the client: ${observation.call.name}`, element("p", {}, words.observationSentence(observation)), ...explained(observation.explanation));
}

function explained(explanation) {
  return (explanation?.passages ?? []).map((passage) => element("blockquote", {}, passage.text, " ", element("cite", { class: "soft" }, passage.source ?? passage.locator ?? "")));
}

function answered(trace) {
  const text = answerOf(trace);
  const whole = trace.answer ? element("details", {}, element("summary", {}, "Whole answer"), block("Answer", short(JSON.stringify(trace.answer, null, 2)))) : undefined;
  return step(words.tone(trace.verdict) === "soft" ? "good" : words.tone(trace.verdict), `Answer: ${trace.verdict}`,
    facts([["Status", `${trace.status}`], ["Limit reached", trace.exhausted ? words.limitSentence(trace.exhausted) : undefined], ["Error", trace.error]]),
    ...(text ? [element("blockquote", {}, short(text))] : []), whole);
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
    ...(rows.length ? [drawing, table("Plan", ["Step", "Tool", "Arguments", "State"], rows)] : []));
}
