"""Measures how precisely rescue finds tool calls that models wrote as plain text, against labels made by reading.

Draws records from a file of text answers to questions for which no offered tool fits (JSON Lines, plain or .gz;
records with "id", "mentions_tool" and "message"), and compares the output of `callwright scan` with the labels:

    python3 bench/relevance_sample.py ANSWERS                                 # ids of sample 1, one per line
    python3 bench/relevance_sample.py ANSWERS --sample 2                      # ids of sample 2
    python3 bench/relevance_sample.py ANSWERS --verdicts VERDICTS             # precision and recall on sample 1
    python3 bench/relevance_sample.py ANSWERS --sample 1 2 --verdicts VERDICTS --show 5        # on both together

Population: all records that name an offered tool in text ("mentions_tool", no native "tool_calls"). Sample 1 is
SAMPLE_SIZE of them, drawn with a fixed seed from the sorted ids. Sample 2 is drawn in the same way, with another seed,
from the records that sample 1 leaves, so the two are disjoint. Ids are printed in the order of the file.

Labels (JSON Lines): {"id", "label": "call"|"no_call", "kind", "doubt"}. relevance_labels.jsonl (sample 1) and
relevance_labels_2.jsonl (sample 2) are next to this script; --labels reads other files instead.
VERDICTS (JSON Lines, from `callwright scan`): {"id", "verdict", "calls", ...}. A record counts as rescued when its
verdict is not "text" and "calls" is not empty.

How the labels were made. A reader knew the question and the names of the offered tools, but not the verdict of the
program. Criterion for each text: would its author be surprised if a proxy executed this call now?

call: the text as a whole is the attempt to make one or more calls to an offered tool now.
  * The notation does not matter: Python syntax, JSON, tags, a name and then an object, a list, strings in a list.
  * Nor do a code fence, print(...), a subscript on the result, or a broken bracket or quote.
  * Wrong, invented, missing or unbound arguments (`depth=tank_depth`) do not make it less of a call, and neither does a
    tool that cannot answer the question.
  * Sentences before or after may announce the call, say what it does or claim a result. A caveat about the quality of
    the answer leaves it a call.
  * Where a tagged call is followed by code that would use its result, the tagged call still counts.
  * Among several calls one to an offered tool is enough.

no_call: everything else, in particular
  * what the user could run: "here is how you can use it", "for example", "you would call";
  * example values that the text itself calls stand-ins: to be replaced, or valid only if they happen to be right;
  * a definition or signature; a program around the call (imports, variables that hold the arguments, loops, def);
  * a call after which the text says that the tool does not fit or that the question cannot be answered;
  * a refusal, a question for missing arguments or an announcement that names the tool; a name without arguments;
  * calls only to tools that were not offered.

kind of a call: bare (one call, nothing else), listed (several, nothing else), fenced (in a code fence, nothing else),
prose+call (with sentences around it), other. kind of no call: explanation, example, definition, program, refusal,
mention, placeholder, unoffered, other.

doubt: two careful readers could disagree. The scores are also printed without these records.
"""

import argparse
import gzip
import json
import random
from collections import Counter
from pathlib import Path

SAMPLE_SIZE = 300
# One seed per sample. The order matters: each sample excludes the ones before it.
SAMPLE_SEEDS = {1: 20261121, 2: 20261123}
LABEL_FILES = {1: "relevance_labels.jsonl", 2: "relevance_labels_2.jsonl"}


def read_lines(path):
    """Yields the objects of a JSON Lines file, which is decompressed if its name ends in .gz."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def by_id(records, path):
    """Returns the records by id. A repeated id is an error, because one of the records would be lost."""
    table = {record["id"]: record for record in records}
    if len(table) != len(records):
        raise SystemExit(f"{path}: {len(records) - len(table)} repeated ids")
    return table


def draw(answers, size, samples):
    """Returns the ids of the requested samples, in file order. Sorted ids make the sample independent of that order."""
    texts = [id for id, record in answers.items() if record["mentions_tool"] and not record["message"].get("tool_calls")]
    remaining = set(texts)
    drawn = set()
    for sample, seed in SAMPLE_SEEDS.items():
        if sample > max(samples):
            break
        if len(remaining) < size:
            raise SystemExit(f"sample {sample} needs {size} records that name an offered tool, {len(remaining)} remain")
        ids = set(random.Random(seed).sample(sorted(remaining), size))
        remaining -= ids
        if sample in samples:
            drawn |= ids
    return [id for id in texts if id in drawn]


def is_rescued(verdict):
    return verdict["verdict"] != "text" and bool(verdict.get("calls"))


def is_read_as_call(verdict):
    """Whether the text was read as a call, including texts that were sent back because no call was recovered."""
    return verdict["verdict"] != "text"


def score(labels, verdicts, is_found=is_rescued):
    """Returns precision and recall over the labels; null if no call was found, or if the labels have no call."""
    found = {label["id"] for label in labels if is_found(verdicts[label["id"]])}
    calls = {label["id"] for label in labels if label["label"] == "call"}
    right = len(found & calls)
    return {
        "precision": round(right / len(found), 4) if found else None,
        "recall": round(right / len(calls), 4) if calls else None,
        "n": len(labels),
        "calls": len(calls),
    }


def show(title, wrong, answers, verdicts, limit):
    kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(label["kind"] for label in wrong).most_common())
    print(f"{title}: {len(wrong)}" + (f" ({kinds})" if kinds else ""))
    for label in wrong[:limit]:
        verdict = verdicts[label["id"]]
        doubt = ", doubt" if label["doubt"] else ""
        print(f"\n== {label['id']}: {label['kind']}{doubt}; verdict {verdict['verdict']}")
        for call in verdict.get("calls", ()):
            print("   call " + json.dumps(call, ensure_ascii=False))
        print(answers[label["id"]]["message"]["content"].strip())
    if limit and wrong:
        print()


def compare(answers, drawn, labels, verdicts, limit):
    if set(labels) != set(drawn):
        raise SystemExit(f"the labels do not match the drawn records: {len(set(labels) ^ set(drawn))} ids differ")
    missing = [id for id in drawn if id not in verdicts]
    if missing:
        raise SystemExit(f"{len(missing)} labelled records have no verdict, the first is {missing[0]}")
    ordered = [labels[id] for id in drawn]
    strange = [label["id"] for label in ordered if label["label"] not in ("call", "no_call")]
    if strange:
        raise SystemExit(f"neither call nor no_call: {strange[0]}")
    rescued = {id for id in drawn if is_rescued(verdicts[id])}
    false_positives = [label for label in ordered if label["label"] == "no_call" and label["id"] in rescued]
    false_negatives = [label for label in ordered if label["label"] == "call" and label["id"] not in rescued]
    show("false positives", false_positives, answers, verdicts, limit)
    show("false negatives", false_negatives, answers, verdicts, limit)
    print("without doubtful records: " + json.dumps(score([label for label in ordered if not label["doubt"]], verdicts)))
    print("read as calls, those sent back included: " + json.dumps(score(ordered, verdicts, is_read_as_call)))
    print(json.dumps(score(ordered, verdicts)))


def main():
    summary = __doc__.split("\n", 1)[0]
    parser = argparse.ArgumentParser(description=summary, epilog="The head of this script has the labelling rules.")
    parser.add_argument("answers", type=Path, help="text answers, JSON Lines, plain or .gz")
    parser.add_argument(
        "--sample",
        type=int,
        nargs="+",
        choices=sorted(SAMPLE_SEEDS),
        default=[1],
        help="samples to draw or to score together (default 1)",
    )
    parser.add_argument("--size", type=int, default=SAMPLE_SIZE, help="records per sample (default %(default)s)")
    parser.add_argument(
        "--labels", type=Path, nargs="+", help="labels of the drawn records (default: the files next to this script)"
    )
    parser.add_argument("--verdicts", type=Path, help="output of `callwright scan` for the answers; prints the scores")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print N false positives and N false negatives")
    options = parser.parse_args()
    if options.labels and options.verdicts is None:
        parser.error("--labels requires --verdicts")
    if options.show < 0 or options.size < 1:
        parser.error("--show must be at least 0 and --size at least 1")
    answers = by_id(read_lines(options.answers), options.answers)
    drawn = draw(answers, options.size, options.sample)
    if options.verdicts is None:
        print("\n".join(drawn))
        return
    files = options.labels or [Path(__file__).parent / LABEL_FILES[sample] for sample in sorted(set(options.sample))]
    labels = by_id([label for file in files for label in read_lines(file)], ", ".join(map(str, files)))
    verdicts = by_id(read_lines(options.verdicts), options.verdicts)
    compare(answers, drawn, labels, verdicts, options.show)


if __name__ == "__main__":
    main()
