// Calls that require a person's approval. The list follows the proxy's events.
import { badge, block, button, element, empty, facts, field, filter, heading, link, next, table, title, when } from "./elements.js";
import { events, get, post } from "./api.js";
import { rangeChoice, rangeQuery, WHOLE } from "./range.js";

const TONES = { pending: "warn", approved: "good", used: "good", denied: "bad", expired: "bad", withdrawn: "soft" };

/** Delay before a broken stream is opened again, in milliseconds. */
const RECONNECT = 3000;

/** Data of the latest event. */
let latest;

/** Pending approvals of the latest event. */
export const pendingApprovals = () => latest?.approvals ?? [];

/** Follows the pending approvals: updates the count in the navigation and the title, and calls `changed`. */
export async function follow(changed) {
  const count = document.getElementById("pending");
  for (;;) {
    try {
      await events("/admin/approvals/events", (data) => {
        latest = data;
        count.textContent = `${data.pending}`;
        count.hidden = data.pending === 0;
        title(undefined, data.pending);
        changed();
      });
    } catch {
      // The alarm bar shows that the proxy does not answer.
    }
    await new Promise((resolve) => setTimeout(resolve, RECONNECT));
  }
}

/** Shows the approvals, newest first. */
export async function approvals(_, query) {
  // A call may wait for longer than any usual range, so that all are shown at first.
  const request = rangeQuery(query, ["status", "before"], WHOLE);
  request.set("limit", 100);
  const page = await get(`/admin/approvals?${request}`);
  const rows = page.approvals.map((one) => [
    link(when(one.created_at), ["approval", one.id]), badge(one.status, TONES[one.status]), `${one.toolset}/${one.tool}`, `${one.method} ${one.target ?? one.operation}`, one.client, when(one.expires_at), one.decided_by ?? "",
  ]);
  const form = filter("Filter approvals", "approvals", query, field("status", "Status", query.get("status") ?? "", ["", ...Object.keys(TONES)]));
  return [heading("Approvals"), rangeChoice("approvals", query, WHOLE), form, rows.length ? table("Calls that require approval, newest first", ["Requested", "Status", "Tool", "Call", "Client", "Expires", "Decided by"], rows)
    : empty(`No matching call${request.has("since") ? " in this time range" : ""}. Policies define which calls require approval: execute.rules with the permission approve.`), ...next("approvals", query, page, "before", "Older approvals")];
}

/** Shows one approval and a form for the decision. `show` shows the view again. */
export async function approval(id, show) {
  const one = await get(`/admin/approvals/${encodeURIComponent(id)}`);
  const by = element("input", { name: "by", autocomplete: "name" });
  const comment = element("input", { name: "comment", size: 40 });
  const decide = (verb) => async () => {
    const body = Object.fromEntries([["by", by.value], ["comment", comment.value]].filter(([, text]) => text));
    await post(`/admin/approvals/${encodeURIComponent(id)}/${verb}`, body);
    await show();
  };
  const decision = one.status !== "pending" ? [] : [element("h2", {}, "Decide"), element("div", { class: "actions" },
    element("label", {}, "Your name", by), element("label", {}, "Comment, for the model", comment),
    button("Approve", decide("approve")), button("Deny", decide("deny"), true))];
  return [heading("Approval"), facts([["Status", badge(one.status, TONES[one.status])], ["Tool", `${one.toolset}/${one.tool}`], ["Operation", one.operation], ["Request", `${one.method} ${one.target ?? ""}`],
    ["Client", one.client], ["Session", link(one.session, ["session", one.session])], ["Requested", when(one.created_at)], ["Expires", when(one.expires_at)], ["Decided", when(one.decided_at)], ["Decided by", one.decided_by], ["Comment", one.comment]]),
    element("h2", {}, "Arguments"), one.arguments === null || one.arguments === undefined ? element("p", { class: "soft" }, "Erased after the end of the approval.") : block("Arguments", JSON.stringify(one.arguments, null, 2)),
    element("p", {}, link("Show the turn", ["turn", one.trace])), ...decision];
}
