"""Judges the requests that `requests` wrote with openapi-core and prints what it refuses, by class.

usage: judge.py --documents DIR --requests DIR [-j N] [--seconds N] [--refusals FILE]

Every refusal is either of a class of the validator's own faults (`faults.py`: the name, why it is one, and a predicate that looks at the
request, the refusal and the document), or it is ours. The exit status is 1 where any is ours.
"""

import argparse
import collections
import concurrent.futures
import json
import logging
import pathlib
import signal
import sys
import time
import traceback
import warnings

import documents
import faults
from openapi_core import Config, OpenAPI
from sent import Finder, Sent

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)


class TimeUp(Exception):
    pass


def time_up(*_):
    raise TimeUp


class Document:
    """One document, ready to judge."""

    def __init__(self, path, as_json, base_url):
        self.raw = documents.read(as_json)
        self.version = "2.0" if self.raw.pop("x-converted", False) else documents.version(self.raw)
        self.raw = documents.prepared(self.raw, base_url)
        config = Config(spec_validator_cls=None, path_finder_cls=Finder)
        self.api = OpenAPI.from_dict(self.raw, config=config, base_uri=pathlib.Path(path).absolute().as_uri())

    def refusals(self, line):
        """What the validator has against the request. Where it finds no operation or another one, it is told which one is meant, if the
        request leads there."""
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
    """The judgement of one document's requests: counts by class, and one refusal of each."""
    index, entry, folder, requests, seconds = task
    result = {"file": entry["file"], "version": "", "judged": 0, "accepted": 0, "classes": {}, "error": None}
    lines = [json.loads(line) for line in open(requests / f"{index}.jsonl", encoding="utf-8")]
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
    classes = {faults.class_of(error, line, document): error for error in errors}
    result["judged"] += 1
    result["left"] -= 1
    result["accepted"] += not classes
    for name, error in classes.items():
        seen = result["classes"].setdefault(name, {"count": 0, "examples": []})
        seen["count"] += 1
        if len(seen["examples"]) < 3:
            seen["examples"].append({"refusal": faults.text_of(error)[:1500], "request": line})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=pathlib.Path, required=True)
    parser.add_argument("--requests", type=pathlib.Path, required=True)
    parser.add_argument("--refusals", type=pathlib.Path, help="JSON Lines: one refusal of each class and document")
    parser.add_argument("-j", dest="processes", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=300, help="for one document")
    given = parser.parse_args()
    summary = json.loads((given.requests / "summary.json").read_text())
    tasks = [(index, entry, given.documents, given.requests, given.seconds) for index, entry in enumerate(summary)]
    with concurrent.futures.ProcessPoolExecutor(given.processes) as pool:
        results = list(pool.map(judge, tasks))
    if given.refusals:
        with open(given.refusals, "w", encoding="utf-8") as out:
            for result in results:
                for name, seen in result["classes"].items():
                    for example in seen["examples"]:
                        line = {"class": name, "count": seen["count"], "file": result["file"], **example}
                        out.write(json.dumps(line, ensure_ascii=False) + "\n")
    sys.exit(1 if report(summary, results) else 0)


def report(summary, results):
    """Prints the tables; the number of refusals that are ours."""
    classes = collections.Counter()
    in_documents = collections.Counter()
    for result in results:
        for name, seen in result["classes"].items():
            classes[name] += seen["count"]
            in_documents[name] += 1
    ours = sum(count for name, count in classes.items() if name not in faults.BY_NAME)
    refused = collections.Counter()
    for entry in summary:
        refused.update(entry["refused"])
    print(f"documents           {len(summary):>7}")
    print(f"operations          {sum(entry['operations'] for entry in summary):>7}")
    print(f"requests            {sum(entry['requests'] for entry in summary):>7}")
    print(f"judged              {sum(result['judged'] for result in results):>7}")
    print(f"accepted            {sum(result['accepted'] for result in results):>7}")
    print(f"refused, validator  {sum(classes.values()) - ours:>7}")
    print(f"refused, ours       {ours:>7}")
    print("\nclass of refusal: refusals, documents")
    for name, count in classes.most_common():
        mark = "" if name in faults.BY_NAME else "  <- ours"
        print(f"{count:>7} {in_documents[name]:>4}  {name}{mark}")
    print("\narguments not found for (tool's schema, kind)")
    not_made = [(entry["file"], *pair) for entry in summary for pair in entry["not_made"]]
    print(f"{len(not_made):>7} of {len(not_made) + sum(refused.values()) + sum(entry['requests'] for entry in summary)}")
    print("\nnot written by the executor, by reason")
    for reason, count in refused.most_common(12):
        print(f"{count:>7}  {reason[:140]}")
    print("\ndocuments not judged or not whole")
    for entry, result in zip(summary, results):
        if entry["error"] or result["error"]:
            print(f"{result['left']:>7}  {entry['file']}: {entry['error'] or result['error']}")
    return ours


if __name__ == "__main__":
    main()
