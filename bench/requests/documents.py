"""Reads documents and makes them ready for the validator.

What is changed here is what the validator could not judge a request by at all; each change is said in BENCHMARKS.md.
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
    """`2.0`, `3.0`, `3.1` or `3.2`."""
    return str(document.get("swagger") or document.get("openapi") or "")[:3]


def prepared(document, base_url):
    """Without security, because requests are looked at before their credentials are added; with the operator's server, if there is one."""
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
    """With the defaults of its variables, normalised (RFC 3986 section 6.2.3): the validator compares texts, and takes no value with a slash."""
    variables = server.get("variables") or {}
    default = lambda found: str((variables.get(found[1]) or {}).get("default", found[0]))
    text = re.sub(r"{([^}]*)}", default, str(server.get("url", "/"))).strip()
    url = urlsplit(f"https:{text}" if text.startswith("//") else text)
    host = url.netloc.rpartition("@")[2].lower().removesuffix(USUAL_PORTS.get(url.scheme, ":"))
    return urlunsplit((url.scheme, host, url.path.rstrip("/") if host else url.path, "", "")) or "/"


def leave_out_patterns(value):
    """Patterns that the validator's engine does not take break it; classes by property (`\\p{L}`) it reads without the flag that they need."""
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
