#!/usr/bin/env python3
"""Creates crates/callwright-search/src/embedding/table/vectors.bin: token vectors whose sum approximates the vector
that a sentence model computes for a whole text.

    python3 -m venv v && v/bin/pip install -r distil/requirements.txt
    v/bin/python distil/distil.py teach --data DATA --teacher MODEL --work WORK     # minutes to an hour; resumable
    v/bin/python distil/distil.py fit   --data DATA --teacher MODEL --work WORK [--sets SET...] [--average OLD] [--out TABLE]

DATA    folder with `specs/` (OpenAPI documents), `retrieval/NAME/{train,tools}.jsonl` and `texts/*.txt` (a text per line)
MODEL   folder with model.onnx, tokenizer.json and config.json of sentence-transformers/all-MiniLM-L6-v2
WORK    folder for the teacher's vectors; not part of the repository
SET     collection of DATA whose requests and descriptions are among the texts, without the tools that serve requests
OLD     another table, with which the new one is averaged
TABLE   crates/callwright-search/src/embedding/table/vectors.bin

`fit` prints the accuracy of the nearest plain description on every set of DATA; on those that are not among `--sets` it
is that on unseen data. The numbers of the table in the repository, its texts and its licence are in README.md.
"""
import argparse
import json
from pathlib import Path

import numpy as np

from corpus import corpus
from regression import counts, principal_components, ridge, unit
from sets import sets
from table import quantise, read, write
from teacher import Teacher
from training import train

SEED = 1
PIECE = 5_000
# 29,523 rows of 256 bytes fit into 8 MB together with their words.
DIMENSIONS = 256
# Initial value: the teacher's vector of a single token, centred, with a lower weight for frequent tokens (Arora et al.,
# "A simple but tough-to-beat baseline for sentence embeddings", 2017: a / (a + p)).
FREQUENT = 1e-3
STRENGTH = 0.3
ROUNDS = 12
# Share of the new table in an average, and interval of the texts that are compared to rotate one table to another.
NEW, COMPARED = 0.75, 20
# Components of the texts' vectors are divided by this power of their mean square: 0 leaves them, 0.5 makes all equal.
WHITENED = 0.1


def save(path, teacher, texts):
    """Saves the teacher's vectors of texts, unless they are there."""
    if not path.exists():
        np.save(path, teacher.vectors(texts).astype(np.float16))
        print(path.name, flush=True)


def teach(arguments):
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    texts = corpus(arguments.data, SEED)
    (work / "corpus.json").write_text(json.dumps(texts))
    kinds = [kind for kind, _ in texts]
    print(json.dumps({kind: kinds.count(kind) for kind in sorted(set(kinds))}), flush=True)
    teacher = Teacher(arguments.teacher, arguments.threads)
    if not (work / "tokens.npy").exists():
        first, last = teacher.ids([""])[0]
        np.save(work / "tokens.npy", teacher.vectors_of_ids([[first, token, last] for token in range(teacher.tokenizer.get_vocab_size())]))
    for asked in sets(arguments.data):
        save(work / f"queries-{asked.name}.npy", teacher, asked.queries)
        save(work / f"tools-{asked.name}.npy", teacher, asked.descriptions)
    for start in range(0, len(texts), PIECE):
        save(work / f"texts{start:07}.npy", teacher, [text for _, text in texts[start : start + PIECE]])


class Words:
    """Returns the texts as lists of tokens with a row, without special tokens and unknown words."""

    def __init__(self, teacher):
        self.tokenizer = Teacher.tokenizer_of(teacher)
        size = self.tokenizer.get_vocab_size()
        names = [self.tokenizer.id_to_token(number) for number in range(size)]
        self.numbers = [number for number, name in enumerate(names) if not (len(name) > 2 and name[0] == "[" and name[-1] == "]")]
        self.names = [names[number] for number in self.numbers]
        self.rows = {number: row for row, number in enumerate(self.numbers)}

    def lists(self, texts):
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [[self.rows[token] for token in encoding.ids if token in self.rows] for encoding in encodings]

    def vectors(self, texts, rows):
        return unit(counts(self.lists(texts), len(rows)) @ rows)


def accuracy(title, rows, words, every):
    """Prints the percentage of queries whose nearest description belongs to a right tool."""
    found = {one.name: one.accuracy(words.vectors(one.queries, rows), words.vectors(one.descriptions, rows)) for one in every}
    print(title, json.dumps(found), flush=True)


def taught(work, words, used):
    """Returns the tokens and the teacher's vectors of all texts, with those of the used sets."""
    texts = [text for _, text in json.loads((work / "corpus.json").read_text())]
    said = [np.load(piece) for piece in sorted(work.glob("texts*.npy"))]
    texts = texts[: sum(map(len, said))]
    for one in used:
        texts += one.queries + one.descriptions
        said += [np.load(work / f"queries-{one.name}.npy"), np.load(work / f"tools-{one.name}.npy")]
    return words.lists(texts), np.concatenate(said).astype(np.float32)


def average(rows, others, texts):
    """Returns the weighted mean of two tables, after the rotation of the second that makes their vectors of the texts most
    similar."""
    left, _, right = np.linalg.svd(unit(texts @ others).T @ unit(texts @ rows), full_matrices=False)
    return NEW * rows + (1 - NEW) * (others @ (left @ right))


def whiten(rows, texts):
    """Returns the rows with a lower weight of the components that many texts share."""
    vectors = unit(texts @ rows)
    squares, axes = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    return (rows @ axes) * squares**-WHITENED


def fit(arguments):
    words = Words(arguments.teacher)
    every = sets(arguments.data)
    used = [one for one in every if one.name in arguments.sets]
    lists, said = taught(arguments.work, words, used)
    axes = principal_components(said, DIMENSIONS)
    print(f"{len(lists)} texts, {sum(map(len, lists))} tokens, {len(set().union(*lists))} distinct; "
          f"{DIMENSIONS} components keep {((said @ axes) ** 2).sum() / (said**2).sum():.4f}", flush=True)
    said = said @ axes
    frequency = np.bincount(np.concatenate([np.asarray(tokens, np.int64) for tokens in lists]), minlength=len(words.names))
    alone = np.load(arguments.work / "tokens.npy").astype(np.float32) @ axes
    start = (alone[words.numbers] - alone.mean(0)) * (FREQUENT / (FREQUENT + frequency / frequency.sum()))[:, None]
    accuracy("start", start, words, every)
    fitted = ridge(counts(lists, len(start)), said, start.astype(np.float32), STRENGTH, ROUNDS)
    accuracy("fitted", fitted, words, every)
    rows = train(fitted, lists, unit(said), SEED)
    accuracy("trained", rows, words, every)
    compared = counts(lists[::COMPARED], len(rows))
    if arguments.average:
        rows = average(rows, read(arguments.average)[0], compared)
        accuracy("averaged", rows, words, every)
    rows = whiten(rows, compared)
    numbers, scales = quantise(rows)
    accuracy("whitened, rounded", numbers * scales[:, None], words, every)
    if arguments.out:
        write(arguments.out, words.names, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("teach", "fit"))
    for name in ("data", "teacher", "work"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--sets", nargs="*", default=[], metavar="SET")
    parser.add_argument("--average", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--threads", type=int, default=0, help="threads of the teacher; 0: one per core")
    arguments = parser.parse_args()
    teach(arguments) if arguments.step == "teach" else fit(arguments)


if __name__ == "__main__":
    main()
