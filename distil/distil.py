#!/usr/bin/env python3
"""Creates crates/callwright-search/src/embedding/table/vectors.bin: token vectors whose sum approximates the vector
that a sentence model computes for a whole text.

    python3 -m venv v && v/bin/pip install -r distil/requirements.txt
    v/bin/python distil/distil.py teach --data DATA --teacher MODEL --work WORK     # minutes to an hour; resumable
    v/bin/python distil/distil.py fit   --data DATA --teacher MODEL --work WORK --out crates/callwright-search/src/embedding/table/vectors.bin

DATA    folder with `specs/` (OpenAPI documents) and `retrieval/NAME/{train,tools}.jsonl`
MODEL   folder with model.onnx, tokenizer.json and config.json of sentence-transformers/all-MiniLM-L6-v2
WORK    folder for the teacher's vectors; not part of the repository

`fit` prints the accuracy of the nearest plain description on every set of DATA, before and after rounding to eight bits. The numbers of
the table in the repository, its corpus and its licence are in README.md.
"""
import argparse
import json
from pathlib import Path

import numpy as np

from corpus import corpus
from regression import counts, principal_components, ridge, unit
from table import quantise, write
from teacher import Teacher

SEED = 1
TEXTS = 80_000
PIECE = 10_000
# 29,523 rows of 256 bytes fit into 8 MB together with their words.
DIMENSIONS = 256
# Initial value: the teacher's vector of a single token, centred, with a lower weight for frequent tokens (Arora et al.,
# "A simple but tough-to-beat baseline for sentence embeddings", 2017: a / (a + p)).
FREQUENT = 1e-3
STRENGTH = 0.3
ROUNDS = 40


def teach(arguments):
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    texts, statistics = corpus(arguments.data, TEXTS, SEED)
    (work / "corpus.json").write_text(json.dumps(texts))
    print(json.dumps(statistics), flush=True)
    teacher = Teacher(arguments.teacher, arguments.threads)
    if not (work / "tokens.npy").exists():
        first, last = teacher.ids([""])[0]
        np.save(work / "tokens.npy", teacher.vectors_of_ids([[first, token, last] for token in range(teacher.tokenizer.get_vocab_size())]))
    for start in range(0, len(texts), PIECE):
        piece = work / f"texts{start:06}.npy"
        if not piece.exists():
            np.save(piece, teacher.vectors(texts[start : start + PIECE]))


class Words:
    """Returns the texts as lists of tokens with a row, without special tokens and unknown words."""

    def __init__(self, teacher):
        self.tokenizer = Teacher.tokenizer_of(teacher)
        self.size = self.tokenizer.get_vocab_size()
        names = [self.tokenizer.id_to_token(number) for number in range(self.size)]
        self.rows = [number for number, name in enumerate(names) if not (len(name) > 2 and name[0] == "[" and name[-1] == "]")]
        self.names = [names[number] for number in self.rows]
        self.known = set(self.rows)

    def lists(self, texts):
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [[token for token in encoding.ids if token in self.known] for encoding in encodings]


def accuracy(rows, words, data):
    """Returns the percentage of queries whose nearest description belongs to a correct tool."""
    found = {}
    for folder in sorted((data / "retrieval").iterdir()):
        read = lambda name: [json.loads(line) for line in (folder / name).open(encoding="utf-8") if line.strip()]
        tools, asked = read("tools.jsonl"), read("train.jsonl")
        vectors = lambda texts: unit(counts(words.lists(texts), words.size) @ rows)
        nearest = vectors([query["query"] for query in asked]) @ vectors([tool.get("description") or tool["name"] for tool in tools]).T
        hits = [tools[best]["name"] in query["tools"] for best, query in zip(nearest.argmax(1), asked)]
        found[folder.name] = round(100 * float(np.mean(hits)), 1)
    return found


def fit(arguments):
    pieces = [np.load(piece) for piece in sorted(arguments.work.glob("texts*.npy"))]
    said = np.concatenate(pieces)
    texts = json.loads((arguments.work / "corpus.json").read_text())[: len(said)]
    words = Words(arguments.teacher)
    lists = words.lists(texts)
    axes = principal_components(said, DIMENSIONS)
    print(f"{len(texts)} texts, {sum(map(len, lists))} tokens, {len(set().union(*lists))} distinct; "
          f"{DIMENSIONS} components keep {((said @ axes) ** 2).sum() / (said**2).sum():.4f}", flush=True)
    frequency = np.bincount(np.concatenate([np.asarray(tokens, np.int64) for tokens in lists]), minlength=words.size)
    alone = np.load(arguments.work / "tokens.npy") @ axes
    start = (alone - alone.mean(0)) * (FREQUENT / (FREQUENT + frequency / frequency.sum()))[:, None]
    print("start", json.dumps(accuracy(start, words, arguments.data)), flush=True)
    rows = ridge(counts(lists, words.size), said @ axes, start.astype(np.float32), STRENGTH, ROUNDS)
    print("fitted", json.dumps(accuracy(rows, words, arguments.data)), flush=True)
    numbers, scales = quantise(rows)
    print("rounded", json.dumps(accuracy(numbers * scales[:, None], words, arguments.data)), flush=True)
    write(arguments.out, words.names, rows[words.rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("teach", "fit"))
    for name in ("data", "teacher", "work"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--threads", type=int, default=0, help="threads of the teacher; 0: one per core")
    arguments = parser.parse_args()
    teach(arguments) if arguments.step == "teach" else fit(arguments)


if __name__ == "__main__":
    main()
