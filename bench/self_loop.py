#!/usr/bin/env python3
"""Measures how long a request takes whose upstream leads back to the proxy: the nested request gets 508.

usage: bench/self_loop.py BINARY [REQUESTS]

A forwarder between proxy and upstream address hides that the address is a listener's, as a published port does.
docs/benchmarks/proxy-throughput.md has the results.
"""
import http.client
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time


def carry(source, target):
    """Copies one direction of a connection until its end."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def forward(listener, target):
    """Forwards each connection to the address in `target`."""
    while True:
        near, _ = listener.accept()
        far = socket.create_connection(target[0])
        for pair in ((near, far), (far, near)):
            threading.Thread(target=carry, args=pair, daemon=True).start()


def main():
    binary, count = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    listener = socket.create_server(("127.0.0.1", 0))
    target = []
    threading.Thread(target=forward, args=(listener, target), daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "callwright.toml")
        config.write_text(
            '[server]\nlisten = "127.0.0.1:0"\noperator_listen = "127.0.0.1:0"\n[store]\nurl = "sqlite:traces.sqlite3"\n'
            f'[upstreams.default]\nbase_url = "http://127.0.0.1:{listener.getsockname()[1]}/v1"\napi_key = "k"\ncircuit_failures = 0\n'
        )
        proxy = subprocess.Popen([binary, "serve", "--config", config], cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            sides = dict(word.split("=", 1) for word in proxy.stdout.readline().split() if "=" in word)
            address = sides["client"].removeprefix("http://").split(":")
            target.append((address[0], int(address[1])))
            connection = http.client.HTTPConnection(*target[0])
            body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello"}]})
            times = []
            for _ in range(count):
                started = time.perf_counter()
                connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
                answer = connection.getresponse()
                text = answer.read()
                times.append((time.perf_counter() - started) * 1000)
                assert answer.status == 508, (answer.status, text)
            operator = http.client.HTTPConnection(sides["operator"].removeprefix("http://"))
            time.sleep(1)
            operator.request("GET", f"/admin/traces?limit={min(count + 1, 500)}")
            traces = len(json.loads(operator.getresponse().read())["traces"])
        finally:
            proxy.terminate()
            proxy.wait()
    times_sorted = sorted(times)
    print(f"{count} requests: first {times[0]:.1f} ms, median {statistics.median(times):.2f} ms, "
          f"99th percentile {times_sorted[int(count * 0.99) - 1]:.1f} ms, maximum {times_sorted[-1]:.1f} ms; {traces} traces")


if __name__ == "__main__":
    main()
