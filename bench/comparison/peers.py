"""Other gateways, with one worker each. Each runs from a folder or virtual environment outside of the repository."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess

from .machine import free_port
from .processes import Server, launch
from .targets import Target


class Peer(Target):
    """Gateway that is installed at `place`."""

    is_shared = False
    option = ""

    def __init__(self, place: pathlib.Path | None) -> None:
        super().__init__(type(self).__name__.lower())
        self.place = place

    def program(self) -> pathlib.Path | None:
        """Returns the file that is executed or interpreted."""
        return self.place

    def absence(self) -> str | None:
        if self.place is None:
            return f"not given ({self.option})"
        program = self.program()
        return None if program and program.exists() else f"{program} does not exist"

    def python_version(self, package: str) -> str:
        """Returns the version of a package in the virtual environment."""
        assert self.place
        found = self.place.glob(f"lib/python*/site-packages/{package}-*.dist-info")
        return next((folder.name.removesuffix(".dist-info").rpartition("-")[2] for folder in found), "")


class Portkey(Peer):
    """The gateway of `npm i @portkey-ai/gateway`. A header field names the upstream."""

    option = "--portkey DIR, after `npm i @portkey-ai/gateway` in DIR"

    def program(self) -> pathlib.Path | None:
        return self.place and self.place / "node_modules/@portkey-ai/gateway/build/start-server.js"

    def version(self) -> str:
        assert self.place
        package = self.place / "node_modules/@portkey-ai/gateway/package.json"
        return str(json.loads(package.read_text())["version"])

    def absence(self) -> str | None:
        return super().absence() or (None if shutil.which("node") else "Node.js is not installed")

    def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
        port, log = free_port(), folder / "portkey.log"
        command = ["node", str(self.program()), "--headless", f"--port={port}"]
        env = {**os.environ, "NODE_ENV": "production"}
        headers = ["x-portkey-provider: openai", f"x-portkey-custom-host: http://127.0.0.1:{mock.port}/{answer}/v1"]
        return Server(self.name, port, launch(command, log, env), headers=headers, log=log)


class LiteLLM(Peer):
    """The proxy of `pip install 'litellm[proxy]'`."""

    option = "--litellm VENV, after `VENV/bin/pip install 'litellm[proxy]'`"

    def program(self) -> pathlib.Path | None:
        return self.place and self.place / "bin/litellm"

    def version(self) -> str:
        return self.python_version("litellm")

    def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
        port, log = free_port(), folder / "litellm.log"
        (folder / "litellm.yaml").write_text(
            "model_list:\n- model_name: mock\n  litellm_params:\n    model: openai/mock\n"
            f"    api_base: http://127.0.0.1:{mock.port}/{answer}/v1\n    api_key: bench\n"
            "litellm_settings:\n  telemetry: false\n"
        )
        config = str(folder / "litellm.yaml")
        command = [
            str(self.program()),
            "--config",
            config,
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--num_workers",
            "1",
        ]
        env = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR"}
        # Without keys, as Callwright has none here.
        env["LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY"] = "true"
        return Server(self.name, port, launch(command, log, env), log=log)


class Forge(Peer):
    """The proxy of `pip install forge-guardrails`."""

    option = "--forge VENV, after `VENV/bin/pip install forge-guardrails`"

    def program(self) -> pathlib.Path | None:
        return self.place and self.place / "bin/python"

    def version(self) -> str:
        return self.python_version("forge_guardrails")

    def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
        port, log = free_port(), folder / "forge.log"
        command = [
            str(self.program()),
            "-m",
            "forge.proxy",
            "--backend-url",
            f"http://127.0.0.1:{mock.port}/{answer}/v1",
        ]
        command += ["--backend", "openai", "--host", "127.0.0.1", "--port", str(port), "--no-serialize"]
        return Server(self.name, port, launch(command, log), log=log)


class Agentgateway(Peer):
    """The binary of agentgateway, with one route to an OpenAI backend."""

    option = "--agentgateway BINARY"

    def version(self) -> str:
        done = subprocess.run([str(self.place), "--version"], capture_output=True, text=True)
        numbers = re.search(r"\d+\.\d+\.\d+\S*", done.stdout)
        return numbers[0].strip('",') if numbers else ""

    def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
        port, log = free_port(), folder / "agentgateway.log"
        (folder / "config.yaml").write_text(f"""
binds:
- port: {port}
  listeners:
  - name: llm
    protocol: HTTP
    routes:
    - backends:
      - ai:
          name: mock
          hostOverride: "127.0.0.1:{mock.port}"
          pathOverride: /{answer}/v1/chat/completions
          provider:
            openAI:
              model: mock
""")
        env = {**os.environ, "WORKER_THREADS": "1"}
        return Server(self.name, port, launch([str(self.place), "-f", "config.yaml"], log, env), log=log)


PEERS = {"portkey": Portkey, "litellm": LiteLLM, "forge": Forge, "agentgateway": Agentgateway}
