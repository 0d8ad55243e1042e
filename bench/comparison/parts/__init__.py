"""Parts of the measurement. Each measures rows, and writes them as a section of the page."""

from __future__ import annotations

import pathlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from ..load import Generator
from ..report import Section
from ..results import Row
from ..targets import Fleet, Programs, Target, parse


@dataclass
class Settings:
    """Extent of a run. The defaults take about 18 minutes without peers."""

    rounds: int = 3
    seconds: float = 2.0
    requests: int = 2_000
    concurrency: tuple[int, ...] = (1, 8, 32, 128)
    workloads: tuple[str, ...] = ("call", "text", "call-40", "call-20k", "text-stream-100c", "call-stream")
    # Workloads that are measured at every number of connections; the others at the one of `comparison`.
    sweep: tuple[str, ...] = ("call", "text-stream-100c")
    targets: tuple[str, ...] = ("direct", "nginx", "bare", "callwright-off", "callwright")
    rates: tuple[int, ...] = (500, 1_000, 2_000)
    streams: tuple[int, ...] = (1_000, 9_900)
    # Seconds after the last stream at which memory is read.
    after: tuple[int, ...] = (16, 30)
    starts: int = 10
    messages: tuple[int, ...] = (1, 10, 100, 1_000)
    tools: tuple[int, ...] = (3, 40, 128)
    sizes: tuple[int, ...] = (200, 2_000, 20_000, 200_000)
    chunks: tuple[int, ...] = (10, 100, 1_000)
    peers: tuple[str, ...] = ("portkey", "litellm", "forge", "agentgateway")
    peer_places: dict[str, pathlib.Path] = field(default_factory=dict)

    @property
    def comparison(self) -> int:
        """Returns the number of connections at which all workloads are compared."""
        return 32 if 32 in self.concurrency else self.concurrency[-1]


QUICK = Settings(
    rounds=1,
    seconds=0.5,
    requests=500,
    concurrency=(1, 32),
    workloads=("call", "text-stream-100c"),
    rates=(500, 2_000),
    streams=(1_000,),
    after=(16,),
    starts=3,
    messages=(1, 100),
    tools=(3, 40),
    sizes=(200, 20_000),
    chunks=(10, 100),
)


@dataclass
class Bench:
    """What a part needs: settings, programs, and servers in a folder of its own."""

    settings: Settings
    programs: Programs
    folder: pathlib.Path
    # Targets that were not measured, and why.
    absent: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def generator(self) -> Generator:
        return Generator(self.programs.generator, self.folder)

    @contextmanager
    def fleet(self) -> Iterator[Fleet]:
        """Runs servers, which end with the block."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        folder.chmod(0o711)
        with Fleet(self.programs.generator, folder) as fleet:
            yield fleet

    def targets(self, names: tuple[str, ...], connections: int | None = None) -> list[Target]:
        """Returns the targets that can be measured; the page names the others."""
        return self.present([parse(name, self.programs, connections) for name in names])

    def present(self, targets: list[Target]) -> list[Target]:
        """Returns the targets that are installed; the page names the others."""
        found = []
        for target in targets:
            if reason := target.absence():
                self.absent[target.name] = reason
                continue
            found.append(target)
            if version := target.version():
                self.versions[target.name] = version
        return found

    def progress(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class Part(Protocol):
    """Module of a part."""

    TITLE: str

    def measure(self, bench: Bench) -> list[Row]: ...

    def write(self, rows: list[Row]) -> Section: ...
