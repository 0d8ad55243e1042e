"""Servers that a measurement starts, and ends again in any case."""

from __future__ import annotations

import http.client
import pathlib
import subprocess
import time
from dataclasses import dataclass, field

# Time in which the slowest peer starts, in seconds.
START_SECONDS = 120.0


@dataclass
class Server:
    """Server whose requests go to `http://127.0.0.1:PORT` and PREFIX. Direct requests have no process."""

    name: str
    port: int
    process: subprocess.Popen[bytes] | None = None
    prefix: str = ""
    headers: list[str] = field(default_factory=list)
    log: pathlib.Path | None = None

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process else None

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{self.prefix}{path}"

    def post(self, path: str, body: bytes, expected: list[str]) -> bool:
        """Sends one request, and returns whether it was answered as expected."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_SECONDS)
        fields = {"content-type": "application/json", "authorization": "Bearer bench"}
        for line in self.headers:
            name, _, value = line.partition(": ")
            fields[name] = value
        try:
            connection.request("POST", self.prefix + path, body, fields)
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return response.status == 200 and all(part in text for part in expected)

    def wait(self, path: str, body: bytes, expected: list[str], pause: float = 0.02) -> None:
        """Waits until a request is answered as expected."""
        end = time.monotonic() + START_SECONDS
        while not self.post(path, body, expected):
            if self.process and self.process.poll() is not None:
                self.fail(f"ended with status {self.process.returncode}")
            if time.monotonic() > end:
                self.fail(f"did not answer as expected within {START_SECONDS:.0f} seconds")
            time.sleep(pause)

    def fail(self, reason: str) -> None:
        """Ends the run with the server's log."""
        log = self.log.read_text(errors="replace")[-4000:] if self.log and self.log.exists() else ""
        raise SystemExit(f"bench/run: {self.name} {reason}\n{log}")

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def launch(command: list[str], log: pathlib.Path, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Starts a server with its output in a file."""
    with log.open("wb") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, cwd=log.parent)
