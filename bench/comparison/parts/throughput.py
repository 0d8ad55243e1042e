"""Requests per second and CPU time per request under load, by workload and number of connections."""

from __future__ import annotations

from .. import plots, workloads
from ..report import Section
from ..results import Row, distinct, medians, select
from . import Bench

TITLE = "Throughput and CPU per request"


def measure(bench: Bench) -> list[Row]:
    settings, rows = bench.settings, []
    targets = bench.targets(settings.targets)
    with bench.fleet() as fleet:
        for number in range(settings.rounds):
            for name in settings.workloads:
                workload = workloads.parse(name)
                for connections in settings.concurrency if name in settings.sweep else (settings.comparison,):
                    for target in targets:
                        server = fleet.server(target, workload)
                        values = bench.generator.under_load(server, workload, connections, settings.seconds)
                        rows.append({"workload": name, "connections": connections, "target": target.name, **values})
                    bench.progress(f"throughput, round {number + 1}: {name}, {connections} connections")
    return medians(rows, ("workload", "connections", "target"))


def write(rows: list[Row]) -> Section:
    section = Section()
    most = max((len(select(rows, connections=count)), count) for count in distinct(rows, "connections"))[1]
    compared = select(rows, connections=most)
    section.add(f"**All workloads, {most} connections.**")
    section.table(HEADINGS, [line(row, compared) for row in compared])
    for name in distinct(rows, "workload"):
        swept = select(rows, workload=name)
        if len(distinct(swept, "connections")) > 1:
            section.add(f"**{name}, by number of connections.**")
            for value, unit, title, file in (
                ("requests_per_second", "requests/s", "requests per second by connections", "throughput"),
                ("cpu_us", "CPU per request, µs", "CPU time per request by connections", "cpu"),
            ):
                series = {
                    target: [(row["connections"], row[value]) for row in select(swept, target=target) if value in row]
                    for target in distinct(swept, "target")
                }
                series = {target: points for target, points in series.items() if points}
                title = f"{name}: {title}"
                svg = plots.lines(title, "connections", unit, series, log_x=True)
                section.plot(f"{file}-{name}", title, svg)
    groups = {
        name: {row["target"]: row["cpu_us"] for row in select(compared, workload=name) if "cpu_us" in row}
        for name in distinct(compared, "workload")
    }
    title = f"CPU time per request, {most} connections"
    section.plot("cpu-by-workload", title, plots.bars(title, "µs per request, shorter is better", groups))
    return section


HEADINGS = ["workload", "target", "requests/s", "of nginx", "of off", "CPU per request, µs", "of bare", "p50, ms", "p99, ms"]


def line(row: Row, rows: list[Row]) -> list[str]:
    """Returns a line of the table, with shares of nginx and of the bare proxy."""
    same = select(rows, workload=row["workload"])
    cells = [row["workload"], row["target"]]
    cells.append(f"{row['requests_per_second']:,.0f}")
    cells.append(share(row, select(same, target="nginx"), "requests_per_second"))
    off = select(same, target=f"{row['target']}-off")
    cells.append(share(row, off, "requests_per_second"))
    cells.append(f"{row['cpu_us']:,.0f}" if "cpu_us" in row else "")
    cells.append(share(row, select(same, target="bare"), "cpu_us"))
    return cells + [f"{row[key] / 1e3:,.2f}" for key in ("p50_us", "p99_us")]


def share(row: Row, reference: list[Row], value: str) -> str:
    """Returns a value as a multiple of the reference's."""
    return f"{row[value] / reference[0][value]:.2f}" if reference and value in row else ""
