"""Draws documents from an index with a fixed seed, and prints their paths, one per line.

usage: sample.py INDEX COUNT SEED

INDEX has one JSON object per line with `file`, the path, and `operations`, the number of operations. Documents without
operations are not drawn, because there is no request for them.
"""

import json
import random
import sys


def main():
    index, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(index, encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    files = sorted(entry["file"] for entry in entries if entry["operations"] > 0)
    print("\n".join(random.Random(seed).sample(files, min(count, len(files)))))


if __name__ == "__main__":
    main()
