"""Texts for the teacher: short texts of the kind that the table is used for, without duplicates, in random order."""
import json
import random
import re
from pathlib import Path

import yaml

# Shorter texts have no content; longer texts are cut, because a table of tokens cannot learn from word order.
SHORTEST, LONGEST = 8, 240
# Number of sentences taken from one description, so that long documents do not outweigh short ones.
SENTENCES = 2
ENDINGS = {".json", ".yaml", ".yml"}
TEXT_KEYS = {"summary", "description"}
MARKUP = re.compile(r"<[^>]*>|`+|\*\*|!?\[([^\]]*)\]\([^)]*\)|https?://\S+")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def texts_of_document(path):
    """Yields every summary, and the first sentences of every description, of an OpenAPI document."""
    try:
        raw = path.read_text(encoding="utf-8")
        document = json.loads(raw) if path.suffix == ".json" else yaml.load(raw, Loader=yaml.CSafeLoader)
    except (ValueError, yaml.YAMLError, RecursionError):
        return
    stack = [document]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            for key, value in node.items():
                if key in TEXT_KEYS and isinstance(value, str):
                    plain = " ".join(MARKUP.sub(lambda match: match.group(1) or " ", value).split())
                    yield from SENTENCE_END.split(plain)[:SENTENCES]
                else:
                    stack.append(value)
        elif isinstance(node, list):
            stack.extend(node)


def queries(path):
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)["query"] for line in lines if line.strip()]


def corpus(data, size, seed):
    """Returns at most `size` texts: all training queries of metatool and sealtools, then texts of documents."""
    asked = [query for name in ("metatool", "sealtools") for query in queries(data / "retrieval" / name / "train.jsonl")]
    documents = sorted(path for path in (data / "specs").rglob("*") if path.suffix in ENDINGS)
    written = (text for path in documents for text in texts_of_document(path))
    clean = lambda texts: dict.fromkeys(text[:LONGEST].strip() for text in texts if len(text.strip()) >= SHORTEST)
    asked = list(clean(asked))
    known = set(asked)
    written = [text for text in clean(written) if text not in known]
    chance = random.Random(seed)
    chance.shuffle(written)
    chosen = asked + written[: max(0, size - len(asked))]
    chance.shuffle(chosen)
    return chosen, {"documents": len(documents), "queries": len(asked), "texts_of_documents": len(written), "taken": len(chosen)}
