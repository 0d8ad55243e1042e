#!/usr/bin/env python3
"""Trains the token vectors further, so that texts of the same meaning are closer to each other than to other texts.

    python3 -m venv v && v/bin/pip install -r distil/requirements.txt torch
    v/bin/python distil/contrast.py --data DATA --tokenizer MODEL/tokenizer.json --table TABLE [--leave-out SET...] [--out TABLE]

DATA       folder with `specs/` (OpenAPI documents) and `retrieval/NAME/{train,tools}.jsonl`
TABLE      crates/callwright-search/src/embedding/table/vectors.bin, or another table of the same format
--leave-out  sets whose requests and tools are not used; the accuracy on them is that on unseen data

Prints the percentage of requests whose nearest plain description belongs to a right tool, on the sets left out, or on all
sets if there are none.
"""
import argparse
import json
import random
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from pairs import pairs_of_documents, requests
from table import quantise, read, write

SEED = 1
PAIRS = 60_000
# Texts are cut at this many tokens.
TOKENS = 64
STEPS, RATE = 200, 1e-3
BATCH_OF_DOCUMENTS, BATCH_OF_REQUESTS = 512, 256
TEMPERATURE = 0.1
# Weight of the pairs of documents; that of the requests is 1.
DOCUMENTS = 0.3
# Share of the change that is kept. Half of it is better than all of it on data that was not used.
KEPT = 0.5


class Words:
    """Texts as lists of rows of the table."""

    def __init__(self, tokenizer, words):
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(TOKENS)
        numbers = ((self.tokenizer.token_to_id(word), row) for row, word in enumerate(words))
        self.rows = {number: row for number, row in numbers if number is not None}

    def lists(self, texts):
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [[self.rows[number] for number in encoding.ids if number in self.rows] for encoding in encodings]


def vectors(rows, lists):
    """Returns the direction of the sum of the rows of each list; an empty list has row 0."""
    lists = [numbers or [0] for numbers in lists]
    starts = np.cumsum([0] + [len(numbers) for numbers in lists[:-1]])
    flat = torch.tensor(np.concatenate(lists))
    return torch.nn.functional.normalize(torch.nn.functional.embedding_bag(flat, rows, torch.tensor(starts), mode="sum"), dim=1)


def loss(rows, left, right, same=None):
    """Cross-entropy of finding the partner of each text among those of the batch, in both directions. Partners that are
    `same` as another's are not counted as wrong."""
    scores = vectors(rows, left) @ vectors(rows, right).T / TEMPERATURE
    if same is not None:
        scores = scores.masked_fill(same & ~torch.eye(len(left), dtype=torch.bool), -1e4)
    partner = torch.arange(len(left))
    return (torch.nn.functional.cross_entropy(scores, partner) + torch.nn.functional.cross_entropy(scores.T, partner)) / 2


def train(start, pairs, sets, steps):
    chance = random.Random(SEED)
    rows = torch.nn.Parameter(torch.tensor(start))
    optimiser = torch.optim.Adam([rows], lr=RATE)
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - step / steps)
        batch = chance.sample(pairs, min(BATCH_OF_DOCUMENTS, len(pairs)))
        total = DOCUMENTS * loss(rows, [left for left, _ in batch], [right for _, right in batch])
        if sets:
            lists, tools, texts = chance.choice(sets)
            chosen = chance.sample(range(len(lists)), min(BATCH_OF_REQUESTS, len(lists) // 2))
            names = [chance.choice(tools[at]) for at in chosen]
            same = torch.tensor(np.array([[one == other for other in names] for one in names]))
            total = total + loss(rows, [lists[at] for at in chosen], [texts[name] for name in names], same)
        optimiser.zero_grad()
        total.backward()
        optimiser.step()
    return KEPT * rows.detach().numpy() + (1 - KEPT) * start


def accuracy(rows, words, data, name):
    """Returns the percentage of requests whose nearest plain description belongs to a right tool."""
    lines = lambda file: [json.loads(line) for line in (data / "retrieval" / name / file).open(encoding="utf-8") if line.strip()]
    tools, asked = lines("tools.jsonl"), lines("train.jsonl")
    of = lambda texts: vectors(torch.tensor(rows), words.lists(texts)).numpy()
    nearest = (of([line["query"] for line in asked]) @ of([tool["description"] for tool in tools]).T).argmax(1)
    return round(100 * float(np.mean([tools[at]["name"] in line["tools"] for at, line in zip(nearest, asked)])), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "tokenizer", "table"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--leave-out", nargs="*", default=[])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    start, names = read(arguments.table)
    words = Words(arguments.tokenizer, names)
    pairs = pairs_of_documents(arguments.data, SEED)[:PAIRS]
    left, right = words.lists([one for one, _ in pairs]), words.lists([other for _, other in pairs])
    pairs = [(one, other) for one, other in zip(left, right) if one and other]
    every = sorted(path.name for path in (arguments.data / "retrieval").iterdir())
    sets = []
    for name in every:
        if name not in arguments.leave_out:
            asked, tools = requests(arguments.data, name)
            texts = dict(zip(tools, words.lists(list(tools.values()))))
            sets.append((words.lists([query for query, _ in asked]), [named for _, named in asked], texts))
    shown = arguments.leave_out or every
    print("start", json.dumps({name: accuracy(start, words, arguments.data, name) for name in shown}), flush=True)
    rows = train(start, pairs, sets, arguments.steps)
    print("trained", json.dumps({name: accuracy(rows, words, arguments.data, name) for name in shown}), flush=True)
    numbers, scales = quantise(rows)
    rounded = numbers * scales[:, None]
    print("rounded", json.dumps({name: accuracy(rounded, words, arguments.data, name) for name in shown}), flush=True)
    if arguments.out:
        write(arguments.out, names, rows)


if __name__ == "__main__":
    main()
