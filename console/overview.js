// The state of the proxy at a glance: turns, durations, tokens and what went wrong in a time range.
import { badge, duration, element, empty, heading, link, money, number, percent, table } from "./elements.js";
import { get } from "./api.js";
import { bars as barCount, rangeChoice, rangeKept, rangeQuery } from "./range.js";
import { bars, lines } from "./chart.js";
import { findingName, tone, VERDICT_ORDER, VERDICTS } from "./words.js";

function tile(label, value, note, toneOf, href) {
  const shown = href ? element("a", { href }, value) : value;
  return element("div", { class: `tile ${toneOf ?? ""}` }, element("dt", {}, label), element("dd", {}, shown), note ? element("dd", { class: "soft" }, note) : undefined);
}

/** Shows the overview of a time range. */
export async function overview(_, query) {
  const request = rangeQuery(query);
  request.set("buckets", barCount());
  const [found, ready] = await Promise.all([get(`/admin/overview?${request}`), get("/readyz")]);
  const { total, buckets } = found;
  const kept = rangeKept(query);
  const degraded = ready.degraded ?? [];
  const wrong = ["faulty", "failed", "refused"].reduce((sum, verdict) => sum + (total.verdicts[verdict] ?? 0), 0);
  const helped = ["repaired", "corrected"].reduce((sum, verdict) => sum + (total.verdicts[verdict] ?? 0), 0);
  const tiles = element("dl", { class: "tiles" },
    tile("Turns", number(total.turns), found.truncated ? "the newest of the range" : undefined),
    tile("Repaired or corrected", number(helped), percent(helped, total.turns), helped ? "good" : ""),
    tile("Faulty, failed or refused", number(wrong), percent(wrong, total.turns), wrong ? "bad" : "good"),
    tile("Status 500 or more", number(total.errors), percent(total.errors, total.turns), total.errors ? "bad" : "good"),
    tile("Overhead", total.overhead_ms ? duration(total.overhead_ms.p50) : "–", total.overhead_ms ? `95th percentile ${duration(total.overhead_ms.p95)}` : undefined),
    tile("Upstream time", total.upstream_ms ? duration(total.upstream_ms.p50) : "–", total.upstream_ms ? `95th percentile ${duration(total.upstream_ms.p95)}` : undefined),
    tile("Tokens", number(total.input_tokens + total.output_tokens), `${number(total.input_tokens)} in, ${number(total.output_tokens)} out`),
    tile("Cost", total.cost === undefined ? "–" : money(total.cost), total.cost === undefined ? "no prices in the configuration" : undefined),
    tile("Waiting approvals", number(found.approvals_pending), undefined, found.approvals_pending ? "warn" : "good", "#/approvals"),
    tile("Degraded parts", degraded.length ? degraded.map((part) => part.part).join(", ") : "none", degraded.map((part) => part.reason).join(" "), degraded.length ? "bad" : "good"));
  if (!total.turns) {
    return [heading("Overview"), rangeChoice("overview", query), tiles, empty("No turn in this time range. Set the base URL of an OpenAI client to the client listener, and its turns appear here.")];
  }
  const present = [...VERDICT_ORDER.filter((verdict) => total.verdicts[verdict]), ...Object.keys(total.verdicts).filter((verdict) => !(verdict in VERDICTS))];
  const verdicts = present.map((verdict) => ({ name: verdict, tone: `v-${verdict in VERDICTS ? verdict : "other"}`, values: buckets.map((bucket) => bucket.verdicts[verdict] ?? 0) }));
  const quantiles = (member) => ["p50", "p95"].map((name) => ({ name: name === "p50" ? "median" : "95th percentile", tone: name, values: buckets.map((bucket) => bucket[member]?.[name]) }));
  const tokens = [["input", "in", "input_tokens"], ["output", "out", "output_tokens"]].map(([toneName, name, member]) => ({ name, tone: toneName, values: buckets.map((bucket) => bucket[member]) }));
  const charts = [
    bars("Turns by verdict", buckets, verdicts, number),
    lines("Overhead of the proxy", buckets, quantiles("overhead_ms"), duration),
    lines("Time at the upstream", buckets, quantiles("upstream_ms"), duration),
    bars("Tokens", buckets, tokens, number),
    ...(total.cost === undefined ? [] : [bars("Cost", buckets, [{ name: "cost", tone: "input", values: buckets.map((bucket) => bucket.cost ?? 0) }], money)]),
  ];
  const findings = found.findings.map((finding) => [link(findingName(finding), ["turns"], { ...kept, finding: `${finding.kind}:${finding.name}` }), number(finding.turns), percent(finding.turns, total.turns)]);
  const tools = found.tools.map((tool) => {
    const all = tool.findings.reduce((sum, finding) => sum + finding.turns, 0);
    const worst = tool.findings.slice(0, 3).map((finding) => element("li", {}, `${findingName(finding)}: ${number(finding.turns)}`));
    return [link(tool.tool, ["turns"], { ...kept, tool: tool.tool }), number(tool.turns), number(all), element("ul", { class: "plain" }, ...worst)];
  });
  const shares = present.map((verdict) => [link(verdict, ["turns"], { ...kept, verdict }), badge(percent(total.verdicts[verdict], total.turns), tone(verdict)), number(total.verdicts[verdict]), VERDICTS[verdict]?.[1] ?? ""]);
  return [heading("Overview"), rangeChoice("overview", query), tiles, element("div", { class: "charts" }, ...charts),
    element("h2", {}, "Verdicts"), table("Turns by verdict", ["Verdict", "Share", "#Turns", "Meaning"], shares),
    element("h2", {}, "Worst tools"), tools.length ? table("Tools with the most findings", ["Tool", "#Turns", "#Findings", "Most frequent"], tools) : empty("No tool had a fault, a failure or a repair."),
    element("h2", {}, "Faults, failures and repairs"), findings.length ? table("Most frequent findings", ["Finding", "#Turns", "#Share"], findings) : empty("Nothing went wrong or was repaired in this time range.")];
}
