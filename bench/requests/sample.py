"""Draws documents with a fixed seed from an index of documents: the paths of those drawn, one a line.

usage: sample.py INDEX COUNT SEED

INDEX has one JSON object a line; its `file` is the path and its `operations` the number of operations. Documents without any are not drawn:
nothing could be sent for them.
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
