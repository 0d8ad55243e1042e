"""Command line of bench/run."""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from types import ModuleType

from . import machine, report, results
from .parts import QUICK, Bench, Settings, chunks, growth, latency, peers, start, streams, throughput
from .peers import PEERS
from .results import Row
from .targets import Programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS: dict[str, ModuleType] = {
    "throughput": throughput,
    "latency": latency,
    "chunks": chunks,
    "streams": streams,
    "start": start,
    "growth": growth,
    "peers": peers,
}
LISTS = ("concurrency", "workloads", "sweep", "targets", "rates", "streams", "peers")


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/run",
        description="Measures direct requests, nginx, a bare proxy, Callwright and other gateways beside each other.",
    )
    extent = Settings()
    parser.add_argument("--parts", default=" ".join(PARTS), help="parts to measure (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="short measurements that show whether everything works")
    parser.add_argument("--binary", type=pathlib.Path, help="measured program; by default it is built")
    parser.add_argument("--label", help="name of the measured program on the page (its version and profile)")
    parser.add_argument("--profile", default="dist", help="cargo profile of the program that is built (%(default)s)")
    parser.add_argument(
        "--output", type=pathlib.Path, help="folder of the page (docs/benchmarks; with --quick target/bench)"
    )
    parser.add_argument(
        "--render", action="store_true", help="write page and plots again from the data, without measuring"
    )
    parser.add_argument(
        "--rounds", type=int, help=f"interleaved rounds, of which medians are reported ({extent.rounds})"
    )
    parser.add_argument("--seconds", type=float, help=f"length of a measurement under load ({extent.seconds})")
    parser.add_argument(
        "--requests", type=int, help=f"requests of a measurement with one connection ({extent.requests})"
    )
    for name in LISTS:
        default = " ".join(map(str, getattr(extent, name)))
        parser.add_argument(f"--{name}", help=f"words separated by spaces ({default})")
    for name, peer in PEERS.items():
        parser.add_argument(
            f"--{name}", type=pathlib.Path, metavar="PATH", help=peer.option.partition(" ")[2] or "its program"
        )
    return parser


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Returns the extent of the run."""
    settings = QUICK if arguments.quick else Settings()
    changes: dict[str, object] = {}
    for name in ("rounds", "seconds", "requests", *LISTS):
        value = getattr(arguments, name)
        if value is None:
            continue
        if name in LISTS:
            words = value.split()
            default = getattr(settings, name)
            try:
                value = tuple(map(type(default[0]), words))
            except ValueError:
                raise SystemExit(f"bench/run: --{name}: not a list of numbers: {value}") from None
        changes[name] = value
    places = {name: getattr(arguments, name) for name in PEERS}
    changes["peer_places"] = {name: place.resolve() for name, place in places.items() if place}
    if unknown := [name for name in changes.get("peers", ()) if name not in PEERS]:  # type: ignore[attr-defined]
        raise SystemExit(f"bench/run: --peers: unknown: {', '.join(unknown)}")
    return dataclasses.replace(settings, **changes)  # type: ignore[arg-type]


def build(arguments: argparse.Namespace) -> Programs:
    """Builds the load generator, and the measured program unless one is given."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    cargo = ["cargo", "build", "--quiet", "--locked"]
    # A short run only shows that everything works: it takes the build that is ready sooner.
    generator = "dev" if arguments.quick else "release"
    subprocess.run([*cargo, "--profile", generator, "--package", "callwright-bench"], check=True, cwd=ROOT)
    if binary := arguments.binary:
        if not os.access(binary, os.X_OK):
            raise SystemExit(f"bench/run: --binary {binary}: no such program")
    else:
        subprocess.run([*cargo, "--profile", arguments.profile, "--bin", "callwright"], check=True, cwd=ROOT)
        binary = output_folder(target, arguments.profile) / "callwright"
    return Programs(binary.resolve(), (output_folder(target, generator) / "callwright-bench").resolve())


def output_folder(target: pathlib.Path, profile: str) -> pathlib.Path:
    """Returns the output folder of a profile."""
    return target / ("debug" if profile == "dev" else profile)


def label_of(arguments: argparse.Namespace, programs: Programs) -> str:
    """Returns the name of the measured program on the page."""
    if arguments.label:
        return str(arguments.label)
    version = subprocess.run(
        [programs.callwright, "--version"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return f"{version}, " + ("given binary" if arguments.binary else f"profile {arguments.profile}")


def describe(bench: Bench, label: str) -> Row:
    """Returns the conditions of a part."""
    text = machine.description()
    if bench.programs.nginx:
        version = subprocess.run([bench.programs.nginx, "-v"], check=True, capture_output=True, text=True).stderr
        text += ", nginx " + re.sub(r".*/", "", version.strip()).split(" ")[0]
    settings = bench.settings
    extent = {"rounds": settings.rounds, "seconds": settings.seconds}
    text += "".join(f", {name} {version}" for name, version in bench.versions.items())
    return {"date": time.strftime("%Y-%m-%d"), "machine": text, "callwright": label, **extent, "absent": bench.absent}


def main() -> None:
    arguments = options().parse_args()
    chosen = arguments.parts.split()
    if unknown := [name for name in chosen if name not in PARTS]:
        raise SystemExit(f"bench/run: --parts: unknown: {', '.join(unknown)}; there are: {' '.join(PARTS)}")
    folder = arguments.output or ROOT / ("target/bench" if arguments.quick else "docs/benchmarks")
    data = folder / report.DATA
    measured = results.load(data)
    if not arguments.render:
        # Servers end with the run, also if it is interrupted.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        settings, programs = settings_of(arguments), build(arguments)
        label, begun = label_of(arguments, programs), time.monotonic()
        with tempfile.TemporaryDirectory() as work:
            os.chmod(work, 0o711)
            for name in chosen:
                bench, started = Bench(settings, programs, pathlib.Path(work)), time.monotonic()
                rows = PARTS[name].measure(bench)
                # Peers that are absent now do not replace those of an earlier run.
                if rows or name not in measured:
                    measured[name] = {"settings": describe(bench, label), "rows": rows}
                for absent, reason in bench.absent.items():
                    bench.progress(f"{name}: {absent} is absent: {reason}")
                bench.progress(f"{name}: {time.monotonic() - started:.0f} s")
        results.store(data, measured)
        print(f"measured in {time.monotonic() - begun:.0f} s")
    measured = results.load(data)
    if not measured:
        raise SystemExit(f"bench/run: {data} has no results")
    sections = [
        (part.TITLE, measured[name], part.write(measured[name]["rows"]))
        for name, part in PARTS.items()
        if name in measured
    ]
    report.write(folder, sections)
    print(f"written: {folder / report.PAGE}")
