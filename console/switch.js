// The kill switch.
import { button, confirmed, element, heading, table, when } from "./elements.js";
import { get, post } from "./api.js";

/** Shows what is off. `show` shows the view again. */
export async function killSwitch(show) {
  const state = await get("/admin/switch");
  const reason = element("input", { name: "reason", size: 40 });
  const set = (off, policy) => async () => {
    const consequence = "New turns of this process pass through unchanged: nothing is judged, repaired or executed, and calls of its tools are not answered.";
    if (off && !(await confirmed("Turn guarding off?", consequence, "Turn it off"))) return "Guarding stays on.";
    await post("/admin/switch", { off, ...(policy ? { policy } : {}), ...(off ? { reason: reason.value } : {}) });
    await show();
    return "";
  };
  const policies = Object.entries(state.policies).map(([name, off]) => [name, when(off.at), off.reason, button("Turn on", set(false, name))]);
  const all = state.everything
    ? [element("p", { class: "bad" }, `Guarding is off since ${when(state.everything.at)}. ${state.everything.reason}`), button("Turn guarding on", set(false))]
    : [element("p", {}, "Guarding is on: turns are processed by their policies. When it is off, new turns of this process pass through unchanged; nothing is judged, repaired or executed."),
      element("div", { class: "actions" }, element("label", {}, "Reason", reason), button("Turn guarding off", set(true), true))];
  return [heading("Kill switch"), ...all, ...(policies.length ? [element("h2", {}, "Policies that are off"), table("Policies that are off", ["Policy", "Since", "Reason", ""], policies)] : [])];
}
