"""Targets: the ways of a request to the mock upstream that are measured."""

from __future__ import annotations

import os
import pathlib
import shutil
from dataclasses import dataclass, field

from .machine import free_port
from .processes import Server, launch
from .workloads import Workload


@dataclass
class Programs:
    """Programs that are measured or that measure."""

    callwright: pathlib.Path
    generator: pathlib.Path
    nginx: str | None = field(default_factory=lambda: shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"))


class Target:
    """Way to the upstream. `is_shared`: one server is enough for all answers, which the request's path selects."""

    is_shared = True

    def __init__(self, name: str) -> None:
        self.name = name

    def absence(self) -> str | None:
        """Returns why the target cannot be measured here."""
        return None

    def version(self) -> str:
        """Returns the version for the page, unless the conditions of the run have it."""
        return ""

    def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
        """Starts a server that forwards to the mock upstream. It need not be ready."""
        raise NotImplementedError


class Direct(Target):
    """No proxy."""

    def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
        return Server(self.name, mock.port)


class Nginx(Target):
    """nginx with `proxy_pass`, upstream keep-alive, one worker per core, no access log and no buffering."""

    def __init__(self, programs: Programs, connections: int = 2_048) -> None:
        super().__init__("nginx")
        self.program, self.connections = programs.nginx, connections

    def absence(self) -> str | None:
        return None if self.program else "nginx is not installed (Debian: nginx-light)"

    def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
        port = free_port()
        (folder / "nginx.conf").write_text(f"""
            daemon off;
            pid nginx.pid;
            error_log stderr warn;
            worker_processes auto;
            worker_rlimit_nofile {self.connections};
            events {{ worker_connections {self.connections}; }}
            http {{
              access_log off;
              client_body_temp_path body;
              client_body_buffer_size 1m;
              client_max_body_size 64m;
              proxy_temp_path proxy;
              fastcgi_temp_path fastcgi;
              uwsgi_temp_path uwsgi;
              scgi_temp_path scgi;
              keepalive_requests 100000000;
              upstream mock {{
                server 127.0.0.1:{mock.port};
                keepalive 256;
                keepalive_requests 100000000;
              }}
              server {{
                listen 127.0.0.1:{port} backlog=4096;
                location / {{
                  proxy_pass http://mock;
                  proxy_http_version 1.1;
                  proxy_set_header connection "";
                  proxy_buffering off;
                }}
              }}
            }}
        """)
        log = folder / "nginx.log"
        assert self.program
        process = launch([self.program, "-p", str(folder), "-e", "stderr", "-c", "nginx.conf"], log)
        return Server(self.name, port, process, log=log)


class Bare(Target):
    """hyper's server and client without inspection: the floor of a proxy of Callwright's construction."""

    def __init__(self, programs: Programs) -> None:
        super().__init__("bare")
        self.program = programs.generator

    def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
        port, log = free_port(), folder / "bare.log"
        command = [str(self.program), "proxy", f"http://127.0.0.1:{mock.port}", "--listen", f"127.0.0.1:{port}"]
        return Server(self.name, port, launch(command, log), log=log)


class Callwright(Target):
    """Callwright with the settings of a new installation; `-off` is `mode: off`, `-nostore` is without traces."""

    is_shared = False

    def __init__(self, name: str, programs: Programs, connections: int | None = None) -> None:
        super().__init__(name)
        self.program, self.connections = programs.callwright, connections

    def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
        port, policies = free_port(), ""
        if "-off" in self.name:
            policies = str(folder / "policies")
            pathlib.Path(policies).mkdir()
            pathlib.Path(policies, "default.yaml").write_text("name: default\nmode: off\n")
        store = "" if self.name.endswith("-nostore") else f"sqlite:{folder / 'traces.sqlite3'}"
        most = f"max_connections = {self.connections}\n" if self.connections else ""
        (folder / "callwright.toml").write_text(
            f'[server]\nlisten = "127.0.0.1:{port}"\noperator_listen = "127.0.0.1:0"\n{most}'
            f'[upstreams.default]\nbase_url = "http://127.0.0.1:{mock.port}/{answer}/v1"\n'
            f'[policies]\ndirectory = "{policies}"\n[store]\nurl = "{store}"\n'
        )
        log = folder / "callwright.log"
        process = launch([str(self.program), "serve", "--config", str(folder / "callwright.toml")], log)
        return Server(self.name, port, process, log=log)


def parse(name: str, programs: Programs, connections: int | None = None) -> Target:
    """Returns the target of a name, for a number of connections if there are many."""
    match name:
        case "direct":
            return Direct(name)
        case "nginx":
            # A proxied connection has two ends.
            return Nginx(programs, 2 * connections + 1_000) if connections else Nginx(programs)
        case "bare":
            return Bare(programs)
        case "callwright" | "callwright-off" | "callwright-nostore" | "callwright-off-nostore":
            return Callwright(name, programs, connections)
        case _:
            raise SystemExit(f"bench/run: {name}: no such target")


class Fleet:
    """Servers of one part of the measurement. They are started when they are needed first, and stopped at its end."""

    def __init__(self, generator: pathlib.Path, folder: pathlib.Path) -> None:
        self.folder, self.servers = folder, dict[tuple[str, str], Server]()
        port, log = free_port(), folder / "mock.log"
        self.mock = Server(
            "mock", port, launch([str(generator), "mock", "--listen", f"127.0.0.1:{port}"], log), log=log
        )

    def server(self, target: Target, workload: Workload) -> Server:
        """Returns a running server of the target that answers the workload."""
        key = (target.name, "" if target.is_shared else workload.answer)
        if key not in self.servers:
            self.servers[key] = self.launch(target, workload)
            server = self.addressed(self.servers[key], target, workload)
            server.wait(workload.path, workload.body, list(workload.expected))
        return self.addressed(self.servers[key], target, workload)

    def launch(self, target: Target, workload: Workload) -> Server:
        """Starts a new server without waiting for it. The caller stops it unless it is one of the fleet's."""
        folder = self.folder / f"{target.name}-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        # nginx drops its privileges if root starts it, and its workers need access to the folder.
        folder.chmod(0o777)
        return target.start(self.mock, workload.answer, folder)

    def addressed(self, server: Server, target: Target, workload: Workload) -> Server:
        """Returns the server with the path that selects the workload's answer."""
        if not target.is_shared:
            return server
        return Server(server.name, server.port, server.process, f"/{workload.answer}", server.headers, server.log)

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        for server in [*self.servers.values(), self.mock]:
            server.stop()
