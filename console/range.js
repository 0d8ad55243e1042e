// The time range of a view. It is part of the query, so that links and reloads keep it.
import { element } from "./elements.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Ranges up to now: key, label, length. */
const PRESETS = [["15m", "15 minutes", 15 * MINUTE], ["1h", "hour", HOUR], ["6h", "6 hours", 6 * HOUR], ["24h", "24 hours", DAY], ["7d", "7 days", 7 * DAY], ["30d", "30 days", 30 * DAY]];

/** Range of a view whose query has none. */
const USUAL = "24h";

/** Choice without a range, for views that show everything unless a range is chosen. */
export const WHOLE = "any";

/** Maximum number of bars of a chart. */
const BARS = 48;

/** Returns the range of a query: its beginning and, if it does not end now, its end; neither if it is unlimited. */
export function rangeOf(query, usual = USUAL) {
  const [since, until] = [new Date(query.get("since") ?? ""), new Date(query.get("until") ?? "")];
  if (!Number.isNaN(since.getTime())) {
    return { since: since.toISOString(), until: Number.isNaN(until.getTime()) ? undefined : until.toISOString() };
  }
  const known = (name) => PRESETS.find(([key]) => key === name);
  const [, , length] = known(query.get("range")) ?? known(usual) ?? [];
  if (length === undefined) return {};
  return { since: new Date(Date.now() - length).toISOString(), until: undefined };
}

/** Returns the query of a request for the range of a view, with the members of the view's query named in `kept`. */
export function rangeQuery(query, kept = [], usual = USUAL) {
  const request = new URLSearchParams(Object.entries(rangeOf(query, usual)).filter(([, time]) => time));
  for (const name of kept) {
    if (query.get(name)) request.set(name, query.get(name));
  }
  return request;
}

/** Returns the members of a query that choose the range, for links to other views. */
export function rangeKept(query) {
  return Object.fromEntries(["range", "since", "until"].filter((name) => query.get(name)).map((name) => [name, query.get(name)]));
}

/** Returns the number of intervals for charts. */
export function bars() {
  return matchMedia("(max-width: 640px)").matches ? BARS / 2 : BARS;
}

/** Creates the choice of the range. */
export function rangeChoice(view, query, usual = USUAL) {
  const own = query.get("since") !== null;
  const chosen = own ? "" : query.get("range") ?? usual;
  const target = (change) => {
    const values = new URLSearchParams(query);
    for (const dropped of ["range", "since", "until", "cursor", "after", "before"]) values.delete(dropped);
    for (const [name, value] of Object.entries(change)) values.set(name, value);
    return `#/${view}?${values}`;
  };
  const choice = (key, label) => element("a", { href: target({ range: key }), "aria-current": key === chosen ? "true" : undefined }, label);
  const links = PRESETS.map(([key, label]) => choice(key, label));
  const local = (text) => {
    if (!text) return "";
    const at = new Date(text);
    return Number.isNaN(at.getTime()) ? "" : new Date(at.getTime() - at.getTimezoneOffset() * MINUTE).toISOString().slice(0, 16);
  };
  const input = (name, label, value) => element("label", {}, label, element("input", { type: "datetime-local", name, value }));
  const form = element("form", { class: "filter", "aria-label": "Other time range" }, input("since", "From", local(query.get("since"))), input("until", "To", local(query.get("until"))), element("button", {}, "Apply"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = [...new FormData(form)].filter(([, value]) => value).map(([name, value]) => [name, new Date(value).toISOString()]);
    if (values.some(([name]) => name === "since")) location.hash = target(Object.fromEntries(values));
  });
  return element("div", { class: "range", role: "group", "aria-label": "Time range" }, element("span", { class: "soft" }, "Last"), ...links,
    ...(usual === WHOLE ? [choice(WHOLE, "Any time")] : []),
    element("details", own ? { open: "" } : {}, element("summary", {}, "Other"), form));
}
