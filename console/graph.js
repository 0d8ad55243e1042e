// Draws a directed acyclic graph from left to right. Pages show the same data in a table beside it.

import { drawn, element } from "./elements.js";

const BOX = { width: 210, height: 44, across: 90, down: 18 };

/** Maximum characters of a label in a box and at an arrow. */
const FITS = { node: 25, edge: 14 };

function short(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Returns the layer of each node: after all its predecessors. Nodes of a cycle keep their layer. */
function layers(nodes, edges) {
  const layer = new Map(nodes.map(({ id }) => [id, 0]));
  for (let round = 0; round < nodes.length; round += 1) {
    let moved = false;
    for (const { from, to } of edges) {
      if (layer.has(from) && layer.has(to) && layer.get(to) < layer.get(from) + 1 && layer.get(from) + 1 < nodes.length) {
        layer.set(to, layer.get(from) + 1);
        moved = true;
      }
    }
    if (!moved) break;
  }
  return layer;
}

/** Draws a graph. `nodes` have `id`, `label`, and optionally `href` and `tone`; `edges` have `from`, `to` and optionally `label`. */
export function graph(caption, nodes, edges) {
  const layer = layers(nodes, edges);
  const filled = [];
  const place = new Map();
  for (const { id } of nodes) {
    const at = layer.get(id);
    filled[at] = (filled[at] ?? 0) + 1;
    place.set(id, { x: 1 + at * (BOX.width + BOX.across), y: 1 + (filled[at] - 1) * (BOX.height + BOX.down) });
  }
  const width = filled.length * (BOX.width + BOX.across) - BOX.across + 2;
  const height = Math.max(1, ...filled.map((count) => count ?? 0)) * (BOX.height + BOX.down) - BOX.down + 2;
  const arrows = edges.filter(({ from, to }) => place.has(from) && place.has(to)).map(({ from, to, label }) => {
    const [start, end] = [place.get(from), place.get(to)];
    const [x1, y1, x2, y2] = [start.x + BOX.width, start.y + BOX.height / 2, end.x - 6, end.y + BOX.height / 2];
    const bend = (x1 + x2) / 2;
    const line = drawn("path", { d: `M${x1} ${y1} C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`, class: "arrow", "marker-end": "url(#arrowhead)" });
    const named = label ? [drawn("text", { x: bend, y: (y1 + y2) / 2 - 5, class: "edge" }, drawn("title", {}, label), short(label, FITS.edge))] : [];
    return drawn("g", {}, line, ...named);
  });
  const boxes = nodes.map(({ id, label, href, tone }) => {
    const { x, y } = place.get(id);
    const parts = [drawn("title", {}, label), drawn("rect", { x, y, width: BOX.width, height: BOX.height, rx: 6, class: `node ${tone ?? ""}` }),
      drawn("text", { x: x + BOX.width / 2, y: y + BOX.height / 2 + 5, class: "name" }, short(label, FITS.node))];
    return href ? drawn("a", { href }, ...parts) : drawn("g", {}, ...parts);
  });
  const head = drawn("marker", { id: "arrowhead", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" }, drawn("path", { d: "M0 0 L8 4 L0 8 z", class: "head" }));
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "graph" }, drawn("defs", {}, head), ...arrows, ...boxes);
  return element("div", { class: "drawing", role: "group", "aria-label": caption, tabindex: "0" }, picture);
}
