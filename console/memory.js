// Lessons and procedures: their text, their evidence, and their effect.
import { badge, block, button, element, empty, facts, heading, inline, link, next, number, table, when } from "./elements.js";
import { get, post } from "./api.js";

/** Maximum characters of a text in a list. */
const EXCERPT = 160;

const excerpt = (text) => (text.length > EXCERPT ? `${text.slice(0, EXCERPT - 1)}…` : text);

const state = (one) => (one.retired ? badge("retired", "soft") : badge("in use", "good"));

/** Returns the share of turns with an item that failed, compared with those without it. */
function effect({ tally }) {
  if (!tally?.uses) return "not shown yet";
  const rate = (hurt, uses) => `${((100 * hurt) / uses).toFixed(0)} % of ${number(uses)} turns failed`;
  return tally.withheld ? `${rate(tally.hurt, tally.uses)} with it, ${rate(tally.withheld_hurt, tally.withheld)} without it` : `${rate(tally.hurt, tally.uses)} with it`;
}

/** Shows the lessons. */
export async function lessons(_, query) {
  const page = await get(`/admin/lessons?${query}`);
  const rows = page.items.map((one) => [link(excerpt(one.value), ["lesson", one.id]), excerpt(one.key), inline(one.tools.map((tool) => badge(tool))), badge(one.polarity === "negative" ? "mistake" : "success", one.polarity === "negative" ? "warn" : "good"),
    state(one), `${one.evidence.length}`, effect(one)]);
  return [heading("Lessons"), rows.length ? table("Lessons, oldest first", ["Lesson", "When it is recalled", "Tools", "Learned from", "Status", "#Evidence", "Effect"], rows)
    : empty("No lessons yet. A lesson comes from a corrected mistake or a verified success."), ...next("lessons", query, page)];
}

/** Shows the procedures. */
export async function procedures(_, query) {
  const page = await get(`/admin/procedures?${query}`);
  const rows = page.items.map((one) => [link(excerpt(one.output), ["procedure", one.id]), `${(one.steps ?? []).length}`, state(one), `${one.evidence.length}`, effect(one)]);
  return [heading("Procedures"), rows.length ? table("Procedures, oldest first", ["Result", "#Steps", "Status", "#Evidence", "Effect"], rows)
    : empty("No procedures yet. A procedure comes from several calls with a verified result."), ...next("procedures", query, page)];
}

/** Shows one lesson. `show` shows the view again. */
export function lesson(id, show) {
  return learned("lessons", id, "Lesson", show, (one) => ({
    parts: [element("h2", {}, "What models read"), block("Lesson", one.value), element("h2", {}, "When it is recalled"), block("Key of the lesson", one.key), element("h2", {}, "Facts")],
    pairs: [["Tools", inline(one.tools.map((tool) => link(tool, ["turns"], { tool })))], ["Learned from", one.polarity === "negative" ? "a mistake" : "a success"], ["Author", one.author]],
  }));
}

/** Shows one procedure. `show` shows the view again. */
export function procedure(id, show) {
  return learned("procedures", id, "Procedure", show, (one) => ({
    parts: [element("h2", {}, "Result"), element("p", {}, one.output), element("h2", {}, "Steps"), element("ol", {}, ...(one.steps ?? []).map((step) => element("li", {}, step))), element("h2", {}, "Facts")],
    pairs: [["Inputs", (one.input ?? []).map((input) => input.name).join(", ")]],
  }));
}

async function learned(kind, id, name, show, describe) {
  const path = `/admin/${kind}/${encodeURIComponent(id)}`;
  const one = await get(path);
  const reason = element("input", { name: "reason", size: 40 });
  const act = (verb) => async () => {
    await post(`${path}/${verb}`, reason.value ? { reason: reason.value } : {});
    await show();
  };
  const evidence = one.evidence.map((event) => [event.kind, event.trace ? link(event.trace, ["turn", event.trace]) : event.source ?? "", when(event.at)]);
  const { parts, pairs } = describe(one);
  return [heading(name), ...parts, facts([...pairs, ["Scope", one.scope], ["Status", one.retired ? `retired ${when(one.retired.at)}: ${one.retired.reason}` : "in use"], ["Effect", effect(one)]]),
    element("h2", {}, "Evidence"), evidence.length ? table("Verified outcomes", ["Verified by", "Turn", "When"], evidence) : empty("No evidence is left."),
    element("h2", {}, "Your opinion"), element("div", { class: "actions" }, element("label", {}, "Reason", reason),
      one.retired ? button("Use it again", act("approve")) : button("Approve", act("approve")), one.retired ? "" : button("Retire", act("retire"), true))];
}
