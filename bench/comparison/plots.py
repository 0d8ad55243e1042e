"""Plots as SVG: lines over an axis, and bars in groups. They have their own background, light or dark by preference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 84, 56

# Each target has the same colour in all plots. The colours are readable on both backgrounds.
COLOURS = {
    "direct": "#8b949e",
    "nginx": "#2da44e",
    "bare": "#bf8700",
    "callwright": "#2f81f7",
    "callwright-off": "#76a9f5",
    "callwright-nostore": "#8250df",
    "callwright-off-nostore": "#c297ff",
    "portkey": "#e16f24",
    "litellm": "#d1435b",
    "forge": "#bf4b8a",
    "agentgateway": "#1b9e9e",
}
OTHER_COLOURS = ("#2f81f7", "#e16f24", "#2da44e", "#8250df", "#d1435b", "#1b9e9e", "#bf8700", "#8b949e")

STYLE = """
.card { fill: #ffffff } .grid { stroke: #d8dee4 } .axis { stroke: #57606a } text { fill: #1f2328 }
.small { font-size: 12px } .title { font-size: 15px; font-weight: 600 }
@media (prefers-color-scheme: dark) {
.card { fill: #161b22 } .grid { stroke: #30363d } .axis { stroke: #8b949e } text { fill: #e6edf3 }
}
"""

Points = Sequence[tuple[float, float]]


class Axis:
    """Maps values of one axis to coordinates, and chooses its ticks."""

    def __init__(self, values: Sequence[float], start: float, end: float, is_log: bool) -> None:
        self.is_log = is_log and min(values) > 0
        low, high = min(values), max(values)
        if self.is_log:
            self.low, self.high = 10 ** math.floor(math.log10(low) + 1e-9), 10 ** math.ceil(math.log10(high) - 1e-9)
            if self.low == self.high:
                self.high *= 10
            decades = round(math.log10(self.high / self.low))
            steps = (1, 2, 5) if decades <= 2 else (1,)
            ticks = [self.low * 10**decade * step for decade in range(decades + 1) for step in steps]
        else:
            step = self.step(max(high, 1e-9) / 5)
            self.low, self.high = 0.0, step * max(1, math.ceil(high / step - 1e-9))
            ticks = [step * number for number in range(round(self.high / step) + 1)]
        self.start, self.end = start, end
        self.ticks = [tick for tick in ticks if self.low <= tick <= self.high * (1 + 1e-9)]

    @staticmethod
    def step(least: float) -> float:
        """Returns the smallest of 1, 2, 2.5 and 5 times a power of ten that is not below."""
        power = 10.0 ** math.floor(math.log10(least))
        return next((power * factor for factor in (1, 2, 2.5, 5) if power * factor >= least * (1 - 1e-9)), power * 10)

    def at(self, value: float) -> float:
        """Returns the coordinate of a value."""
        if self.is_log:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share


def number(value: float) -> str:
    """Writes a number for an axis or a label."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def text(x: float, y: float, content: str, anchor: str = "start", style: str = "small", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{style}" {more}>{escape(content)}</text>'


def colour(name: str, position: int) -> str:
    return COLOURS.get(name, OTHER_COLOURS[position % len(OTHER_COLOURS)])


def document(title: str, parts: Sequence[str], height: int = HEIGHT) -> str:
    """Returns the SVG of a plot. The title states what to see."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" font-family="system-ui, sans-serif"><title>{escape(title)}</title><style>{STYLE}</style>'
    )
    card = f'<rect class="card" width="{WIDTH}" height="{height}" rx="8"/>'
    return "\n".join([head, card, text(20, 28, title, style="title"), *parts, "</svg>", ""])


def legend(names: Sequence[str]) -> list[str]:
    parts, x = [], 20.0
    for position, name in enumerate(names):
        parts.append(f'<rect x="{x:.1f}" y="44" width="12" height="12" rx="2" fill="{colour(name, position)}"/>')
        parts.append(text(x + 17, 54, name))
        x += 34 + 7.2 * len(name)
    return parts


def lines(
    title: str,
    x_label: str,
    y_label: str,
    series: Mapping[str, Points],
    log_x: bool = False,
    log_y: bool = False,
) -> str:
    """Draws one line for each series, with a mark on each point."""
    if not any(series.values()):
        raise ValueError(f"{title}: nothing to draw")
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    # The measured positions are the ticks of a logarithmic axis: there are few.
    horizontal = Axis(xs, LEFT, WIDTH - RIGHT, log_x)
    if horizontal.is_log:
        horizontal.low, horizontal.high = min(xs), max(max(xs), min(xs) * 10)
        horizontal.ticks = sorted(set(xs))
    vertical = Axis(ys, HEIGHT - BOTTOM, TOP, log_y)
    parts = [*legend(list(series)), *grid(horizontal, vertical, x_label, y_label)]
    for position, (name, points) in enumerate(series.items()):
        drawn = [(horizontal.at(x), vertical.at(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        fill = colour(name, position)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{fill}" stroke-width="2.2" stroke-linejoin="round"/>'
        )
        if len(points) <= 12:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" fill="{fill}"/>' for x, y in drawn]
    return document(title, parts)


def grid(horizontal: Axis, vertical: Axis, x_label: str, y_label: str) -> list[str]:
    parts = []
    for tick in vertical.ticks:
        y = vertical.at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text(LEFT - 8, y + 4, number(tick), "end"))
    for tick in horizontal.ticks:
        x = horizontal.at(tick)
        parts.append(
            f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 5}"/>'
        )
        parts.append(text(x, HEIGHT - BOTTOM + 19, number(tick), "middle"))
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>')
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_label, "middle"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(text(16, middle, y_label, "middle", more=f'transform="rotate(-90 16 {middle:.1f})"'))
    return parts


def bars(title: str, unit: str, groups: Mapping[str, Mapping[str, float]], is_log: bool = False) -> str:
    """Draws horizontal bars, grouped, with the value beside each bar."""
    values = [value for group in groups.values() for value in group.values()]
    if not values:
        raise ValueError(f"{title}: nothing to draw")
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    left, thick, gap = 150, 15, 14
    height = TOP + BOTTOM + sum(thick * len(group) + gap for group in groups.values())
    axis = Axis(values, left, WIDTH - 90, is_log)
    parts, y = legend(names), float(TOP - 6)
    bottom = height - BOTTOM
    for tick in axis.ticks:
        x = axis.at(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 12}" y2="{bottom}"/>')
        parts.append(text(x, bottom + 18, number(tick), "middle"))
    for label, group in groups.items():
        parts.append(text(left - 10, y + thick * len(group) / 2 + 4, label, "end"))
        for name, value in group.items():
            end = axis.at(value)
            fill = colour(name, names.index(name))
            parts.append(
                f'<rect x="{left}" y="{y:.1f}" width="{max(end - left, 1):.1f}" height="{thick - 2}" fill="{fill}"/>'
            )
            parts.append(text(end + 6, y + thick - 4, number(value)))
            y += thick
        y += gap
    parts.append(text((left + WIDTH - 90) / 2, height - 14, unit, "middle"))
    return document(title, parts, height)
