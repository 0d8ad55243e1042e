"""Other gateways beside nginx and Callwright, each with one worker."""

from __future__ import annotations

from .. import plots, workloads
from ..peers import PEERS
from ..report import Section
from ..results import Row, distinct, medians, select
from ..targets import Target
from . import Bench

TITLE = "Other gateways"
TARGETS = ("nginx", "callwright")
WORKLOADS = ("call", "text")
WARM_UP = 2


def measure(bench: Bench) -> list[Row]:
    settings, rows = bench.settings, []
    peers: list[Target] = [PEERS[name](settings.peer_places.get(name)) for name in settings.peers]
    present = bench.present(peers)
    if not present:
        bench.progress("peers: none is installed")
        return []
    targets = bench.targets(TARGETS) + present
    with bench.fleet() as fleet:
        for number in range(settings.rounds):
            for name in WORKLOADS:
                workload = workloads.parse(name)
                for target in targets:
                    server = fleet.server(target, workload)
                    values = bench.generator.under_load(
                        server, workload, settings.comparison, settings.seconds, WARM_UP
                    )
                    row = {"workload": name, "connections": settings.comparison, "target": target.name}
                    rows.append(row | values)
                bench.progress(f"peers, round {number + 1}: {name}")
    return medians(rows, ("workload", "connections", "target"))


def write(rows: list[Row]) -> Section:
    section = Section()
    if not rows:
        section.add("None was measured.")
        return section
    section.add(
        f"{rows[0]['connections']} connections. Each gateway has one worker, so its throughput is limited by one core, "
        "while nginx and Callwright share all cores with load generator and upstream; compare the CPU time, which is "
        "that of the process tree."
    )
    headings = [
        "workload",
        "target",
        "requests/s",
        "CPU per request, µs",
        "p50, ms",
        "p99, ms",
        "CPU, of callwright's",
        "callwright's requests/s, times",
    ]
    section.table(headings, [line(row, select(rows, workload=row["workload"], target="callwright")[0]) for row in rows])
    title = "CPU time per request of other gateways"
    groups = {
        name: {row["target"]: row["cpu_us"] for row in select(rows, workload=name)}
        for name in distinct(rows, "workload")
    }
    section.plot(
        "peers-cpu", title, plots.bars(title, "µs per request, logarithmic, shorter is better", groups, is_log=True)
    )
    return section


def line(row: Row, callwright: Row) -> list[str]:
    cells = [row["workload"], row["target"], f"{row['requests_per_second']:,.0f}", f"{row['cpu_us']:,.0f}"]
    cells += [f"{row[key] / 1e3:,.2f}" for key in ("p50_us", "p99_us")]
    cells.append(f"{row['cpu_us'] / callwright['cpu_us']:,.2f}")
    return cells + [f"{callwright['requests_per_second'] / row['requests_per_second']:,.1f}"]
