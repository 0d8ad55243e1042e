"""Validates the requests written by `requests` with openapi-core and prints the refusals by class.

usage: judge.py --documents DIR --requests DIR --refusals FILE [-j N] [--seconds N] [--every N]

Every refusal either has a class (`faults.py`: a name, a reason, and a predicate on the request, the refusal and the
document), or it is a fault of the executor. The exit status is 1 if there is a fault of the executor.
"""

import argparse
import collections
import concurrent.futures
import json
import logging
import pathlib
import re
import signal
import sys
import time
import traceback
import warnings

import documents
import faults
import reading
from openapi_core import Config, OpenAPI
from sent import Finder, Sent

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)


# Number of examples per class and document.
EXAMPLES = 3


class TimeUp(Exception):
    pass


def time_up(*_):
    raise TimeUp


class Document:
    """One document, prepared for validation."""

    def __init__(self, path, as_json, base_url):
        self.raw = documents.read(as_json)
        self.version = "2.0" if self.raw.get("x-converted") else documents.version(self.raw)
        self.raw = documents.prepared(self.raw, base_url)
        config = Config(spec_validator_cls=None, path_finder_cls=Finder)
        self.api = OpenAPI.from_dict(self.raw, config=config, base_uri=pathlib.Path(path).absolute().as_uri())

    def refusals(self, line):
        """Returns the refusals of the validator.

        If it finds no operation or another one, it receives the intended operation, if the request is routed there.
        """
        found, errors = self.errors(Sent(line))
        if found == line["path"]:
            return errors
        try:
            routed = Sent(line, is_routed=True)
        except ValueError as error:
            return [faults.Misrouted(str(error)), *errors]
        return self.errors(routed)[1]

    def errors(self, sent):
        try:
            validator = self.api.request_validator
            validator.path_finder.found = None
            errors = list(validator.iter_errors(sent))
            return validator.path_finder.found, errors
        except TimeUp:
            raise
        except Exception as error:
            return self.api.request_validator.path_finder.found, [faults.Crash(error, traceback.format_exc())]


def judge(task):
    """Validates the requests of one document. Returns counts by class, and one refusal of each class."""
    index, entry, folder, requests, seconds, every = task
    result = {"file": entry["file"], "version": "", "judged": 0, "accepted": 0, "ours": 0, "classes": {}, "error": None}
    lines = [json.loads(line) for line in open(requests / f"{index}.jsonl", encoding="utf-8")][::every]
    result["left"] = len(lines)
    signal.signal(signal.SIGALRM, time_up)
    signal.alarm(seconds)
    started = time.monotonic()
    try:
        document = Document(folder / entry["file"], requests / f"{index}.json", entry["base_url"])
        result["version"] = document.version
        for line in lines:
            note(document, line, document.refusals(line), result)
    except TimeUp:
        result["error"] = f"not judged within {seconds} s"
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.alarm(0)
    result["seconds"] = time.monotonic() - started
    return result


def note(document, line, errors, result):
    refusals = [refused for error in errors for refused in reading.taken_apart(error, line, document.raw)]
    classes = {(known.name, known.whose): refused for refused in refusals for known in [faults.class_of(refused)]}
    result["judged"] += 1
    result["left"] -= 1
    result["accepted"] += not classes
    result["ours"] += any(whose == "ours" for _, whose in classes)
    for (name, whose), refused in classes.items():
        seen = result["classes"].setdefault(name, {"whose": whose, "count": 0, "examples": []})
        seen["count"] += 1
        if len(seen["examples"]) < EXAMPLES:
            seen["examples"].append({"refusal": refused.described(), "request": line})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=pathlib.Path, required=True)
    parser.add_argument("--requests", type=pathlib.Path, required=True)
    parser.add_argument("--refusals", type=pathlib.Path, required=True, help="output file: examples of each class and document as JSON Lines")
    parser.add_argument("-j", dest="processes", type=int, default=2)
    parser.add_argument("--every", type=int, default=1, help="validate every Nth request")
    parser.add_argument("--seconds", type=int, default=300, help="time limit for one document")
    given = parser.parse_args()
    summary = json.loads((given.requests / "summary.json").read_text())
    tasks = [(index, entry, given.documents, given.requests, given.seconds, given.every) for index, entry in enumerate(summary)]
    results = []
    with concurrent.futures.ProcessPoolExecutor(given.processes) as pool, open(given.refusals, "w", encoding="utf-8") as out:
        for result in pool.map(judge, tasks):
            results.append(result)
            write_examples(result, out)
            if sys.stderr.isatty():
                print(f"\r{len(results)} of {len(tasks)} documents", end="", file=sys.stderr)
    sys.exit(1 if report(summary, results) else 0)


def write_examples(result, out):
    for name, seen in result["classes"].items():
        for example in seen["examples"]:
            line = {"class": name, "whose": seen["whose"], "count": seen["count"], "file": result["file"], **example}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    out.flush()


def report(summary, results):
    """Prints the tables. Returns the number of requests that are refused because of faults of the executor."""
    counts, in_documents, whose = collections.Counter(), collections.Counter(), {}
    for result in results:
        for name, seen in result["classes"].items():
            counts[name] += seen["count"]
            in_documents[name] += 1
            whose[name] = seen["whose"]
    total = lambda field: sum(result[field] for result in results)
    refused = sum((collections.Counter(entry["refused"]) for entry in summary), collections.Counter())
    not_made = [pair for entry in summary for pair in entry["not_made"]]
    left = [(entry, result) for entry, result in zip(summary, results) if entry["error"] or result["error"]]
    rows = [
        ("documents", len(summary)),
        ("operations", sum(entry["operations"] for entry in summary)),
        ("requests", sum(entry["requests"] for entry in summary)),
        ("judged", total("judged")),
        ("accepted", total("accepted")),
        ("refused, not ours", total("judged") - total("accepted") - total("ours")),
        ("refused, ours", total("ours")),
        ("not written by the executor", sum(refused.values())),
        ("no arguments found", len(not_made)),
        ("documents not judged", len(left)),
    ]
    for name, value in rows:
        print(f"{name:<28}{value:>8}")
    print("\nrefusals, documents, whose, class")
    for name, count in counts.most_common():
        print(f"{count:>8} {in_documents[name]:>4}  {whose[name]:<9}  {name}")
    print("\nnot written by the executor")
    kinds = collections.Counter()
    for reason, count in refused.items():
        kinds[re.sub("`[^`]*`", "`...`", reason)[:150]] += count
    for reason, count in kinds.most_common():
        print(f"{count:>8}  {reason}")
    print("\ndocuments not judged, requests left")
    for entry, result in left:
        print(f"{result['left']:>8}  {entry['file']}: {entry['error'] or result['error']}")
    return total("ours")


if __name__ == "__main__":
    main()
