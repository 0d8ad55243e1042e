"""Reads documents and prepares them for the validator.

It changes only constructs with which the validator cannot validate any request. docs/benchmarks/documents.md lists each change.
"""

import json
import pathlib
import re
from urllib.parse import urlsplit, urlunsplit

import regress

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
USUAL_PORTS = {"http": ":80", "https": ":443"}


def read(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8-sig"))


def version(document):
    """Returns `2.0`, `3.0`, `3.1` or `3.2`."""
    return str(document.get("swagger") or document.get("openapi") or "")[:3]


def prepared(document, base_url):
    """Removes security, because credentials are added to requests later, and sets the operator's server, if given."""
    holders = [document]
    for item in document.get("paths", {}).values():
        if isinstance(item, dict):
            holders += [item] + [item[method] for method in METHODS if isinstance(item.get(method), dict)]
    for holder in holders:
        holder.pop("security", None)
        if base_url:
            holder.pop("servers", None)
        elif "servers" in holder:
            holder["servers"] = [{"url": address(server)} for server in holder["servers"] or []]
    if base_url:
        document["servers"] = [{"url": base_url}]
    leave_out_patterns(document)
    return document


def address(server):
    """Inserts the defaults of the variables and normalises the URL (RFC 3986 section 6.2.3).

    The validator compares strings, and accepts no variable value with a slash.
    """
    variables = server.get("variables") or {}
    default = lambda found: str((variables.get(found[1]) or {}).get("default", found[0]))
    text = re.sub(r"{([^}]*)}", default, str(server.get("url", "/"))).strip()
    url = urlsplit(f"https:{text}" if text.startswith("//") else text)
    host = url.netloc.rpartition("@")[2].lower().removesuffix(USUAL_PORTS.get(url.scheme, ":"))
    return urlunsplit((url.scheme, host, url.path.rstrip("/") if host else url.path, "", "")) or "/"


def leave_out_patterns(value):
    """Removes patterns that the validator's regex engine rejects, and those with property classes (`\\p{L}`).

    The engine parses property classes without the flag that they require.
    """
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            pattern = value.get("pattern")
            if isinstance(pattern, str) and not is_judged(pattern):
                del value["pattern"]
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def is_judged(pattern):
    try:
        regress.Regex(pattern)
    except regress.RegressError:
        return False
    return not re.search(r"\\[pP]{", pattern)
