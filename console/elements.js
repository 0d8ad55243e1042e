// Elements of pages. Texts become text nodes.

const SVG = "http://www.w3.org/2000/svg";

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

/** Creates an element; undefined attributes are omitted. */
export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Creates an element of an SVG image. */
export function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

/** Creates a link to a view: the parts of its path, and optionally a query. */
export function link(text, parts, query) {
  const path = parts.map(encodeURIComponent).join("/");
  return element("a", { href: `#/${path}${query ? `?${new URLSearchParams(query)}` : ""}` }, text);
}

/** Creates a table. A heading that begins with `#` marks a column of numbers. On small screens a row is a card whose cells show their headings. */
export function table(caption, heads, rows) {
  const plain = heads.map((head) => head.replace(/^#/, ""));
  const kind = (at) => (heads[at].startsWith("#") ? "number" : undefined);
  const title = (at) => (plain[at] ? plain[at] : element("span", { class: "hidden" }, "More"));
  const head = element("thead", {}, element("tr", {}, ...plain.map((_, at) => element("th", { scope: "col", class: kind(at) }, title(at)))));
  const body = element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, at) => element("td", { class: kind(at), "data-head": plain[at] || undefined }, cell)))));
  return element("div", { class: "rows", tabindex: "0", role: "group", "aria-label": caption }, element("table", { "aria-label": caption }, head, body));
}

/** Creates the text of an empty list. */
export function empty(text) {
  return element("p", { class: "empty" }, text);
}

/** Creates a list of names and values; pairs without a value are omitted. */
export function facts(pairs) {
  const present = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return element("dl", {}, ...present.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

/** Creates a block of recorded text, which the keyboard can scroll. */
export function block(label, ...parts) {
  return element("pre", { tabindex: "0", role: "group", "aria-label": label }, ...parts);
}

/** Creates a short label with a tone: `good`, `warn`, `bad` or `soft`. */
export function badge(text, tone) {
  return element("span", { class: `badge ${tone ?? "soft"}` }, text);
}

/** Creates a list of inline parts. */
export function inline(parts) {
  return element("span", { class: "inline" }, ...parts.flatMap((part, at) => (at ? [" ", part] : [part])));
}

/** Formats a point in time in the user's locale. */
export function when(text) {
  if (!text) return "";
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
}

/** Formats milliseconds in a suitable unit. */
export function duration(milliseconds) {
  if (milliseconds === undefined || milliseconds === null) return "";
  if (milliseconds < 10) return `${milliseconds.toFixed(2)} ms`;
  return milliseconds < 1000 ? `${milliseconds.toFixed(0)} ms` : `${(milliseconds / 1000).toFixed(2)} s`;
}

/** Formats a count. */
export function number(count) {
  return count === undefined || count === null ? "" : count.toLocaleString();
}

/** Formats an amount of the currency of the price table. */
export function money(amount) {
  if (amount === undefined || amount === null) return "";
  return amount.toLocaleString(undefined, { minimumFractionDigits: 2, maximumFractionDigits: amount < 1 ? 4 : 2 });
}

/** Formats a share. */
export function percent(part, whole) {
  return whole ? `${((100 * part) / whole).toFixed(1)} %` : "";
}

/** Creates the heading of a view and sets the page's title. */
export function heading(text) {
  title(text);
  return element("h1", {}, text);
}

let shownTitle = "Callwright";
let waiting = 0;

/** Sets the title of the page; undefined keeps the text. The number of pending approvals precedes it. */
export function title(text, pending = waiting) {
  shownTitle = text ? `${text} · Callwright` : shownTitle;
  waiting = pending;
  document.title = waiting ? `(${waiting}) ${shownTitle}` : shownTitle;
}

/** Creates a labelled form field: a selection if there are `choices` (texts, or pairs of value and text), otherwise a text input. */
export function field(name, label, value, choices, size = 12) {
  const option = (choice) => {
    const [key, text] = Array.isArray(choice) ? choice : [choice, choice || "any"];
    return element("option", { value: key, selected: key === value ? "" : undefined }, text);
  };
  const input = choices ? element("select", { name }, ...choices.map(option)) : element("input", { name, value, size, autocomplete: "off" });
  return element("label", {}, label, input);
}

/** Creates a form that puts its values that are not empty into the query of a view. Other keys of the query are kept. */
export function filter(label, view, query, ...fields) {
  const form = element("form", { class: "filter", "aria-label": label }, ...fields, element("button", {}, "Filter"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = new URLSearchParams(query);
    for (const dropped of ["cursor", "after", "before"]) values.delete(dropped);
    for (const [key, value] of new FormData(form)) {
      if (value === "") values.delete(key);
      else values.set(key, value);
    }
    location.hash = `#/${view}?${values}`;
  });
  return form;
}

/** Creates a button that runs `act` and shows its result. */
export function button(label, act, grave) {
  const result = element("span", { role: "status" });
  const made = element("button", { type: "button", ...(grave ? { class: "grave" } : {}) }, label);
  made.addEventListener("click", async () => {
    made.disabled = true;
    try {
      result.textContent = (await act()) ?? "";
    } catch (error) {
      result.textContent = error.message;
    }
    made.disabled = false;
  });
  return element("span", {}, made, " ", result);
}

/** Requests a confirmation in a dialog. Returns whether it was given. */
export function confirmed(question, consequence, label) {
  const yes = element("button", { value: "yes", class: "grave" }, label);
  const form = element("form", { method: "dialog" }, element("h2", { id: "confirm-title" }, question), element("p", {}, consequence),
    element("div", { class: "actions" }, element("button", { value: "no", autofocus: "" }, "Cancel"), yes));
  const dialog = element("dialog", { "aria-labelledby": "confirm-title" }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

/** Creates the link to the next page, if there is one. */
export function next(view, query, page, from = "after", label = "More") {
  if (!page.next) return [];
  return [element("p", {}, element("a", { href: `#/${view}?${new URLSearchParams({ ...Object.fromEntries(query), [from]: page.next })}` }, label))];
}
