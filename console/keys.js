// Virtual keys with their budgets and usage.
import { badge, drawn, element, empty, facts, field, filter, heading, inline, link, money, number, table, when } from "./elements.js";
import { get } from "./api.js";

const TONES = { active: "good", expired: "warn", revoked: "bad" };

/** Share of a limit from which it is shown as nearly reached. */
const NEAR = 0.8;

/** Maximum number of keys on a page. */
const PAGE = 100;

/** Returns the budget and the cost that counts against it. */
function budgets(key) {
  const budget = key.limits?.budget;
  const period = budget?.period === "day" ? key.usage?.day : key.usage?.month;
  return budget?.amount ? [[`Budget of the ${budget.period}`, period?.cost ?? 0, budget.amount, money]] : [];
}

function meter(label, used, limit, format) {
  const share = limit ? used / limit : 0;
  const tone = share >= 1 ? "bad" : share >= NEAR ? "warn" : "good";
  const image = drawn("svg", { viewBox: "0 0 100 8", class: "meter", role: "img", "aria-label": `${label}: ${format(used)} of ${format(limit)}` },
    drawn("rect", { x: 0, y: 0, width: 100, height: 8, rx: 3, class: "ground" }), drawn("rect", { x: 0, y: 0, width: Math.min(100, Math.max(1, 100 * share)), height: 8, rx: 3, class: `bar ${tone}` }));
  return element("span", { class: "metered" }, image, ` ${format(used)} of ${format(limit)}`);
}

const used = (usage) => (usage ? `${number(usage.requests)} requests, ${number(usage.tokens)} tokens${usage.cost ? `, ${money(usage.cost)}` : ""}` : "");

/** Shows the keys. */
export async function keys(_, query) {
  const request = new URLSearchParams([...query].filter(([name]) => ["group", "state"].includes(name)));
  const { keys: all } = await get(`/admin/keys?${request}`);
  const from = Number.parseInt(query.get("after") ?? "0", 10) || 0;
  const form = filter("Filter keys", "keys", query, field("group", "Group", query.get("group") ?? ""), field("state", "State", query.get("state") ?? "", ["", ...Object.keys(TONES)]));
  const rows = all.slice(from, from + PAGE).map((key) => [link(key.name, ["key", key.id]), key.group, badge(key.state, TONES[key.state]),
    inline(budgets(key).map((one) => meter(...one))), used(key.usage?.day), used(key.usage?.month), when(key.expires_at)]);
  const more = all.length > from + PAGE ? [element("p", {}, link("More keys", ["keys"], { ...Object.fromEntries(query), after: from + PAGE }))] : [];
  return [heading("Keys"), form, rows.length ? table("Virtual keys in the order of creation", ["Key", "Group", "State", "Budget", "Today", "This month", "Expires"], rows)
    : empty("No matching key. Keys are created with POST /admin/keys or callwright keys create, and used if keys.mode is required."), ...more];
}

/** Shows one key: its limits, budgets and usage. */
export async function key(id) {
  const one = await get(`/admin/keys/${encodeURIComponent(id)}`);
  const limits = Object.entries(one.limits ?? {}).filter(([name, value]) => name !== "budget" && value > 0);
  const usage = [["Today", one.usage?.day], ["This month", one.usage?.month]].filter(([, period]) => period);
  const prefixes = (one.prefixes ?? []).map((prefix) => [prefix.prefix, when(prefix.created_at), when(prefix.valid_until)]);
  return [heading(`Key ${one.name}`), facts([["State", badge(one.state, TONES[one.state])], ["Group", one.group], ["Policy", one.policy ? link(one.policy, ["policy", one.policy]) : ""], ["Models", (one.models ?? []).join(", ") || "all"],
    ["Created", when(one.created_at)], ["Expires", when(one.expires_at)], ["Revoked", when(one.revoked_at)], ["Requests in progress", one.usage?.under_way === undefined ? undefined : number(one.usage.under_way)],
    ["Turns", link("turns of this key", ["turns"], { key: one.id, range: "30d" })], ...budgets(one).map(([label, ...rest]) => [label, meter(label, ...rest)])]),
    element("h2", {}, "Usage"), usage.length ? table("Usage by period", ["Period", "#Requests", "#Tokens", "#Cost"], usage.map(([period, sum]) => [period, number(sum.requests), number(sum.tokens), money(sum.cost)])) : empty("No usage yet."),
    element("h2", {}, "Limits"), limits.length ? table("Limits", ["Limit", "#Value"], limits.map(([name, value]) => [name.replaceAll("_", " "), number(value)])) : empty("The key has no limits of its own."),
    element("h2", {}, "Secrets"), prefixes.length ? table("Secrets", ["Prefix", "Created", "Valid until"], prefixes) : empty("The key has no secret.")];
}
