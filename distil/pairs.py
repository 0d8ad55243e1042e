"""Pairs of texts that mean the same, from OpenAPI documents and from requests with their tools."""
import json
import random
import re
from pathlib import Path

import yaml

from corpus import ENDINGS, LONGEST, MARKUP, SENTENCE_END

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
# Identifiers are split where their notation separates words.
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
SHORTEST = 3


def plain(text):
    return " ".join(MARKUP.sub(lambda match: match.group(1) or " ", str(text)).split())[:LONGEST].strip()


def words(identifier):
    return " ".join(WORD.findall(str(identifier))).lower()


def pairs_of_operation(path, method, operation):
    """Yields the texts of an operation that describe it in different words."""
    identifier = words(operation.get("operationId") or "")
    summary, description = plain(operation.get("summary") or ""), plain(operation.get("description") or "")
    place = words(method + " " + re.sub(r"\{[^}]*\}", " ", path))
    sentences = SENTENCE_END.split(description)
    named = summary or identifier
    yield identifier, summary
    yield named, sentences[0]
    yield named, " ".join(sentences[1:3])
    yield place, summary or sentences[0]


def pairs_of_document(path):
    """Yields pairs of the operations, and of named parameters or properties with their descriptions."""
    try:
        raw = path.read_text(encoding="utf-8")
        document = json.loads(raw) if path.suffix == ".json" else yaml.load(raw, Loader=yaml.CSafeLoader)
    except (ValueError, yaml.YAMLError, RecursionError):
        return
    if not isinstance(document, dict):
        return
    paths = document.get("paths")
    for place, methods in (paths.items() if isinstance(paths, dict) else ()):
        for method, operation in (methods.items() if isinstance(methods, dict) else ()):
            if method in METHODS and isinstance(operation, dict):
                yield from pairs_of_operation(str(place), method, operation)
    stack = [document]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if isinstance(node.get("name"), str) and isinstance(node.get("description"), str):
                yield words(node["name"]), SENTENCE_END.split(plain(node["description"]))[0]
            properties = node.get("properties")
            for name, schema in (properties.items() if isinstance(properties, dict) else ()):
                if isinstance(schema, dict) and isinstance(schema.get("description"), str):
                    yield words(name), SENTENCE_END.split(plain(schema["description"]))[0]
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def pairs_of_documents(data, seed):
    """Returns the distinct pairs of all documents in random order. Trivial pairs are left out."""
    documents = sorted(path for path in (data / "specs").rglob("*") if path.suffix in ENDINGS)
    found = {}
    for path in documents:
        for left, right in pairs_of_document(path):
            left, right = left.strip(), right.strip()
            if len(left) >= SHORTEST and len(right) >= SHORTEST and left.lower() != right.lower():
                found[(left.lower(), right.lower())] = (left, right)
    pairs = list(found.values())
    random.Random(seed).shuffle(pairs)
    return pairs


def requests(data, name):
    """Returns the requests of a set with their tools, and the texts of the tools."""
    read = lambda file: [json.loads(line) for line in (data / "retrieval" / name / file).open(encoding="utf-8") if line.strip()]
    tools = {tool["name"]: words(tool["name"]) + ". " + tool["description"] for tool in read("tools.jsonl")}
    return [(line["query"], line["tools"]) for line in read("train.jsonl") if line["tools"]], tools
