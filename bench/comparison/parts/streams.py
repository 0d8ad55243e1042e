"""Memory of a proxy with many open streams, and after they have ended."""

from __future__ import annotations

import json
import subprocess
import time

from .. import plots, workloads
from ..machine import raise_file_limit, resident_mb
from ..report import Section
from ..results import Row
from ..targets import Target
from ..workloads import Workload
from . import Bench

TITLE = "Memory of open streams"
TARGETS = ("nginx", "callwright")
CHUNKS = 8
INTERVAL = 0.5
# A proxied stream has two sockets; a process has some more files.
FILES_PER_STREAM, OTHER_FILES = 2, 150


def measure(bench: Bench) -> list[Row]:
    rows, files = [], raise_file_limit()
    for count in bench.settings.streams:
        if count * FILES_PER_STREAM + OTHER_FILES > files:
            raise SystemExit(f"bench/run: {count} streams require more than {files} open files; raise `ulimit -Hn`")
        # Streams must last until all are open.
        answer = {"chunks": CHUNKS, "spacing_ms": 1_000 if count <= 2_000 else 2_500}
        workload, first = workloads.parse("text-stream", **answer), workloads.parse("text", **answer)
        # Some connections more than streams, so that the limit is not what is measured.
        for target in bench.targets(TARGETS, connections=count + 1_000):
            rows.append(one(bench, target, workload, first, count))
            bench.progress(f"streams: {count}, {target.name}")
    return rows


def one(bench: Bench, target: Target, workload: Workload, first: Workload, count: int) -> Row:
    """Measures one target with a number of streams, in a new process that has answered a first request."""
    with bench.fleet() as fleet:
        server = fleet.server(target, first)
        assert server.pid
        time.sleep(1)
        idle, started = resident_mb(server.pid), time.monotonic()
        curve = [(0.0, idle)]
        command = bench.generator.command("streams", server, workload, "--streams", count)
        client = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ended = None
        while ended is None or time.monotonic() < ended + bench.settings.after[-1] + INTERVAL:
            time.sleep(INTERVAL)
            if ended is None and client.poll() is not None:
                ended = time.monotonic()
            curve.append((time.monotonic() - started, resident_mb(server.pid)))
        out, error = client.communicate()
        if client.returncode:
            server.fail(f"failed with {count} streams, so the run is discarded: {error.strip()}")
        if f"open {count}" not in out:
            server.fail(f"had not all of {count} streams open at the same time")
        seconds = json.loads(out.splitlines()[-1])["seconds"]
        peak = max(memory for _, memory in curve)
        after = {f"after_{wait}": at(curve, ended - started + wait) for wait in bench.settings.after}
        figures = {"idle": idle, "peak": peak, "kb_per_stream": (peak - idle) * 1e3 / count, "seconds": seconds}
        return {"target": target.name, "streams": count, **figures, **after, "curve": curve}


def at(curve: list[tuple[float, float]], moment: float) -> float:
    """Returns the first value at or after a moment."""
    return next((memory for time_, memory in curve if time_ >= moment), curve[-1][1])


def write(rows: list[Row]) -> Section:
    section = Section()
    section.add(
        "Resident memory of the process tree (MB are 10⁶ bytes): idle after one request, at its peak with all streams "
        "open, and some seconds after the last has ended. The events of each stream are "
        f"{CHUNKS} deltas, one per second or slower. A new process for each line."
    )
    waits = [key for key in rows[0] if key.startswith("after_")]
    headings = ["streams", "target", "idle", "peak", "per stream", *(f"{key[6:]} s after" for key in waits), "of idle"]
    section.table(
        headings,
        [
            [
                f"{row['streams']:,}",
                row["target"],
                f"{row['idle']:.1f} MB",
                f"{row['peak']:.1f} MB",
                f"{row['kb_per_stream']:.1f} kB",
                *(f"{row[key]:.1f} MB" for key in waits),
                f"{row[waits[-1]] / row['idle']:.2f}",
            ]
            for row in rows
        ],
    )
    most = max(row["streams"] for row in rows)
    title = f"Resident memory before, with and after {most:,} open streams"
    series = {row["target"]: row["curve"] for row in rows if row["streams"] == most}
    section.plot("streams-memory", title, plots.lines(title, "seconds", "MB", series))
    return section
