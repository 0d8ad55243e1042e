// The console: a user interface for the data at /admin and /metrics of the operator listener. Text from users, models and APIs becomes text nodes,
// never markup.
import { button, duration, element, empty, facts, field, heading, next, table, when } from "./elements.js";
import { get, post } from "./api.js";
import { policies, policy } from "./policies.js";
import { shadow } from "./shadow.js";
import { tool, tools, toolset } from "./tools.js";
import { timeline } from "./turn.js";

const main = document.getElementById("main");
const VIEWS = { turns, turn, approvals, approval, tools, tool, toolset, lessons, lesson, procedures, procedure, policies, policy, shadow, switch: killSwitch };

/** Section of each detail view. */
const SECTIONS = { turn: "turns", approval: "approvals", tool: "tools", toolset: "tools", lesson: "lessons", procedure: "procedures", policy: "policies" };

/** Refresh interval of the list of turns, in milliseconds. */
const REFRESH = 3000;

/** Refresh interval of the alarm bar, in milliseconds. */
const ALARM = 5000;

let refreshing;

async function show() {
  clearTimeout(refreshing);
  const [path, query] = (location.hash.slice(2) || "turns").split("?");
  const [name, id, further] = path.split("/").map(decodeURIComponent);
  const section = SECTIONS[name] ?? name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#/${section}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const view = VIEWS[name] ?? turns;
  await render(() => view(id, new URLSearchParams(query), further));
  main.focus({ preventScroll: true });
}

/** Shows a view, or its error. Shows nothing if the user has left the page or `interrupts` holds. */
async function render(view, interrupts = () => false) {
  const at = location.hash;
  try {
    const shown = await view();
    if (location.hash === at && !interrupts()) main.replaceChildren(...shown);
  } catch (error) {
    if (location.hash === at) main.replaceChildren(heading("Error"), element("p", { class: "alarm", role: "alert" }, error.message));
  }
}

/** Updates the bar above all views (degraded parts) and the count of pending approvals. */
async function alarm() {
  const bar = document.getElementById("alarm");
  const pending = document.getElementById("pending");
  try {
    const [ready, waiting] = await Promise.all([get("/readyz"), get("/admin/approvals?status=pending&limit=100")]);
    const troubles = (ready.degraded ?? []).map((part) => `${part.part}: ${part.reason}`);
    bar.textContent = troubles.join(" · ");
    bar.hidden = troubles.length === 0;
    pending.textContent = `${waiting.approvals.length}`;
    pending.hidden = waiting.approvals.length === 0;
  } catch (error) {
    bar.textContent = `The proxy does not answer: ${error.message}`;
    bar.hidden = false;
  }
}

const TONES = { clean: "good", repaired: "good", corrected: "good", faulty: "bad", refused: "bad", failed: "bad", unguarded: "warn" };

async function turns(_, query) {
  const page = await get(`/admin/traces?${query}`);
  const fields = [["verdict", "Verdict", ["", ...Object.keys(TONES), "text"]], ["tool", "Tool"], ["model", "Model"], ["session", "Session"], ["key", "Key"], ["policy", "Policy"], ["mode", "Mode", ["", "guard", "shadow", "off"]], ["status", "Status"]];
  const filter = element("form", { class: "filter", "aria-label": "Filter turns" },
    ...fields.map(([name, label, choices]) => field(name, label, query.get(name) ?? "", choices)),
    element("button", {}, "Filter"));
  filter.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = [...new FormData(filter)].filter(([, value]) => value !== "");
    location.hash = `#/turns?${new URLSearchParams(values)}`;
  });
  const rows = page.traces.map((trace) => [
    element("a", { href: `#/turn/${encodeURIComponent(trace.id)}` }, when(trace.started_at)),
    element("span", { class: TONES[trace.verdict] ?? "" }, trace.verdict), trace.model, trace.policy, trace.mode, trace.upstream,
    `${trace.status}`, duration(trace.duration_ms),
  ]);
  if (!query.get("cursor")) refresh();
  return [heading("Turns"), filter,
    rows.length ? table("Turns, newest first", ["Arrived", "Verdict", "Model", "Policy", "Mode", "Upstream", "#Status", "#Time"], rows)
      : empty("No matching turn. Set the base URL of an OpenAI client to the client listener, and its turns appear here."), ...next("turns", query, page, "cursor", "Older turns")];
}

/** Refreshes the list, unless the focus is in the filter or on a row. */
function refresh() {
  const isBusy = () => main.contains(document.activeElement) && document.activeElement !== main;
  refreshing = setTimeout(() => (isBusy() ? refresh() : render(() => turns(undefined, query()), isBusy)), REFRESH);
}

function query() {
  return new URLSearchParams(location.hash.split("?")[1]);
}

async function turn(id) {
  const trace = await get(`/admin/traces/${encodeURIComponent(id)}`);
  const mark = (verdict) => button(verdict === "good" ? "Mark as correct" : "Mark as wrong", async () => {
    await post(`/admin/traces/${encodeURIComponent(id)}/mark`, { verdict });
    return `Marked as ${verdict}. Lessons from this turn are rated accordingly.`;
  }, verdict === "bad");
  return [heading("Turn"), ...timeline(trace), element("h2", {}, "Your verdict"), element("div", { class: "actions" }, mark("good"), mark("bad"))];
}

async function approvals() {
  const page = await get("/admin/approvals?limit=100");
  const rows = page.approvals.map((one) => [
    element("a", { href: `#/approval/${encodeURIComponent(one.id)}` }, when(one.created_at)),
    element("span", { class: one.status === "pending" ? "warn" : "soft" }, one.status), `${one.toolset}/${one.tool}`, `${one.method} ${one.target ?? ""}`, one.decided_by ?? "",
  ]);
  return [heading("Approvals"), rows.length ? table("Calls that require approval, newest first", ["Requested", "Status", "Tool", "Call", "Decided by"], rows)
    : empty("No calls require approval. Policies define which do: execute.rules with the permission approve.")];
}

async function approval(id) {
  const one = await get(`/admin/approvals/${encodeURIComponent(id)}`);
  const by = element("input", { name: "by", autocomplete: "name" });
  const comment = element("input", { name: "comment", size: 40 });
  const decide = (verb) => async () => {
    const body = Object.fromEntries([["by", by.value], ["comment", comment.value]].filter(([, text]) => text));
    await post(`/admin/approvals/${encodeURIComponent(id)}/${verb}`, body);
    await alarm();
    await show();
  };
  const decision = one.status !== "pending" ? [] : [element("h2", {}, "Decide"), element("div", { class: "actions" },
    element("label", {}, "Your name", by), element("label", {}, "Comment, for the model", comment),
    button("Approve", decide("approve")), button("Deny", decide("deny"), true))];
  return [heading("Approval"), facts([["Status", one.status], ["Tool", `${one.toolset}/${one.tool}`], ["Operation", one.operation], ["Request", `${one.method} ${one.target ?? ""}`],
    ["Requested", when(one.created_at)], ["Expires", when(one.expires_at)], ["Decided by", one.decided_by], ["Comment", one.comment]]),
    element("h2", {}, "Arguments"), element("pre", {}, JSON.stringify(one.arguments, null, 2) ?? ""),
    element("p", {}, element("a", { href: `#/turn/${encodeURIComponent(one.trace)}` }, "Show the turn")), ...decision];
}

const learnedRow = (kind, one, text) => [
  element("a", { href: `#/${kind}/${encodeURIComponent(one.id)}` }, text), one.retired ? element("span", { class: "soft" }, "retired") : element("span", { class: "good" }, "in use"),
  one.scope, `${one.evidence.length}`, `${one.tally?.uses ?? 0}`, `${one.tally?.helped ?? 0}`, `${one.tally?.hurt ?? 0}`,
];
const LEARNED = ["Status", "Scope", "#Evidence", "#Shown", "#Helped", "#Hurt"];

async function lessons(_, query) {
  const page = await get(`/admin/lessons?${query}`);
  return [heading("Lessons"), page.items.length
    ? table("Lessons, oldest first", ["Lesson", ...LEARNED], page.items.map((one) => learnedRow("lesson", one, one.value)))
    : empty("No lessons yet. A lesson comes from a corrected mistake or a verified success."), ...next("lessons", query, page)];
}

async function procedures(_, query) {
  const page = await get(`/admin/procedures?${query}`);
  return [heading("Procedures"), page.items.length
    ? table("Procedures, oldest first", ["Output", ...LEARNED], page.items.map((one) => learnedRow("procedure", one, one.output)))
    : empty("No procedures yet. A procedure comes from several calls with a verified result."), ...next("procedures", query, page)];
}

function lesson(id) {
  return learned("lessons", id, "Lesson", (one) => [["Key", one.key], ["Value", one.value], ["Tools", one.tools.join(", ")], ["Learned from", one.polarity === "negative" ? "a mistake" : "a success"], ["Author", one.author]]);
}

function procedure(id) {
  return learned("procedures", id, "Procedure", (one) => [["Output", one.output], ["Inputs", (one.input ?? []).map((input) => input.name).join(", ")], ["Steps", (one.steps ?? []).join("\n")]]);
}

async function learned(kind, id, title, describe) {
  const path = `/admin/${kind}/${encodeURIComponent(id)}`;
  const one = await get(path);
  const reason = element("input", { name: "reason", size: 40 });
  const act = (verb) => async () => {
    await post(`${path}/${verb}`, reason.value ? { reason: reason.value } : {});
    await show();
  };
  const evidence = one.evidence.map((event) => [event.kind, event.trace ? element("a", { href: `#/turn/${encodeURIComponent(event.trace)}` }, event.trace) : event.source ?? "", when(event.at)]);
  return [heading(title), facts([...describe(one), ["Scope", one.scope], ["Status", one.retired ? `retired ${when(one.retired.at)}: ${one.retired.reason}` : "in use"],
    ["Turns with it", `${one.tally?.uses ?? 0}, of which ${one.tally?.hurt ?? 0} failed`], ["Turns without it", `${one.tally?.withheld ?? 0}, of which ${one.tally?.withheld_hurt ?? 0} failed`]]),
    element("h2", {}, "Evidence"), evidence.length ? table("Verified outcomes", ["Verified by", "Turn", "When"], evidence) : empty("No evidence is left."),
    element("h2", {}, "Your opinion"), element("div", { class: "actions" }, element("label", {}, "Reason", reason),
      one.retired ? button("Use it again", act("approve")) : button("Approve", act("approve")), one.retired ? "" : button("Retire", act("retire"), true))];
}

async function killSwitch() {
  const state = await get("/admin/switch");
  const reason = element("input", { name: "reason", size: 40 });
  const set = (off, policy) => async () => {
    await post("/admin/switch", { off, ...(policy ? { policy } : {}), ...(off ? { reason: reason.value } : {}) });
    await alarm();
    await show();
  };
  const policies = Object.entries(state.policies).map(([name, off]) => [name, when(off.at), off.reason, button("Turn on", set(false, name))]);
  const all = state.everything
    ? [element("p", { class: "bad" }, `Guarding is off since ${when(state.everything.at)}. ${state.everything.reason}`), button("Turn guarding on", set(false))]
    : [element("p", {}, "Guarding is on: turns are processed by their policies. When it is off, new turns of this process pass through unchanged; nothing is judged, repaired or executed."),
      element("div", { class: "actions" }, element("label", {}, "Reason", reason), button("Turn guarding off", set(true), true))];
  return [heading("Kill switch"), ...all, ...(policies.length ? [element("h2", {}, "Policies that are off"), table("Policies that are off", ["Policy", "Since", "Reason", ""], policies)] : [])];
}

addEventListener("hashchange", show);
show();
setInterval(alarm, ALARM);
alarm();
