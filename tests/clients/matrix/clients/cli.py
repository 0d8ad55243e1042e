"""Runs a coding agent's command line. Its shell tool runs two `echo` commands with the tickets A7 and B9."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import SECONDS

BIN = Path(os.environ.get("MATRIX_NODE", "")) / "node_modules" / ".bin"
QUESTION = "Run the commands for the tickets and report the token."
TOKENS = {"text": "T1", "parallel": "A7-B9-C3-D5"}


class Home:
    """A home folder and a working folder that exist for one run."""

    def __enter__(self):
        # Codex refuses a home below the folder of temporary files.
        self.folder = tempfile.TemporaryDirectory(dir=os.getcwd())
        self.home = Path(self.folder.name)
        (self.home / "work").mkdir()
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def run(self, command, **variables):
        environment = {**os.environ, "HOME": str(self.home), "NO_PROXY": "127.0.0.1", **variables}
        return subprocess.run(
            command,
            cwd=self.home / "work",
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )


def check(scenario, text, problem):
    """Returns what is wrong with the result, or None. The provider computes the token from the commands' outputs."""
    token = TOKENS.get(scenario, "A7-B9")
    if problem is None and f"Token: {token}." not in text:
        return f"text: {text[:400]!r}"
    return problem


def run_models(run):
    """Has the arguments and the output that harness.py describes. `run` takes the base URL and the model."""
    _, base_url, _, *models = sys.argv[1:]
    for model in models:
        try:
            detail = run(base_url, model)
        except Exception as error:
            detail = f"{type(error).__name__}: {error}"[:400]
        print(json.dumps({"model": model, "ok": detail is None, "detail": detail}), flush=True)
