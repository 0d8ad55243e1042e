// Lists of turns and of sessions, and one session as a thread.
import { badge, duration, element, empty, field, filter, heading, inline, link, money, next, number, table, when } from "./elements.js";
import { get } from "./api.js";
import { rangeChoice, rangeKept, rangeOf, rangeQuery } from "./range.js";
import { answerOf, questionOf } from "./turn.js";
import { FAULTS, findingName, findingTone, LIMITS, OUTCOMES, REFUSALS, REPAIRS, tone, UPSTREAM, VERDICT_ORDER } from "./words.js";

/** Members of the query that are filters of the API. */
const FILTERS = ["text", "verdict", "finding", "tool", "model", "session", "key", "policy", "mode", "status", "cursor"];

/** Maximum number of findings and tools in a row. */
const SHOWN = 3;

/** Number of turns of a session on one page. */
const THREAD = 20;

function findingChoices(current) {
  const of = (kind, names) => Object.keys(names).map((name) => [`${kind}:${name}`, findingName({ kind, name })]);
  const known = [...of("fault", FAULTS), ...of("execution", OUTCOMES), ...of("refusal", REFUSALS), ...of("upstream", UPSTREAM), ...of("limit", LIMITS), ...of("repair", REPAIRS), ...of("shadow_repair", REPAIRS)];
  return [["", "any"], ...known, ...(current && !known.some(([key]) => key === current) ? [[current, current]] : [])];
}

function findings(list) {
  const names = [...new Map(list.map((finding) => [findingName(finding), findingTone(finding)]))];
  return inline([...names.slice(0, SHOWN).map(([name, toneOf]) => badge(name, toneOf)), ...(names.length > SHOWN ? [`and ${names.length - SHOWN} more`] : [])]);
}

function names(list) {
  return `${list.slice(0, SHOWN).join(", ")}${list.length > SHOWN ? ` and ${list.length - SHOWN} more` : ""}`;
}

/** Shows a filtered list of turns, newest first. */
export async function turns(_, query) {
  const page = await get(`/admin/traces?${rangeQuery(query, FILTERS)}`);
  const value = (name) => query.get(name) ?? "";
  const form = filter("Filter turns", "turns", query,
    field("text", "Text in the recorded conversation", value("text"), undefined, 24), field("verdict", "Verdict", value("verdict"), ["", ...VERDICT_ORDER]),
    field("finding", "Finding", value("finding"), findingChoices(value("finding"))), field("tool", "Tool", value("tool")), field("model", "Model", value("model")),
    element("details", ["session", "key", "policy", "mode", "status"].some((name) => query.get(name)) ? { open: "" } : {}, element("summary", {}, "More filters"),
      element("div", { class: "filter" }, field("session", "Session", value("session")), field("key", "Key", value("key")), field("policy", "Policy", value("policy")), field("mode", "Mode", value("mode"), ["", "guard", "shadow", "off"]), field("status", "Status", value("status")))));
  const rows = page.traces.map((trace) => [
    link(when(trace.started_at), ["turn", trace.id]), badge(trace.verdict, tone(trace.verdict)),
    trace.question ? link(trace.question, ["turn", trace.id]) : element("span", { class: "soft" }, "not recorded"),
    names(trace.tools), findings(trace.findings), element("span", { class: trace.status >= 400 ? "bad" : "" }, `${trace.status}`), `${trace.attempts}`,
    number(trace.input_tokens + trace.output_tokens), duration(trace.duration_ms), trace.model,
    trace.session ? link("thread", ["session", trace.session]) : "",
  ]);
  const searched = page.examined === undefined ? [] : [element("p", { class: "soft", role: "status" }, `Searched ${number(page.examined)} turns.${page.next ? " Older turns were not searched yet." : ""}`)];
  return [heading("Turns"), rangeChoice("turns", query), form, ...searched,
    rows.length ? table("Turns, newest first", ["Arrived", "Verdict", "Question", "Tools", "Findings", "#Status", "#Requests", "#Tokens", "#Time", "Model", "Session"], rows)
      : empty("No matching turn in this time range. Set the base URL of an OpenAI client to the client listener, and its turns appear here."), ...next("turns", query, page, "cursor", "Older turns")];
}

/** Shows the sessions of a time range. */
export async function sessions(_, query) {
  const page = await get(`/admin/sessions?${rangeQuery(query, ["cursor"])}`);
  const kept = rangeKept(query);
  const rows = page.sessions.map((one) => [link(one.session, ["session", one.session], kept), when(one.first_at), when(one.last_at), number(one.turns),
    inline(Object.entries(one.verdicts).map(([verdict, count]) => badge(`${verdict} ${number(count)}`, tone(verdict)))), number(one.tokens)]);
  return [heading("Sessions"), rangeChoice("sessions", query), rows.length ? table("Sessions, newest turn first", ["Session", "First turn", "Last turn", "#Turns", "Verdicts", "#Tokens"], rows)
    : empty("No session in this time range. A session comes from the header field x-callwright-session, or from the conversation of a client key."), ...next("sessions", query, page, "cursor", "Older sessions")];
}

/** Shows a session as a thread, oldest turn of the page first. */
export async function session(id, query) {
  const values = new URLSearchParams({ session: id, limit: THREAD });
  if (query.get("cursor")) values.set("cursor", query.get("cursor"));
  if (query.get("since") || query.get("range")) values.set("since", rangeOf(query).since);
  const page = await get(`/admin/traces?${values}`);
  const traces = await Promise.all(page.traces.map((one) => get(`/admin/traces/${encodeURIComponent(one.id)}`).catch(() => undefined)));
  const shown = page.traces.map((one, at) => message(one, traces[at])).reverse();
  return [heading("Session"), element("p", { class: "soft" }, id), ...next(`session/${encodeURIComponent(id)}`, query, page, "cursor", "Earlier turns"),
    shown.length ? element("ol", { class: "thread" }, ...shown) : empty("The session has no turn in this time range.")];
}

function message(summary, trace) {
  const question = (trace && questionOf(trace)) ?? summary.question;
  const answer = trace && answerOf(trace);
  const calls = (trace?.attempts ?? []).flatMap((attempt) => attempt.calls.map((call) => call.name));
  return element("li", {},
    element("p", { class: "soft" }, link(when(summary.started_at), ["turn", summary.id]), " ", badge(summary.verdict, tone(summary.verdict)), ` ${duration(summary.duration_ms)}, ${number(summary.input_tokens + summary.output_tokens)} tokens${summary.cost === undefined ? "" : `, ${money(summary.cost)}`}`),
    question ? element("blockquote", { class: "question" }, question) : element("p", { class: "soft" }, "Question not recorded."),
    ...(calls.length ? [element("p", {}, "Calls: ", names([...new Set(calls)]))] : []), ...(summary.findings.length ? [element("p", {}, findings(summary.findings))] : []),
    ...(answer ? [element("blockquote", {}, answer)] : []));
}
