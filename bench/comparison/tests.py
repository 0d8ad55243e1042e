"""Tests of what could be wrong without notice: `cd bench && python3 -B -m unittest comparison.tests`.

They use the load generator of `cargo build --package callwright-bench`.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from typing import Any

import body

from . import machine, plots, report, results, workloads
from .command import PARTS, ROOT, options, settings_of
from .load import Generator
from .parts import Bench, Settings, peers, streams, throughput
from .peers import PEERS
from .processes import Server
from .targets import Direct, Fleet, Programs, Target

GENERATOR = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "callwright-bench"
SVG = "{http://www.w3.org/2000/svg}"


def bench(folder: str, **settings: Any) -> Bench:
    """Returns what a part needs, with a program that is not used in place of Callwright."""
    return Bench(Settings(**settings), Programs(pathlib.Path("/bin/false"), GENERATOR), pathlib.Path(folder))


class Medians(unittest.TestCase):
    def test_each_group_has_the_median_of_its_rounds(self) -> None:
        rounds = [{"target": name, "cpu_us": cpu} for cpu in (3.0, 1.0, 2.0) for name in ("nginx", "bare")]
        rounds[1]["cpu_us"] = 9.0
        expected = [{"target": "nginx", "cpu_us": 2.0}, {"target": "bare", "cpu_us": 2.0}]
        self.assertEqual(results.medians(rounds, ("target",)), expected)

    def test_a_value_that_is_absent_in_a_round_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "different values"):
            results.medians([{"target": "nginx", "cpu_us": 1.0}, {"target": "nginx"}], ("target",))

    def test_stored_results_are_rounded_and_read_again(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "new", report.DATA)
            self.assertEqual(results.load(file), {})
            rows = [{"start_ms": 12.345678, "streams": 9_900, "curve": [(0.0, 1.23456)]}, {"start_ms": 0.5}]
            results.store(
                file, {"start": {"settings": {"rounds": 1}, "rows": rows}, "peers": {"settings": {}, "rows": []}}
            )
            expected = [{"start_ms": 12.35, "streams": 9_900, "curve": [[0.0, 1.235]]}, {"start_ms": 0.5}]
            self.assertEqual(results.load(file)["start"], {"settings": {"rounds": 1}, "rows": expected})
            self.assertEqual(results.load(file)["peers"]["rows"], [])


class Workloads(unittest.TestCase):
    def test_a_name_selects_request_and_answer(self) -> None:
        table = {
            "call": ("answer=call", "/v1/chat/completions", 3, 2, False),
            "text-stream-100c": ("answer=text&chunks=100&size=300", "/v1/chat/completions", 3, 2, True),
            "messages-call-stream": ("answer=call", "/v1/messages", 3, 1, True),
            "responses-text-40": ("answer=text", "/v1/responses", 40, 1, False),
            "call-1000m": ("answer=call", "/v1/chat/completions", 3, 1_001, False),
            "text-20000b": ("answer=text&size=20000", "/v1/chat/completions", 3, 2, False),
        }
        for name, (answer, path, tools, messages, is_stream) in table.items():
            workload = workloads.parse(name)
            request = json.loads(workload.body)
            sent = request.get("messages", request.get("input"))
            found = (workload.answer, workload.path, len(request["tools"]), len(sent), request.get("stream", False))
            self.assertEqual(found, (answer, path, tools, messages, is_stream), name)

    def test_unknown_names_are_errors(self) -> None:
        for name in ("", "calls", "call-100c", "text-100c", "call--40", "chat-call"):
            with self.assertRaises(SystemExit, msg=name):
                workloads.parse(name)

    def test_every_conversation_ends_with_the_question(self) -> None:
        for variant in ("", "-20k", "-2m", "-100m"):
            roles = [message["role"] for message in body.conversation(variant)]
            self.assertEqual(roles[-1], "user", variant)
            self.assertTrue(all(one != next_ for one, next_ in zip(roles, roles[1:])), variant)


class Machine(unittest.TestCase):
    def test_the_cpu_time_of_a_tree_includes_children_that_run_and_that_have_ended(self) -> None:
        burn = "import time\nwhile time.process_time() < 0.2: pass\n"
        last = burn + "print(flush=True)\ninput()\n"
        code = (
            "import subprocess, sys\n"
            f"subprocess.run([sys.executable, '-c', {burn!r}])\n"
            f"child = subprocess.Popen([sys.executable, '-c', {last!r}], stdin=subprocess.PIPE)\n"
            "input()\nchild.communicate(b'x')\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout
        process.stdout.readline()
        self.assertEqual(len(machine.tree(process.pid)), 2)
        # Each process has used 0.2 s and is counted once; ticks are hundredths of a second.
        self.assertGreaterEqual(machine.cpu_seconds(process.pid), 0.38)
        self.assertGreater(machine.resident_mb(process.pid), machine.resident_mb(machine.tree(process.pid)[1]))
        process.communicate(b"\n")
        self.assertEqual(machine.cpu_seconds(process.pid), 0.0)

    def test_cores_are_awake_only_within_the_block(self) -> None:
        before = set(machine.tree(os.getpid()))
        with machine.awake_cores():
            spinning = set(machine.tree(os.getpid())) - before
            self.assertEqual(len(spinning), len(os.sched_getaffinity(0)))
        self.assertEqual(set(machine.tree(os.getpid())), before)


class Plots(unittest.TestCase):
    def test_a_plot_is_an_svg_with_a_line_for_each_series(self) -> None:
        series = {"nginx": [(1, 10.0), (128, 90.0)], "a < b & c": [(1, 20.0), (128, 5_000.0)]}
        for log_x, log_y in ((False, False), (True, True)):
            root = xml.etree.ElementTree.fromstring(plots.lines("x < y", "n", "µs", series, log_x, log_y))
            lines = root.findall(f"{SVG}polyline")
            self.assertEqual(len(lines), 2)
            for line in lines:
                for point in line.attrib["points"].split():
                    x, y = map(float, point.split(","))
                    self.assertTrue(
                        plots.LEFT <= x <= plots.WIDTH - plots.RIGHT and plots.TOP <= y <= plots.HEIGHT - plots.BOTTOM
                    )
            words = {text.text for text in root.iter(f"{SVG}text")}
            self.assertLessEqual({"x < y", "n", "µs", *series}, words)

    def test_longer_bars_are_larger_values(self) -> None:
        groups = {"call": {"nginx": 20.0, "callwright": 100.0, "litellm": 18_000.0}}
        for is_log in (False, True):
            root = xml.etree.ElementTree.fromstring(plots.bars("bars", "µs", groups, is_log))
            widths = [float(bar.attrib["width"]) for bar in root.findall(f"{SVG}rect") if bar.attrib["height"] == "13"]
            self.assertEqual(len(widths), 3)
            self.assertEqual(widths, sorted(widths))
            self.assertLess(widths[-1], plots.WIDTH)

    def test_axes_begin_at_zero_or_a_power_of_ten_and_contain_all_values(self) -> None:
        for values in ([3.0, 97.0], [0.2, 0.2], [1.0, 1.0], [700.0, 12_000.0, 900_000.0]):
            for is_log in (False, True):
                axis = plots.Axis(values, 0, 100, is_log)
                self.assertTrue(axis.low <= min(values) and max(values) <= axis.high, values)
                self.assertTrue(2 <= len(axis.ticks) <= 12, axis.ticks)
                self.assertEqual(axis.low == 0, not is_log)

    def test_a_plot_without_points_is_an_error(self) -> None:
        with self.assertRaises(ValueError):
            plots.lines("none", "", "", {"nginx": []})
        with self.assertRaises(ValueError):
            plots.bars("none", "", {})


class Sections(unittest.TestCase):
    def test_memory_and_gateways_have_a_table_and_a_plot(self) -> None:
        figures = {
            "idle": 35.0,
            "peak": 100.0,
            "kb_per_stream": 65.0,
            "seconds": 27.0,
            "after_16": 60.0,
            "after_30": 50.0,
        }
        curve = [(0.0, 35.0), (10.0, 100.0), (40.0, 50.0)]
        written = streams.write([{"target": "callwright", "streams": 1_000, **figures, "curve": curve}])
        self.assertIn("| 1,000 | callwright | 35.0 MB | 100.0 MB | 65.0 kB | 60.0 MB | 50.0 MB | 1.43 |", written.lines)
        self.assertEqual(list(written.plots), ["streams-memory.svg"])
        values = {"requests_per_second": 1_000.0, "p50_us": 900.0, "p99_us": 2_000.0, "cpu_us": 100.0}
        slow = {**values, "requests_per_second": 50.0, "cpu_us": 20_000.0}
        rows = [{"workload": "call", "connections": 32, "target": "callwright", **values}]
        written = peers.write([*rows, {"workload": "call", "connections": 32, "target": "litellm", **slow}])
        self.assertIn("| call | litellm | 50 | 20,000 | 0.90 | 2.00 | 200.00 | 20.0 |", written.lines)

    def test_absent_targets_are_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            found = bench(folder)
            present = found.present([PEERS["portkey"](None), PEERS["forge"](pathlib.Path(folder)), Direct("direct")])
            self.assertEqual([target.name for target in present], ["direct"])
            part = {"settings": {"date": "", "machine": "", "callwright": "", "rounds": 1, "absent": found.absent}}
            text = report.conditions(part).replace("\n", " ")
            self.assertIn("Absent: portkey, not given (--portkey DIR", text)
            self.assertIn("bin/python does not exist", text)

    def test_options_change_the_extent(self) -> None:
        settings = settings_of(
            options().parse_args(["--quick", "--concurrency", "2 4", "--targets", "bare", "--forge", "x"])
        )
        self.assertEqual((settings.rounds, settings.concurrency, settings.comparison), (1, (2, 4), 4))
        self.assertEqual((settings.targets, settings.peer_places), (("bare",), {"forge": pathlib.Path("x").resolve()}))
        for wrong in (["--rates", "fast"], ["--peers", "other"]):
            with self.assertRaises(SystemExit):
                settings_of(options().parse_args(wrong))


class Clients(unittest.TestCase):
    """The load generator against its mock upstream."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.assertTrue(GENERATOR.exists(), f"{GENERATOR} is missing: cargo build --package callwright-bench")
        work = self.folder / "work"
        work.mkdir()
        self.fleet = Fleet(GENERATOR, work)
        self.addCleanup(self.fleet.__exit__)
        self.generator = Generator(GENERATOR, self.folder)

    def server(self, workload: workloads.Workload) -> Server:
        return self.fleet.server(Direct("direct"), workload)

    def test_every_client_reports_what_it_has_sent(self) -> None:
        workload = workloads.parse("call")
        server = self.server(workload)
        result = self.generator.run("measure", server, workload, "--requests", 7, "--connections", 3, "--warm-up", 1)
        self.assertEqual(result["requests"], 21)
        result = self.generator.run("open", server, workload, "--rate", 1_000, "--seconds", 0.05)
        self.assertEqual(result["requests"], 50)
        stream = workloads.parse("text-stream-12c", stamps=1, spacing_ms=1)
        result = self.generator.run(
            "chunks", self.server(stream), stream, "--events", 12, "--connections", 2, "--seconds", 0
        )
        self.assertTrue(result["events"] >= 24 and result["events"] % 12 == 0, result)
        self.assertGreater(result["delay"]["p50_us"], 0)
        stream = workloads.parse("text-stream", chunks=8, spacing_ms=100)
        command = self.generator.command("streams", self.server(stream), stream, "--streams", 20)
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(lines[0], "open 20")

    def test_a_wrong_answer_discards_the_run(self) -> None:
        text, call = workloads.parse("text"), workloads.parse("call")
        server = self.server(text)
        server.prefix = f"/{text.answer}"
        expects_call = workloads.Workload("call", "chat", text.answer, call.body, call.expected)
        clients = (("measure", "--requests", 1), ("open", "--rate", 100, "--seconds", 0.1), ("streams", "--streams", 1))
        for client in (*clients, ("chunks", "--events", 1, "--seconds", 0.1)):
            with self.assertRaisesRegex(SystemExit, "the run is discarded: .*unexpected response", msg=client[0]):
                self.generator.run(client[0], server, expects_call, *client[1:])

    def test_a_stream_without_its_stamps_discards_the_run(self) -> None:
        stream = workloads.parse("text-stream")
        with self.assertRaisesRegex(SystemExit, "0 stamped events instead of 8"):
            self.generator.run("chunks", self.server(stream), stream, "--events", 8, "--seconds", 0.1)

    def test_a_server_that_ends_fails_with_its_log(self) -> None:
        class Ending(Target):
            def start(self, mock: Server, answer: str, folder: pathlib.Path) -> Server:
                process = subprocess.Popen(["sh", "-c", "exit 3"])
                (folder / "log").write_text("port in use")
                return Server(self.name, machine.free_port(), process, log=folder / "log")

        with self.assertRaisesRegex(SystemExit, "ended with status 3\nport in use"):
            self.fleet.server(Ending("ending"), workloads.parse("call"))

    def test_a_part_is_measured_and_written(self) -> None:
        found = bench(
            str(self.folder),
            rounds=2,
            seconds=0.05,
            concurrency=(1, 2),
            workloads=("call", "text-stream-100c"),
            targets=("direct", "bare"),
        )
        rows = throughput.measure(found)
        self.assertEqual(len(rows), 2 * 2 * 2)
        self.assertTrue(all(row["requests_per_second"] > 0 for row in rows))
        self.assertEqual([row["target"] for row in rows if "cpu_us" in row], ["bare"] * 4)
        part = {
            "settings": {"date": "today", "machine": "m", "callwright": "c", "rounds": 2, "absent": {}},
            "rows": rows,
        }
        report.write(self.folder, [(throughput.TITLE, part, throughput.write(rows))])
        page = (self.folder / report.PAGE).read_text()
        for plot in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page):
            xml.etree.ElementTree.parse(self.folder / plot)
        self.assertEqual(page.count("!["), len(list((self.folder / report.PLOTS).iterdir())))
        self.assertIn("Measured today: m; c; 2 rounds.", page)


class Command(unittest.TestCase):
    def test_every_part_has_a_title_and_both_functions(self) -> None:
        for name, part in PARTS.items():
            self.assertTrue(part.TITLE and callable(part.measure) and callable(part.write), name)


if __name__ == "__main__":
    unittest.main()
