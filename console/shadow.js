// Results of turns in shadow mode: the effect that guarding would have had.
import { element, empty, facts, heading, table, when } from "./elements.js";
import { get } from "./api.js";
import { rangeChoice, rangeQuery } from "./range.js";

const FATES = [["clean", "Clean"], ["repaired", "Repaired"], ["sent_back", "Sent back to the model"], ["handed_over", "Handed over"]];

/** Shows counts of faults and repairs by tool and model. */
export async function shadow(_, query) {
  const found = await get(`/admin/shadow?${rangeQuery(query, ["policy", "limit"])}`);
  const all = FATES.reduce((sum, [name]) => sum + (found.calls[name] ?? 0), 0);
  const turns = Object.values(found.modes).reduce((sum, count) => sum + count, 0);
  if (!turns) {
    return [heading("Shadow"), rangeChoice("shadow", query), empty("No turn in shadow mode in this time range. A policy with “mode: shadow” judges and counts calls without changing answers.")];
  }
  const share = (count) => (all ? `${((100 * count) / all).toFixed(1)} %` : "");
  const counted = (title, head, counts) => (Object.keys(counts).length
    ? [element("h2", {}, title), table(title, [head, "#Calls", "#Share"], Object.entries(counts).sort(([, one], [, other]) => other - one).map(([name, count]) => [name, `${count}`, share(count)]))] : []);
  const by = (title, rows) => (rows.length ? [element("h2", {}, title), table(title, ["Name", "#Calls", ...FATES.map(([, head]) => `#${head}`)],
    rows.map((row) => [row.name, `${row.calls}`, ...FATES.map(([name]) => `${row[name] ?? 0}`)]))] : []);
  return [heading("Shadow"), rangeChoice("shadow", query), element("p", { class: "headline" }, `Guarding ${found.headline}.`),
    facts([["Turns", `${turns}${found.more ? " (newest only)" : ""}`], ["Since", when(found.since)]]),
    table("Outcomes of the calls", ["Outcome", "#Count", "#Share"], FATES.map(([name, head]) => [head, `${found.calls[name] ?? 0}`, share(found.calls[name] ?? 0)])),
    ...counted("Faults", "Fault", found.diagnoses), ...counted("Repairs", "Repair", found.repairs), ...by("By tool", found.tools), ...by("By model", found.models),
    ...found.notes.map((note) => element("p", { class: "soft" }, note))];
}
