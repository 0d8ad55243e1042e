"""The generated page: one section with tables and plots for each measured part."""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from .results import Row

PAGE = "proxy-figures.md"
DATA = "proxy-figures.json"
PLOTS = "plots"

HEAD = """\
# Proxy figures

<!-- Written by bench/run. Do not edit: change the modules in bench/comparison/ instead. -->

`bench/run` measured these figures and wrote this page. [proxy-throughput.md](proxy-throughput.md) describes the
targets, the workloads and the method; [proxy-figures.json](proxy-figures.json) has the data. Every figure is a median
of interleaved rounds, and the content of every answer was checked.
"""


@dataclass
class Section:
    """Part of the page, with plots by file name."""

    lines: list[str] = field(default_factory=list)
    plots: dict[str, str] = field(default_factory=dict)

    def add(self, paragraph: str) -> None:
        self.lines += [wrapped(paragraph), ""]

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """Adds a table whose first column is text."""
        self.lines.append("| " + " | ".join(headings) + " |")
        self.lines.append("|---|" + "---:|" * (len(headings) - 1))
        self.lines += ["| " + " | ".join(row) + " |" for row in rows]
        self.lines.append("")

    def plot(self, name: str, title: str, svg: str) -> None:
        self.plots[f"{name}.svg"] = svg
        self.lines += [f"![{title}]({PLOTS}/{name}.svg)", ""]


def wrapped(paragraph: str) -> str:
    """Breaks a paragraph at the width of the documentation."""
    return textwrap.fill(paragraph, 120, break_long_words=False, break_on_hyphens=False)


def conditions(part: Row) -> str:
    """Describes under which conditions a part was measured."""
    settings = part["settings"]
    rounds = "1 round" if settings["rounds"] == 1 else f"{settings['rounds']} rounds"
    text = f"Measured {settings['date']}: {settings['machine']}; {settings['callwright']}; {rounds}"
    if absent := settings["absent"]:
        text += ". Absent: " + "; ".join(f"{name}, {reason}" for name, reason in absent.items())
    return wrapped(text + ".")


def write(folder: pathlib.Path, sections: Sequence[tuple[str, Row, Section]]) -> None:
    """Writes the page and its plots: (title, part, section)."""
    lines = [HEAD]
    (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    for title, part, section in sections:
        lines += [f"## {title}", "", conditions(part), "", *section.lines]
        for name, svg in section.plots.items():
            (folder / PLOTS / name).write_text(svg)
    (folder / PAGE).write_text("\n".join(lines).rstrip() + "\n")
