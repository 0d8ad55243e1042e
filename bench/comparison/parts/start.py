"""Time from the start of the process until the first request has been answered, and memory right after."""

from __future__ import annotations

import time

from .. import plots, workloads
from ..machine import resident_mb
from ..report import Section
from ..results import Row, medians
from . import Bench

TITLE = "Start"
PAUSE = 0.0005


def measure(bench: Bench) -> list[Row]:
    rows = []
    targets = bench.targets(tuple(name for name in bench.settings.targets if name != "direct"))
    workload = workloads.parse("call")
    with bench.fleet() as fleet:
        fleet.mock.prefix = f"/{workload.answer}"
        fleet.mock.wait(workload.path, workload.body, list(workload.expected))
        fleet.mock.prefix = ""
        for _ in range(bench.settings.starts):
            for target in targets:
                started = time.monotonic()
                server = fleet.launch(target, workload)
                try:
                    reached = fleet.addressed(server, target, workload)
                    reached.wait(workload.path, workload.body, list(workload.expected), PAUSE)
                    seconds = time.monotonic() - started
                    assert server.pid
                    # Work in the background ends within this time.
                    time.sleep(0.5)
                    rows.append({"target": target.name, "start_ms": seconds * 1e3, "idle_mb": resident_mb(server.pid)})
                finally:
                    server.stop()
    bench.progress("start")
    return medians(rows, ("target",))


def write(rows: list[Row]) -> Section:
    section = Section()
    section.add(
        "From the start of the process until a request for a call has been answered through it, with a new store and "
        "without documents, and the resident memory of the process tree half a second later."
    )
    section.table(
        ["target", "first answer", "memory"],
        [[row["target"], f"{row['start_ms']:,.0f} ms", f"{row['idle_mb']:,.1f} MB"] for row in rows],
    )
    title = "Time from start to the first answer"
    groups = {row["target"]: {row["target"]: row["start_ms"]} for row in rows}
    section.plot("start", title, plots.bars(title, "ms, shorter is better", groups, is_log=True))
    return section
