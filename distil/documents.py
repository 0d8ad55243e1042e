"""Texts and names of OpenAPI documents."""
import json
import re

import yaml

# Number of sentences taken from one description, so that long documents do not outweigh short ones.
SENTENCES = 2
ENDINGS = {".json", ".yaml", ".yml"}
TEXT_KEYS = {"summary", "description"}
MARKUP = re.compile(r"<[^>]*>|`+|\*\*|!?\[([^\]]*)\]\([^)]*\)|https?://\S+")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
# Identifiers are split where their notation separates words.
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")


def documents(data):
    """Yields the documents of `specs/`, except those that cannot be read."""
    for path in sorted(path for path in (data / "specs").rglob("*") if path.suffix in ENDINGS):
        try:
            raw = path.read_text(encoding="utf-8")
            document = json.loads(raw) if path.suffix == ".json" else yaml.load(raw, Loader=yaml.CSafeLoader)
        except (ValueError, yaml.YAMLError, RecursionError):
            continue
        if isinstance(document, dict):
            yield document


def without_markup(text):
    return " ".join(MARKUP.sub(lambda match: match.group(1) or " ", str(text)).split())


def texts_of(document):
    """Yields every summary, and the first sentences of every description."""
    stack = [document]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            for key, value in node.items():
                if key in TEXT_KEYS and isinstance(value, str):
                    yield from SENTENCE_END.split(without_markup(value))[:SENTENCES]
                else:
                    stack.append(value)
        elif isinstance(node, list):
            stack.extend(node)


def words(identifier):
    return " ".join(WORD.findall(str(identifier))).lower()


def names_of(document):
    """Yields the names of operations, parameters and properties in words."""
    paths = document.get("paths")
    for place, methods in (paths.items() if isinstance(paths, dict) else ()):
        for method, operation in (methods.items() if isinstance(methods, dict) else ()):
            if method in METHODS and isinstance(operation, dict):
                yield words(operation.get("operationId") or "")
                yield without_markup(operation.get("summary") or "")
                yield words(method + " " + re.sub(r"\{[^}]*\}", " ", str(place)))
    stack = [document]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if isinstance(node.get("name"), str):
                yield words(node["name"])
            properties = node.get("properties")
            yield from map(words, properties if isinstance(properties, dict) else ())
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
