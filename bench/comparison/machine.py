"""Figures of processes and of the machine, from /proc; cores that are kept awake."""

from __future__ import annotations

import os
import pathlib
import platform
import random
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")

# Servers listen below the range from which Linux takes the ports of outgoing connections, of which there are thousands.
PORTS = range(20_000, 32_000)

# Ends with its parent, even if that is killed.
SPIN = """
import os
os.sched_setaffinity(0, {{{core}}})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while os.getppid() == {parent}:
    for _ in range(1_000_000): pass
"""


def tree(process: int) -> list[int]:
    """Returns a process and its descendants."""
    found = [process]
    for parent in found:
        try:
            for thread in pathlib.Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            pass  # The process has ended.
    return found


def cpu_seconds(process: int) -> float:
    """Returns the CPU time of a process tree, user and system, including that of children that have ended."""
    ticks = 0
    for member in tree(process):
        try:
            stat = pathlib.Path(f"/proc/{member}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # The name in parentheses may contain spaces. utime is field 14 (proc_pid_stat(5)).
        ticks += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / TICKS_PER_SECOND


def resident_mb(process: int) -> float:
    """Returns the resident memory of a process tree in MB (10^6 bytes). Shared pages count for each process."""
    pages = 0
    for member in tree(process):
        try:
            pages += int(pathlib.Path(f"/proc/{member}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


@contextmanager
def awake_cores() -> Iterator[None]:
    """Keeps every core from sleeping, by a process of the scheduling class for idle time (SCHED_IDLE) on each.

    A core that sleeps between two requests takes tens of microseconds to wake up, which would hide the proxy's latency.
    Any other process displaces one of this class at once.
    """
    spinning = [
        subprocess.Popen([sys.executable, "-c", SPIN.format(core=core, parent=os.getpid())])
        for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def free_port() -> int:
    """Returns a port on which a server can listen."""
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as candidate:
            candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise SystemExit(f"bench/run: no port from {PORTS.start} to {PORTS.stop} is free")


def raise_file_limit() -> int:
    """Raises the limit of open files of this process and its children as far as permitted, and returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def description() -> str:
    """Describes the machine in words."""
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, {platform.system()} {platform.machine()}"
