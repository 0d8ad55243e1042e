// What guarding would have done with the turns that ran in mode shadow.
import { element, empty, facts, heading, table, when } from "./elements.js";
import { get } from "./api.js";

const FATES = [["clean", "Clean"], ["repaired", "Repaired"], ["sent_back", "Sent back to the model"], ["handed_over", "Handed over"]];

/** The table that persuades. */
export async function shadow(_, query) {
  const found = await get(`/admin/shadow?${query}`);
  const all = FATES.reduce((sum, [name]) => sum + (found.calls[name] ?? 0), 0);
  const turns = Object.values(found.modes).reduce((sum, count) => sum + count, 0);
  if (!turns) {
    return [heading("Shadow"), empty("No turn ran in mode shadow. A policy with “mode: shadow” judges and counts, and changes nothing: what it finds appears here.")];
  }
  const share = (count) => (all ? `${((100 * count) / all).toFixed(1)} %` : "");
  const counted = (title, counts) => (Object.keys(counts).length
    ? [element("h2", {}, title), table(title, ["What", "#Calls", "#Of all"], Object.entries(counts).sort(([, one], [, other]) => other - one).map(([name, count]) => [name, `${count}`, share(count)]))] : []);
  const by = (title, rows) => (rows.length ? [element("h2", {}, title), table(title, ["Name", "#Calls", ...FATES.map(([, head]) => `#${head}`)],
    rows.map((row) => [row.name, `${row.calls}`, ...FATES.map(([name]) => `${row[name] ?? 0}`)]))] : []);
  return [heading("Shadow"), element("p", { class: "headline" }, `Guarding ${found.headline}.`),
    facts([["Turns", `${turns}${found.more ? ", the newest" : ""}`], ["Since", when(found.since)]]),
    table("What would have become of the calls", ["Calls", "#Count", "#Share"], FATES.map(([name, head]) => [head, `${found.calls[name] ?? 0}`, share(found.calls[name] ?? 0)])),
    ...counted("Faults", found.diagnoses), ...counted("Repairs", found.repairs), ...by("By tool", found.tools), ...by("By model", found.models),
    ...found.notes.map((note) => element("p", { class: "soft" }, note))];
}
