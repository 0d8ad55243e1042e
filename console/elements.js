// Parts of pages. Texts become text nodes.

/** An element; attributes that are undefined are left out. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

/** A table; a heading that begins with `#` is that of a column of numbers. On small screens a row is a card, and a cell says its heading. */
export function table(caption, heads, rows) {
  const plain = heads.map((head) => head.replace(/^#/, ""));
  const kind = (at) => (heads[at].startsWith("#") ? "number" : undefined);
  const head = element("thead", {}, element("tr", {}, ...plain.map((text, at) => element("th", { scope: "col", class: kind(at) }, text))));
  const body = element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, at) => element("td", { class: kind(at), "data-head": plain[at] }, cell)))));
  return element("div", { class: "rows", tabindex: "0", role: "region", "aria-label": caption }, element("table", { "aria-label": caption }, head, body));
}

/** What is said where there is nothing. */
export function empty(text) {
  return element("p", { class: "empty" }, text);
}

/** Names and what they are; those without a value are left out. */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return element("dl", {}, ...told.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

/** A point in time, as the reader's language writes it. */
export function when(text) {
  if (!text) return "";
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toLocaleString(undefined, { dateStyle: "short", timeStyle: "medium" });
}

/** Milliseconds, in the unit that fits. */
export function duration(milliseconds) {
  if (milliseconds === undefined || milliseconds === null) return "";
  return milliseconds < 1000 ? `${milliseconds.toFixed(1)} ms` : `${(milliseconds / 1000).toFixed(2)} s`;
}

/** The heading of a view, which is the page's title too. */
export function heading(text) {
  document.title = `${text} · Callwright`;
  return element("h1", {}, text);
}

/** A field of a form, with its label; with `choices` one of them. */
export function field(name, label, value, choices) {
  const input = choices
    ? element("select", { name }, ...choices.map((choice) => element("option", { value: choice, ...(choice === value ? { selected: "" } : {}) }, choice || "any")))
    : element("input", { name, value, size: 12, autocomplete: "off" });
  return element("label", {}, label, input);
}

/** A button that does something, and says what it did. */
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

/** The way to the next page, where there is one. */
export function next(view, query, page, from = "after", label = "More") {
  if (!page.next) return [];
  return [element("p", {}, element("a", { href: `#/${view}?${new URLSearchParams({ ...Object.fromEntries(query), [from]: page.next })}` }, label))];
}
