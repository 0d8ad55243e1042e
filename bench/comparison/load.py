"""Clients of the crate bench/load: each checks every response, and ends the run at the first wrong one."""

from __future__ import annotations

import json
import pathlib
import subprocess
from dataclasses import dataclass
from typing import Any

from .machine import cpu_seconds
from .processes import Server
from .workloads import Workload

# Requests of each connection before a measurement under load; of slow gateways fewer.
WARM_UP = 20


@dataclass
class Generator:
    """Program of the crate, and a folder for the bodies of requests."""

    program: pathlib.Path
    folder: pathlib.Path

    def command(self, verb: str, server: Server, workload: Workload, *options: object) -> list[str]:
        """Returns the command line of a client."""
        command = [str(self.program), verb, server.url(workload.path), "--body", str(workload.write(self.folder))]
        for text in workload.expected:
            command += ["--expect", text]
        for header in server.headers:
            command += ["--header", header]
        return command + [str(option) for option in options]

    def run(self, verb: str, server: Server, workload: Workload, *options: object) -> dict[str, Any]:
        """Runs a client and returns its result. A failed or wrong response discards the whole run."""
        done = subprocess.run(self.command(verb, server, workload, *options), capture_output=True, text=True)
        if done.returncode:
            server.fail(f"failed in the workload {workload.name}, so the run is discarded: {done.stderr.strip()}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def under_load(
        self, server: Server, workload: Workload, connections: int, seconds: float, warm_up: int = WARM_UP
    ) -> dict[str, float]:
        """Measures requests per second, latency, and the proxy's CPU time per request under load."""
        before = cpu_seconds(server.pid) if server.pid else 0.0
        options = ("--connections", connections, "--seconds", seconds, "--warm-up", warm_up)
        result = self.run("measure", server, workload, *options)
        values = {
            "requests_per_second": result["requests"] / result["seconds"],
            "p50_us": result["whole"]["p50_us"],
            "p99_us": result["whole"]["p99_us"],
        }
        if server.pid:
            # The warm-up needs CPU time too.
            requests = result["requests"] + warm_up * connections
            values["cpu_us"] = (cpu_seconds(server.pid) - before) * 1e6 / requests
        return values
