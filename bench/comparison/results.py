"""Results: medians of interleaved rounds, kept in one JSON file, in which a later run replaces only its parts."""

from __future__ import annotations

import json
import pathlib
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]


def medians(rows: Iterable[Row], keys: Sequence[str]) -> list[Row]:
    """Returns a row for each combination of the keys, with the median of every other value, in order of appearance."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    found = []
    for group, members in groups.items():
        names = [name for name in members[0] if name not in keys]
        for row in members:
            if [name for name in row if name not in keys] != names:
                raise ValueError(f"{group}: the rounds have different values")
        found.append(dict(zip(keys, group)) | {name: statistics.median(row[name] for row in members) for name in names})
    return found


def select(rows: Iterable[Row], **values: Any) -> list[Row]:
    """Returns the rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in values.items())]


def distinct(rows: Iterable[Row], key: str) -> list[Any]:
    """Returns the values of a key without repetition, in order of appearance."""
    return list(dict.fromkeys(row[key] for row in rows))


def load(file: pathlib.Path) -> dict[str, Row]:
    """Returns the parts of an earlier run."""
    parts: dict[str, Row] = json.loads(file.read_text()) if file.exists() else {}
    return parts


def store(file: pathlib.Path, parts: dict[str, Row]) -> None:
    """Writes all parts, one row on each line, rounded to four digits: more are noise."""
    lines = []
    for name, part in parts.items():
        settings = json.dumps(part["settings"])
        rows = ",\n".join("  " + json.dumps(rounded(row)) for row in part["rows"])
        lines.append(f'{json.dumps(name)}: {{"settings": {settings}, "rows": [\n{rows}\n]}}')
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def rounded(value: Any) -> Any:
    """Returns a value with all its fractions rounded to four digits."""
    match value:
        case float():
            return float(f"{value:.4g}")
        case dict():
            return {key: rounded(member) for key, member in value.items()}
        case list() | tuple():
            return [rounded(member) for member in value]
        case _:
            return value
