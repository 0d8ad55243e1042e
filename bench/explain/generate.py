#!/usr/bin/env python3
"""usage: generate.py --out DIR [--source invented|system|status|result|services]... [--packages DIR] [--seed N] [--records N]

Writes error catalogues in every layout to DIR/docs, and failures with the sentences that explain them to
DIR/errors.jsonl, one per line: {"id", "api", "operation", "status", "kind", "body", "gold"}. The files depend only on
the seed.
"""
import argparse
import collections
import json
import pathlib
import random

import layouts
import sources


def bodies(entry, rng, unique):
    """Returns kind, status and body of each way in which APIs report an entry."""
    number = int(entry.code) if entry.code.isdigit() else entry.code
    url = f"https://docs.example.com/errors/{entry.code}"
    request = f"req_{rng.randrange(16 ** 10):010x}"
    yield "code", entry.status, {"code": number}
    yield "code and message", entry.status, {"code": number, "message": entry.title, "status": entry.status, "request_id": request}
    yield "code and link", entry.status, {"code": number, "message": "Request failed", "more_info": url, "status": entry.status}
    yield "code as text", entry.status, {"error": {"code": entry.code, "type": "api_error", "param": None}}
    yield "code in text", entry.status, {"error": f"Request failed with error {entry.code}", "took_ms": rng.randrange(3000)}
    yield "code in a list", 200, {"success": False, "errors": [{"errorCode": number, "retryAfter": rng.randrange(100)}], "result": None}
    yield "code with a prefix", entry.status, {"errorCode": f"ERR-{entry.code}", "traceId": request}
    yield "text", entry.status, f"ERROR {entry.code}: request {request} was refused"
    yield "xml", entry.status, f"<Error><Code>{entry.code}</Code><RequestId>{request}</RequestId></Error>"
    if unique:
        yield "message", entry.status, {"message": entry.title}
        yield "message in text", entry.status, f"Bad request: {entry.title.lower()} ({request})"


# One in this many entries is not documented.
LEFT_OUT = 25


def gold(entry, rng, has_lists):
    cause = entry.causes[0] if has_lists and entry.causes and rng.random() < 0.3 else ""
    return f"{entry.code} {entry.title} {entry.description} {cause}".strip()


def catalogue(source, layout, packages, seed, count, out):
    """Writes one documentation file and returns the failures that it explains."""
    rng = random.Random(f"{seed} {source} {layout}")
    known = sources.load(source, packages, random.Random(f"{seed} {source}"))
    # Undocumented entries, which must not get an explanation.
    titles = collections.Counter(entry.title.lower() for entry in known)
    left_out = [entry for entry in known if titles[entry.title.lower()] == 1][::LEFT_OUT]
    entries = [entry for entry in known if entry not in left_out]
    write, ending, has_second = layouts.LAYOUTS[layout]
    codes = [entry.code for entry in entries]
    second = layouts.second_table(rng, codes) if has_second else []
    api = f"{source}-{layout.replace('_', '-')}"
    (out / "docs" / f"{api}.{ending}").write_text(write(entries, second, rng), encoding="utf-8")
    has_lists = layout.startswith("md_headings") or layout == "json_array"
    shared = {code for code, _, _ in second}
    for entry in rng.sample(entries, min(count, len(entries))):
        kind, status, body = rng.choice(list(bodies(entry, rng, titles[entry.title.lower()] == 1)))
        # The called operation disambiguates a code that occurs in two tables.
        operation = "request" if entry.code in shared or rng.random() < 0.2 else None
        yield {"id": f"{api}/{entry.code}", "api": api, "operation": operation, "status": status, "kind": kind, "body": body,
               "gold": gold(entry, rng, has_lists)}
    for entry in left_out[: count // 5]:
        kind, status, body = rng.choice(list(bodies(entry, rng, True)))
        yield {"id": f"{api}/none/{entry.code}", "api": api, "operation": None, "status": status, "kind": f"undocumented {kind}", "body": body,
               "gold": ""}
    for code, why, what in second:
        body = {"code": int(code) if code.isdigit() else code, "reason": "closed"}
        yield {"id": f"{api}/close/{code}", "api": api, "operation": "stream-close", "status": None, "kind": "second table", "body": body,
               "gold": f"{code} {why} {what}"}


def services(packages, seed, count, out):
    """Operations of real services, with the same error names and different texts in each."""
    rng = random.Random(f"{seed} services")
    operations = sources.operations(pathlib.Path(packages) / "botocore/data", rng)
    (out / "docs" / "services.md").write_text(layouts.md_operations(operations), encoding="utf-8")
    pairs = [(name, entry) for name, _, entries in operations for entry in entries]
    for name, entry in rng.sample(pairs, min(count, len(pairs))):
        kind, body = rng.choice([
            ("type", {"__type": f"com.example#{entry.code}"}), ("type and message", {"__type": entry.code, "message": entry.title[:60]}),
            ("code", {"Error": {"Code": entry.code, "Message": ""}}), ("xml", f"<ErrorResponse><Error><Code>{entry.code}</Code></Error></ErrorResponse>"),
        ])
        yield {"id": f"{name}/{entry.code}", "api": "services", "operation": name, "status": entry.status, "kind": kind, "body": body,
               "gold": f"{entry.code} {entry.title}"[:350]}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--packages")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--records", type=int, default=300)
    args = parser.parse_args()
    (args.out / "docs").mkdir(parents=True, exist_ok=True)
    with open(args.out / "errors.jsonl", "w", encoding="utf-8") as handle:
        for source in args.source or ["invented"]:
            made = [services(args.packages, args.seed, 4 * args.records, args.out)] if source == "services" else [
                catalogue(source, layout, args.packages, args.seed, args.records, args.out) for layout in layouts.LAYOUTS]
            for record in (record for records in made for record in records):
                print(json.dumps(record), file=handle)


if __name__ == "__main__":
    main()
