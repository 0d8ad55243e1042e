#!/usr/bin/env python3
"""usage: score.py FAILURES.jsonl EXPLANATIONS.jsonl [--by api|kind|layout|source] [--show N] [--calibration]

Prints how often the first passage, or one of the first three, contains the explaining sentence: at least four in five
of its words within the passage's first 1,200 characters. For undocumented failures (without a sentence) it prints how
often no passage was returned. --calibration prints the accuracy by ranges of the first passage's score.
"""
import argparse
import collections
import json
import re

READ = 1200


def read(path):
    with open(path, encoding="utf-8") as handle:
        return [json.loads(line) for line in handle if line.strip()]


def words(text):
    return collections.Counter(re.findall(r"[a-z0-9]+", re.sub(r"\]\([^)]*\)", "]", text.lower())))


def tells(passage, gold):
    have, want = words(passage[:READ]), words(gold)
    return bool(want) and sum((have & want).values()) >= 0.8 * sum(want.values())


def group(record, by):
    api = record["api"]
    return {"api": api, "kind": record.get("kind", ""), "layout": api.partition("-")[2] or api, "source": api.partition("-")[0]}[by]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("failures")
    parser.add_argument("explanations")
    parser.add_argument("--by", default="layout")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--calibration", action="store_true")
    args = parser.parse_args()
    answers = {answer["id"]: answer for answer in read(args.explanations)}
    groups, bins, lengths, shown = collections.defaultdict(collections.Counter), collections.defaultdict(list), [], 0
    for record in read(args.failures):
        if record["id"] not in answers:
            continue
        answer = answers[record["id"]]
        passages = answer["passages"][:3]
        lengths += map(len, passages)
        hits = [tells(passage, record["gold"]) for passage in passages]
        told = tells(json.dumps(record["body"]), record["gold"])
        if not record["gold"]:
            hits = [True] if not passages else [False]
        kind = "undocumented" if not record["gold"] else "explained by the body" if told else "not explained by the body"
        for name in ("all" if record["gold"] else "undocumented, all", kind, group(record, args.by)):
            counts = groups[name]
            counts.update(n=1, first=any(hits[:1]), third=any(hits), empty=not passages, passages=len(passages))
        if answer.get("scores") and passages:
            bins[min(9, int(answer["scores"][0] * 10))].append(any(hits[:1]))
        if shown < args.show and not any(hits[:1]):
            shown += 1
            print(f"{record['id']} {record['operation']} {json.dumps(record['body'])[:200]}\n  gold {record['gold'][:200]}")
            for passage, source in zip(passages, answer.get("sources", [""] * 3)):
                print(f"  got  {passage[:200]!r} [{source}]")
    for name in sorted(groups):
        counts = groups[name]
        n = counts["n"]
        print(f"{name:<32} n {n:>6}  first {counts['first'] / n:7.2%}  in three {counts['third'] / n:7.2%}  empty {counts['empty'] / n:6.2%}"
              f"  passages {counts['passages'] / n:.2f}")
    print(f"characters of a passage on average: {sum(lengths) / max(1, len(lengths)):.0f}")
    for low in sorted(bins) if args.calibration else []:
        print(f"  score {low / 10:.1f} to {low / 10 + 0.1:.1f}: {len(bins[low]):>6} answers, {sum(bins[low]) / len(bins[low]):7.2%} right")


if __name__ == "__main__":
    main()
