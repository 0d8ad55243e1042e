"""Reads the rounds of bench/run (JSON Lines) and prints medians: a Markdown table, then one line of JSON."""

import json
import platform
import statistics
import sys
from collections import defaultdict

PERCENTILES = ("p50_us", "p90_us", "p99_us", "max_us")


def medians(rounds):
    """Returns the median over the rounds of every number, by workload and target."""
    series = defaultdict(lambda: defaultdict(list))
    for line in rounds:
        values = series[line["workload"], line["target"]]
        load, single = line["load"], line["single"]
        if load["failed"]:
            raise SystemExit(f"{line['target']}, {line['workload']}: {load['failed']} failed requests under load")
        values["requests_per_second"].append(load["requests"] / load["seconds"])
        values["load_p99_us"].append(load["p99_us"])
        if line["cpu_seconds"] is not None:
            values["cpu_us"].append(line["cpu_seconds"] * 1e6 / load["requests"])
        for percentile in PERCENTILES:
            values[percentile].append(single["whole"][percentile])
            values["first_" + percentile].append(single["first_byte"][percentile])
    return {key: {name: statistics.median(numbers) for name, numbers in values.items()} for key, values in series.items()}


def table(result, workload, targets):
    direct, nginx = result[workload, "direct"], result[workload, "nginx"]
    yield f"**{workload}**"
    yield ""
    yield "| | requests/s | of nginx | CPU per request | p99 under load | p50 | p90 | p99 | max | added p50 | added p90 | added p99 |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for target in targets:
        values = result[workload, target]
        cells = [target, f"{values['requests_per_second']:,.0f}"]
        cells.append(f"{values['requests_per_second'] / nginx['requests_per_second']:.2f}")
        cells.append(f"{values['cpu_us']:,.0f} µs" if "cpu_us" in values else "")
        cells.append(f"{values['load_p99_us'] / 1e3:.2f} ms")
        cells += [f"{values[name]:,.0f} µs" for name in PERCENTILES]
        cells += ["" if target == "direct" else f"{values[name] - direct[name]:+,.0f} µs" for name in PERCENTILES[:3]]
        yield "| " + " | ".join(cells) + " |"
    yield ""


def main():
    rounds = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
    settings = json.loads(sys.argv[2])
    result = medians(rounds)
    workloads = list(dict.fromkeys(line["workload"] for line in rounds))
    targets = list(dict.fromkeys(line["target"] for line in rounds))
    print(f"Concurrency {settings['concurrency']} for requests/s, 1 for latencies; medians of {settings['rounds']} rounds; "
          f"{settings['cores']} cores, {platform.system()} {platform.machine()}, {settings['nginx']}.\n")
    for workload in workloads:
        print("\n".join(table(result, workload, targets)))
    flat = {f"{workload}/{target}": values for (workload, target), values in result.items()}
    print(json.dumps({"settings": settings, "medians": flat}, separators=(",", ":")))


if __name__ == "__main__":
    main()
