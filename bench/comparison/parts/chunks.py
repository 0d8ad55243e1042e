"""Delay of each chunk of a stream whose events the upstream writes one at a time."""

from __future__ import annotations

from .. import plots, workloads
from ..machine import awake_cores
from ..report import Section
from ..results import Row, medians, select
from . import Bench

TITLE = "Delay of a chunk"
EVENTS, SPACING_MS, CONNECTIONS = 50, 5, 4
WORKLOAD = f"text-stream-{EVENTS}c"
PERCENTILES = ("p50_us", "p90_us", "p99_us", "max_us")


def measure(bench: Bench) -> list[Row]:
    settings, rows = bench.settings, []
    targets = bench.targets(settings.targets)
    workload = workloads.parse(WORKLOAD, spacing_ms=SPACING_MS, stamps=1)
    with bench.fleet() as fleet, awake_cores():
        for number in range(settings.rounds):
            for target in targets:
                server = fleet.server(target, workload)
                options = ("--events", EVENTS, "--connections", CONNECTIONS, "--seconds", settings.seconds * 2)
                result = bench.generator.run("chunks", server, workload, *options)
                share = result["coalesced"] / result["events"]
                rows.append(
                    {"target": target.name, "coalesced": share, **{key: result["delay"][key] for key in PERCENTILES}}
                )
            bench.progress(f"chunks, round {number + 1}")
    return medians(rows, ("target",))


def write(rows: list[Row]) -> Section:
    section = Section()
    section.add(
        f"From the upstream's write of an event until the client has read it: {CONNECTIONS} streams of {EVENTS} text "
        f"events, one write every {SPACING_MS} ms. *Added* is the difference of a percentile to the same one of the "
        "bare proxy; *coalesced* is the share of events that arrived with an earlier one. Cores were kept awake."
    )
    bare = select(rows, target="bare")
    section.table(
        ["target", "p50", "p90", "p99", "max", "added p50", "added p99", "coalesced"],
        [
            [
                row["target"],
                *(f"{row[key]:,.0f} µs" for key in PERCENTILES),
                *added(row, bare),
                f"{100 * row['coalesced']:.1f} %",
            ]
            for row in rows
        ],
    )
    title = "Delay of a chunk of a stream"
    groups = {label: {row["target"]: row[key] for row in rows} for key, label in (("p50_us", "p50"), ("p99_us", "p99"))}
    section.plot("chunk-delay", title, plots.bars(title, "µs, shorter is better", groups))
    return section


def added(row: Row, bare: list[Row]) -> list[str]:
    """Returns what a target adds to the bare proxy at p50 and p99."""
    if row["target"] in ("direct", "bare") or not bare:
        return ["", ""]
    return [f"{row[key] - bare[0][key]:+,.0f} µs" for key in ("p50_us", "p99_us")]
