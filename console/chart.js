// Charts as SVG images. The data is also in a table below each chart.
import { drawn, element, number, table } from "./elements.js";

const SIZE = { width: 640, height: 150, left: 66, bottom: 20, top: 8 };

/** Number of intervals between horizontal lines. */
const STEPS = 4;

/** Returns a round number that is not less than `most`. */
function ceiling(most) {
  const power = 10 ** Math.floor(Math.log10(most || 1));
  return [1, 2, 4, 6, 8, 10].map((factor) => factor * power).find((value) => value >= most) ?? 10 * power;
}

function shortTime(at, isLong) {
  const options = isLong ? { month: "short", day: "numeric" } : { hour: "2-digit", minute: "2-digit" };
  return new Date(at).toLocaleString(undefined, options);
}

/** Formats a value at an axis, where counts are short. */
function axisText(value, format) {
  return format === number ? value.toLocaleString(undefined, { notation: "compact" }) : format(value);
}

/** Draws the axes; returns the elements, and functions that convert a value and a position to coordinates. */
function axes(points, most, format) {
  const top = ceiling(most);
  const [right, base] = [SIZE.width - 4, SIZE.height - SIZE.bottom];
  const y = (value) => base - (value / top) * (base - SIZE.top);
  const slot = (right - SIZE.left) / Math.max(1, points.length);
  const x = (at) => SIZE.left + at * slot;
  const lines = Array.from({ length: STEPS + 1 }, (_, step) => (top * step) / STEPS).flatMap((value) => [
    drawn("line", { x1: SIZE.left, x2: right, y1: y(value), y2: y(value), class: "grid" }),
    drawn("text", { x: SIZE.left - 6, y: y(value) + 4, class: "axis end" }, axisText(value, format)),
  ]);
  const isLong = points.length > 1 && new Date(points.at(-1).at) - new Date(points[0].at) > 36 * 3_600_000;
  const labels = [0, Math.floor(points.length / 2), points.length - 1].filter((at, place, all) => at >= 0 && all.indexOf(at) === place);
  const times = labels.map((at, place) => drawn("text", { x: x(at + 0.5), y: SIZE.height - 4, class: `axis ${["start", "middle", "end"][labels.length === 1 ? 1 : place]}` }, shortTime(points[at].at, isLong)));
  return { parts: [...lines, ...times], x, y, slot, base };
}

/** Combines an image with its legend and its data. `series` have `name`, `tone` and `values`. */
function figure(caption, points, series, format, image) {
  const legend = element("ul", { class: "legend" }, ...series.map(({ name, tone }) => element("li", { class: `key ${tone}` }, name)));
  const rows = points.map((point, at) => [new Date(point.at).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" }), ...series.map(({ values }) => format(values[at] ?? 0))]);
  const data = element("details", {}, element("summary", {}, "Data"));
  data.addEventListener("toggle", () => data.children.length === 1 && data.append(table(caption, ["From", ...series.map(({ name }) => `#${name}`)], rows)));
  return element("figure", { class: "chart" }, element("figcaption", {}, caption), legend, image, data);
}

function image(caption, points, series, format, ...parts) {
  const sums = series.map(({ name, values }) => `${name}: at most ${format(Math.max(0, ...values.map((value) => value ?? 0)))}`);
  return drawn("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": `${caption}. ${sums.join(", ")}` }, ...parts);
}

/** Draws stacked bars. `points` have a time `at`. */
export function bars(caption, points, series, format) {
  const totals = points.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const { parts, x, y, slot, base } = axes(points, Math.max(0, ...totals), format);
  const gap = Math.min(2, slot / 4);
  const drawnBars = points.flatMap((point, at) => {
    let sum = 0;
    return series.filter(({ values }) => values[at]).map(({ name, tone, values }) => {
      const [bottom, top] = [y(sum), y(sum + values[at])];
      sum += values[at];
      const text = `${new Date(point.at).toLocaleString()}: ${name} ${format(values[at])}`;
      return drawn("rect", { x: x(at) + gap / 2, y: top, width: Math.max(1, slot - gap), height: Math.max(0.5, Math.min(base, bottom) - top), class: `bar ${tone}` }, drawn("title", {}, text));
    });
  });
  return figure(caption, points, series, format, image(caption, points, series, format, ...parts, ...drawnBars));
}

/** Draws lines. A value that is undefined interrupts its line. */
export function lines(caption, points, series, format) {
  const most = Math.max(0, ...series.flatMap(({ values }) => values.filter((value) => value !== undefined)));
  const { parts, x, y } = axes(points, most, format);
  const drawnLines = series.flatMap(({ name, tone, values }) => {
    const runs = [];
    values.forEach((value, at) => {
      if (value === undefined) return;
      if (at === 0 || values[at - 1] === undefined) runs.push([]);
      runs.at(-1).push([x(at + 0.5), y(value), value, at]);
    });
    return runs.map((run) => drawn("g", {},
      drawn("path", { d: run.map(([left, top], at) => `${at ? "L" : "M"}${left.toFixed(1)} ${top.toFixed(1)}`).join(" "), class: `line ${tone}` }),
      ...run.map(([left, top, value, at]) => drawn("circle", { cx: left, cy: top, r: 2.5, class: `dot ${tone}` }, drawn("title", {}, `${new Date(points[at].at).toLocaleString()}: ${name} ${format(value)}`)))));
  });
  return figure(caption, points, series, format, image(caption, points, series, format, ...parts, ...drawnLines));
}

/** Draws steps over time: `steps` have `label`, `start`, `took` (milliseconds) and `tone`. */
export function waterfall(caption, steps, total, format) {
  const row = 24;
  const [left, right, most] = [190, 60, Math.max(total, ...steps.map(({ start, took }) => start + took), 0.001)];
  const width = SIZE.width - left - right;
  const height = steps.length * row + 4;
  const parts = steps.flatMap(({ label, start, took, tone }, at) => {
    const [x, size] = [left + (start / most) * width, Math.max(2, (took / most) * width)];
    const y = at * row + 4;
    return [
      drawn("line", { x1: left, x2: left + width, y1: y + row - 4, y2: y + row - 4, class: "grid" }),
      drawn("text", { x: 0, y: y + 14, class: "step" }, drawn("title", {}, label), label.length > 27 ? `${label.slice(0, 26)}…` : label),
      drawn("rect", { x, y: y + 3, width: size, height: row - 10, rx: 2, class: `bar ${tone}` }, drawn("title", {}, `${label}: from ${format(start)}, ${format(took)}`)),
      drawn("text", { x: Math.min(x + size + 4, left + width + 4), y: y + 14, class: "axis start" }, format(took)),
    ];
  });
  const text = steps.map(({ label, start, took }) => `${label} from ${format(start)} for ${format(took)}`).join("; ");
  return element("div", { class: "drawing", tabindex: "0", role: "group", "aria-label": caption },
    drawn("svg", { viewBox: `0 0 ${SIZE.width} ${height}`, class: "waterfall", role: "img", "aria-label": `${caption}: ${text}` }, ...parts));
}
