"""What the validator refuses, by class, and which classes are its own faults."""

class Crash(Exception):
    """The validator itself broke."""

    def __init__(self, cause, trace):
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.trace = trace


class Misrouted(Exception):
    """The request does not lead to its operation."""


BY_NAME = {}


def causes(error):
    while error is not None:
        yield error
        error = error.__cause__


def text_of(error):
    texts = [f"{type(part).__name__}: {part}" for part in causes(error)]
    for part in causes(error):
        for detail in getattr(part, "schema_errors", ()):
            texts.append(f"{detail.validator} at {list(detail.path)}: {detail.message}"[:600])
    if isinstance(error, Crash):
        texts.append(error.trace[-800:])
    return "\n".join(texts)


def class_of(error, line, document):
    parts = [type(part).__name__ for part in causes(error)]
    keywords = sorted({str(detail.validator) for part in causes(error) for detail in getattr(part, "schema_errors", ())})
    place = getattr(error, "location", "")
    detail = str(error)[:60] if isinstance(error, Crash) else ""
    return " ".join([*parts, place, *keywords, detail]).strip()
