"""CPU time per request as requests and answers grow: messages, tools, length of a text, chunks of a stream."""

from __future__ import annotations

from .. import plots, workloads
from ..report import Section
from ..results import Row, distinct, medians, select
from . import Bench

TITLE = "Growth"
TARGETS = ("nginx", "bare", "callwright-off", "callwright")
CONNECTIONS = 8
# Axis label, and the workload of a size.
CURVES = {
    "messages": ("messages of the conversation", "call-{}m"),
    "tools": ("offered tools", "call-{}"),
    "sizes": ("bytes of the answer's text", "text-{}b"),
    "chunks": ("chunks of the stream", "text-stream-{}c"),
}


def measure(bench: Bench) -> list[Row]:
    settings, rows = bench.settings, []
    targets = bench.targets(TARGETS)
    with bench.fleet() as fleet:
        for number in range(settings.rounds):
            for curve, (_, pattern) in CURVES.items():
                for size in getattr(settings, curve):
                    workload = workloads.parse(pattern.format(size))
                    for target in targets:
                        server = fleet.server(target, workload)
                        values = bench.generator.under_load(server, workload, CONNECTIONS, settings.seconds * 0.4)
                        rows.append({"curve": curve, "size": size, "target": target.name, "cpu_us": values["cpu_us"]})
                bench.progress(f"growth, round {number + 1}: {curve}")
    return medians(rows, ("curve", "size", "target"))


def write(rows: list[Row]) -> Section:
    section = Section()
    section.add(f"CPU time of the proxy per request, {CONNECTIONS} connections.")
    for curve in distinct(rows, "curve"):
        label, _ = CURVES[curve]
        found = select(rows, curve=curve)
        sizes = distinct(found, "size")
        section.table(
            [label, *(f"{size:,}" for size in sizes)],
            [
                [target, *(f"{row['cpu_us']:,.0f} µs" for row in select(found, target=target))]
                for target in distinct(found, "target")
            ],
        )
        title = f"CPU time per request by {label}"
        series = {
            target: [(row["size"], row["cpu_us"]) for row in select(found, target=target)]
            for target in distinct(found, "target")
        }
        section.plot(
            f"growth-{curve}", title, plots.lines(title, label, "µs per request", series, log_x=True, log_y=True)
        )
    return section
