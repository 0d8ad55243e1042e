#!/usr/bin/env python3
"""Creates the seed corpus of the fuzz targets from the string literals of the sources and tests.

Usage: fuzz/seeds.py    (from anywhere; writes fuzz/corpus/TARGET/seed-*)
"""

import ast
import hashlib
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"

# Maximum size of a seed in bytes. Longer seeds slow down every mutation.
MAX_SEED = 16 * 1024
# Number of argument texts per schema.
ARGUMENTS_PER_SCHEMA = 6

# A string, or a comment or character literal, whose quotes must not be taken for the start of a string.
LITERAL = re.compile(
    r"""//[^\n]*|b?'(?:[^'\\]|\\[^']+|\\')'"""
    r"""|\bb?r(?P<hashes>#*)"(?P<raw>.*?)"(?P=hashes)|"(?P<plain>(?:[^"\\]|\\.)*)\"""",
    re.DOTALL,
)
CONTINUED = re.compile(r"\\\n\s*")
CHARACTER = re.compile(r"\\u\{([0-9a-fA-F_]+)\}")


def unescaped(text: str) -> bytes:
    """Returns the value of a Rust string literal, given the text between its quotes."""
    text = CONTINUED.sub("", text).replace("\\0", "\\x00")
    text = CHARACTER.sub(lambda found: "\\U%08x" % int(found[1].replace("_", ""), 16), text)
    value = ast.literal_eval('"""' + text.replace('"', '\\"').replace('\\\\"', '\\"') + '"""')
    # A byte string with a non-ASCII byte is treated as a string, so its seed contains the character instead.
    return value.encode("utf-8", "surrogatepass")


def sources(*folders: str) -> list[str]:
    return [path.read_text() for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.rs"))]


def macros(*folders: str) -> list[bytes]:
    """Returns the contents of each `json!(...)` without variables."""
    found: dict[bytes, None] = {}
    for source in sources(*folders):
        for macro in re.finditer(r"\bjson!\(", source):
            depth, end = 1, macro.end()
            while depth and end < len(source):
                depth += {"(": 1, ")": -1}.get(source[end], 0)
                end += 1
            text = source[macro.end() : end - 1].encode()
            if as_json(text) is not None:
                found[b" ".join(text.split())] = None
    return list(found)


def literals(*folders: str) -> list[bytes]:
    found: dict[bytes, None] = {}
    for source in sources(*folders):
        for literal in LITERAL.finditer(source):
            if literal["raw"] is None and literal["plain"] is None:
                continue
            try:
                value = literal["raw"].encode() if literal["raw"] is not None else unescaped(literal["plain"])
            except (SyntaxError, ValueError):
                continue
            if 2 <= len(value) <= MAX_SEED:
                found[value] = None
    return list(found)


def write(target: str, seeds: list[bytes]) -> None:
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (folder / f"seed-{hashlib.sha256(seed).hexdigest()[:16]}").write_bytes(seed)
    print(f"{target}: {len(seeds)} seeds")


def as_json(text: bytes):
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def schemas_in(value) -> list:
    """Returns all parts of a JSON value that look like the schema of an argument object."""
    if isinstance(value, list):
        return [schema for item in value for schema in schemas_in(item)]
    if not isinstance(value, dict):
        return []
    inner = [schema for member in value.values() for schema in schemas_in(member)]
    if isinstance(value.get("properties"), dict):
        return [value] + inner
    keywords = {"type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "items", "pattern", "format", "minimum"}
    return ([{"type": "object", "properties": {"city": value}}] if keywords & value.keys() else []) + inner


def sse_seeds() -> list[bytes]:
    seeds = []
    for text in literals("crates/callwright-wire/src", "tests") + macros("crates/callwright-wire/src", "tests"):
        if text.startswith(b"data") or b"\ndata" in text:
            seeds.append(b"\x01" + text)
        elif isinstance(as_json(text), dict):
            line = b" ".join(text.split())
            seeds.append(b"\x02data: " + line + b"\n\ndata: [DONE]\n\n")
            chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": text.decode("utf-8", "replace")}}]})
            seeds.append(b"\x03data: " + chunk.encode() + b"\r\n\r\n")
            piece = {"index": 0, "id": "c", "function": {"name": "f", "arguments": text.decode("utf-8", "replace")}}
            chunk = json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]})
            seeds.append(b"\x04data: " + chunk.encode() + b"\n\n")
    return seeds


def rescue_seeds() -> list[bytes]:
    seeds = []
    for text in literals("crates/callwright-judge/src/repair", "tests"):
        if any(mark in text for mark in (b"{", b"[", b"<", b"(", b"`")):
            # The usual tools with any evidence, and the tools with short names.
            seeds += [b"\x01\x00" + text, b"\x02\x00" + text]
    return seeds


def scan_seeds() -> list[bytes]:
    folders = ("crates/callwright-scanner/src", "crates/callwright-judge/src/repair", "crates/callwright-judge/src/feedback", "crates/callwright-openapi/src", "tests")
    texts = literals(*folders) + macros(*folders)
    values = [value for value in map(as_json, texts) if value is not None]
    schemas = {json.dumps(schema): None for value in values for schema in schemas_in(value)}
    arguments = [text for text in texts if text.startswith((b"{", b"[", b"'")) and b"properties" not in text]
    seeds = []
    for index, schema in enumerate(schemas):
        for offset in range(ARGUMENTS_PER_SCHEMA):
            text = arguments[(index * 31 + offset * 97) % len(arguments)]
            seeds.append(schema.encode() + b"\n" + text)
    # Each text at least once, with the first schema that has one of its names.
    for text in arguments:
        value = as_json(text)
        names = list(value) if isinstance(value, dict) else []
        schema = next((schema for schema in schemas if any(f'"{name}"' in schema for name in names)), None)
        if schema is not None:
            seeds.append(schema.encode() + b"\n" + text)
    return seeds


def document_seeds() -> list[bytes]:
    # Documents, JSON or YAML, and fragments of them: path items, schemas and components that mutations may combine.
    marks = (b"openapi", b"swagger", b"paths", b"parameters", b"$ref", b"schema")
    folders = ("crates/callwright-openapi/src", "crates/callwright-executor/src", "tests")
    found = [text for text in literals(*folders) + macros(*folders) if any(mark in text for mark in marks)]
    samples = [path.read_bytes() for path in sorted((ROOT / "openapi").glob("*.yaml"))]
    return samples + found + [text + b"\0" + found[index - 1] for index, text in enumerate(found) if b"$ref" in text]


def request_seeds() -> list[bytes]:
    documents = [seed for seed in document_seeds() if b"paths" in seed and b"\0" not in seed]
    arguments = [text for text in literals("crates/callwright-executor/src", "tests") if text.startswith(b"{") and as_json(text) is not None]
    return [
        document + b"\0" + arguments[(index * 31 + offset * 97) % len(arguments)]
        for index, document in enumerate(documents)
        for offset in range(ARGUMENTS_PER_SCHEMA)
    ]


write("document", document_seeds())
write("request", request_seeds())
write("sse", sse_seeds())
write("rescue", rescue_seeds())
write("scan", scan_seeds())
