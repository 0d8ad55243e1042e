// The console: a user interface for the data at /admin and /metrics of the operator listener. Text from users, models and APIs becomes text nodes,
// never markup.
import { element, heading } from "./elements.js";
import { get } from "./api.js";
import { approval, approvals, follow } from "./approvals.js";
import { key, keys } from "./keys.js";
import { lesson, lessons, procedure, procedures } from "./memory.js";
import { overview } from "./overview.js";
import { policies, policy } from "./policies.js";
import { shadow } from "./shadow.js";
import { killSwitch } from "./switch.js";
import { tool, tools, toolset } from "./tools.js";
import { turn } from "./turn.js";
import { session, sessions, turns } from "./turns.js";

const main = document.getElementById("main");

/** Views by the first part of the path. A view gets the second part, the query and the third part. */
const VIEWS = {
  overview, turns, sessions, session, tools, tool, toolset, lessons, procedures, policies, policy, shadow, keys, key, approvals, turn,
  approval: (id) => approval(id, again), lesson: (id) => lesson(id, again), procedure: (id) => procedure(id, again), switch: () => killSwitch(again),
};

/** Section of each detail view. */
const SECTIONS = { turn: "turns", session: "sessions", approval: "approvals", tool: "tools", toolset: "tools", lesson: "lessons", procedure: "procedures", policy: "policies", key: "keys" };

/** Refresh interval of the overview and of the list of turns, in milliseconds. */
const REFRESH = { overview: 10_000, turns: 3000 };

/** Refresh interval of the alarm bar, in milliseconds. */
const ALARM = 5000;

let refreshing;

/** Decodes a part of the path; a part that is not percent-encoded correctly stays as it is. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function place() {
  const [path, query] = (location.hash.slice(2) || "overview").split("?");
  const [name, id, further] = path.split("/").map(decoded);
  const known = Object.hasOwn(VIEWS, name) ? name : "overview";
  return { name: known, id, query: new URLSearchParams(query), view: () => VIEWS[known](id, new URLSearchParams(query), further) };
}

async function show() {
  clearTimeout(refreshing);
  const [at, focused] = [location.hash, document.activeElement];
  const { name, query, view } = place();
  const section = SECTIONS[name] ?? name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#/${section}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  await render(view);
  if (location.hash !== at) return;
  main.dataset.view = at;
  // A focus that the user moved while the view was loading stays where it is. The body has it if the focused element is gone.
  if ([focused, document.body].includes(document.activeElement)) main.focus({ preventScroll: true });
  if (name in REFRESH && !query.get("cursor") && !query.get("text")) refresh(REFRESH[name]);
}

/** Shows the present view and the alarm bar again after an action. */
async function again() {
  await alarm();
  await show();
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

/** Whether the focus is in the view, or the user has opened a part of it. */
function isBusy() {
  return (main.contains(document.activeElement) && document.activeElement !== main) || main.querySelector("figure details[open]") !== null;
}

/** Refreshes the view at intervals, unless the user is busy with it. */
function refresh(interval) {
  refreshing = setTimeout(async () => {
    if (!isBusy() && !document.hidden) await render(place().view, isBusy);
    refresh(interval);
  }, interval);
}

/** Updates the bar above all views: degraded parts. */
async function alarm() {
  const bar = document.getElementById("alarm");
  try {
    const ready = await get("/readyz");
    const troubles = (ready.degraded ?? []).map((part) => `${part.part}: ${part.reason}`);
    bar.textContent = troubles.join(" · ");
    bar.hidden = troubles.length === 0;
  } catch (error) {
    bar.textContent = `The proxy does not answer: ${error.message}`;
    bar.hidden = false;
  }
}

addEventListener("hashchange", show);
show();
setInterval(alarm, ALARM);
alarm();
follow(() => {
  const name = place().name;
  if (["approvals", "approval"].includes(name)) render(place().view, isBusy);
});
