// Elements of pages. Texts become text nodes.

/** Creates an element; undefined attributes are omitted. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

/** Creates a table. A heading that begins with `#` marks a column of numbers. On small screens a row is a card whose cells show their headings. */
export function table(caption, heads, rows) {
  const plain = heads.map((head) => head.replace(/^#/, ""));
  const kind = (at) => (heads[at].startsWith("#") ? "number" : undefined);
  const head = element("thead", {}, element("tr", {}, ...plain.map((text, at) => element("th", { scope: "col", class: kind(at) }, text))));
  const body = element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, at) => element("td", { class: kind(at), "data-head": plain[at] }, cell)))));
  return element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": caption }, element("table", { "aria-label": caption }, head, body));
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

/** Formats a point in time in the user's locale. */
export function when(text) {
  if (!text) return "";
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
}

/** Formats milliseconds in a suitable unit. */
export function duration(milliseconds) {
  if (milliseconds === undefined || milliseconds === null) return "";
  return milliseconds < 1000 ? `${milliseconds.toFixed(1)} ms` : `${(milliseconds / 1000).toFixed(2)} s`;
}

/** Creates the heading of a view and sets the page's title. */
export function heading(text) {
  document.title = `${text} · Callwright`;
  return element("h1", {}, text);
}

/** Creates a labelled form field: a selection if there are `choices`, otherwise a text input. */
export function field(name, label, value, choices) {
  const input = choices
    ? element("select", { name }, ...choices.map((choice) => element("option", { value: choice, ...(choice === value ? { selected: "" } : {}) }, choice || "any")))
    : element("input", { name, value, size: 12, autocomplete: "off" });
  return element("label", {}, label, input);
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

/** Creates the link to the next page, if there is one. */
export function next(view, query, page, from = "after", label = "More") {
  if (!page.next) return [];
  return [element("p", {}, element("a", { href: `#/${view}?${new URLSearchParams({ ...Object.fromEntries(query), [from]: page.next })}` }, label))];
}
