"""Latency: of one connection with one request at a time, and at fixed rates from the time at which each is due."""

from __future__ import annotations

from .. import plots, workloads
from ..machine import awake_cores
from ..report import Section
from ..results import Row, distinct, medians, select
from . import Bench

TITLE = "Latency"
CLOSED, OPEN = "one connection", "fixed rate"
# The workload at fixed rates.
PACED = "call"
CONNECTIONS = 32
PERCENTILES = ("p50_us", "p90_us", "p99_us")


def measure(bench: Bench) -> list[Row]:
    settings, rows = bench.settings, []
    targets = bench.targets(settings.targets)
    with bench.fleet() as fleet, awake_cores():
        for number in range(settings.rounds):
            for name in settings.workloads:
                workload = workloads.parse(name)
                for target in targets:
                    server = fleet.server(target, workload)
                    result = bench.generator.run("measure", server, workload, "--requests", settings.requests)
                    whole = {key: result["whole"][key] for key in (*PERCENTILES, "max_us")}
                    first = {f"first_{key}": result["first_byte"][key] for key in PERCENTILES}
                    rows.append({"kind": CLOSED, "workload": name, "rate": 0, "target": target.name, **whole, **first})
                bench.progress(f"latency, round {number + 1}: {name}, one connection")
            workload = workloads.parse(PACED)
            for rate in settings.rates:
                for target in targets:
                    server = fleet.server(target, workload)
                    options = ("--rate", rate, "--seconds", settings.seconds, "--connections", CONNECTIONS)
                    result = bench.generator.run("open", server, workload, *options)
                    whole = {key: result["whole"][key] for key in (*PERCENTILES, "max_us")}
                    sent = {"sent_p99_us": result["sent"]["p99_us"]}
                    rows.append({"kind": OPEN, "workload": PACED, "rate": rate, "target": target.name, **whole, **sent})
                bench.progress(f"latency, round {number + 1}: {PACED}, {rate} requests/s")
    keys = ("kind", "workload", "rate", "target")
    return medians(select(rows, kind=CLOSED), keys) + medians(select(rows, kind=OPEN), keys)


def write(rows: list[Row]) -> Section:
    section = Section()
    closed, paced = select(rows, kind=CLOSED), select(rows, kind=OPEN)
    section.add(
        "**One connection, one request at a time**, from the first byte sent to the last byte read. *Added* is the "
        "difference of a percentile to the same percentile of direct. Cores were kept awake."
    )
    headings = ["workload", "target", "p50, µs", "p99, µs", "added p50", "added p99", "first byte p50"]
    section.table(
        headings,
        [
            [
                row["workload"],
                row["target"],
                *(micros(row[key]) for key in ("p50_us", "p99_us")),
                *added(row, select(closed, workload=row["workload"], target="direct")),
                micros(row["first_p50_us"]),
            ]
            for row in closed
        ],
    )
    groups = {
        name: {row["target"]: row["p50_us"] for row in select(closed, workload=name)}
        for name in distinct(closed, "workload")
    }
    title = "Median latency of one connection"
    section.plot("latency-one-connection", title, plots.bars(title, "µs, shorter is better", groups))
    if not paced:
        return section
    section.add(
        f"**{PACED} at fixed rates**, {CONNECTIONS} connections at most. A latency counts from the time at which its "
        "request was due, so the time in which a thread of the client wakes up is part of it, also with direct."
    )
    for key, label in (("p50_us", "Median"), ("p99_us", "99th percentile")):
        title = f"{label} of the latency of a call at fixed rates"
        series = {
            target: [(row["rate"], row[key]) for row in select(paced, target=target)]
            for target in distinct(paced, "target")
        }
        svg = plots.lines(title, "requests/s", "µs from the due time", series, log_y=key == "p99_us")
        section.plot(f"latency-{key.removesuffix('_us')}-by-rate", title, svg)
    return section


def micros(value: float) -> str:
    return f"{value:,.0f}"


def added(row: Row, direct: list[Row]) -> list[str]:
    """Returns what a proxy adds to direct at p50 and p99."""
    if row["target"] == "direct" or not direct:
        return ["", ""]
    return [f"{row[key] - direct[0][key]:+,.0f}" for key in ("p50_us", "p99_us")]
