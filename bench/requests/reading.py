"""One refusal of the validator, parsed for the predicates of `faults`."""

from urllib.parse import unquote


class Refused:
    """`detail` is the error of the schema validator, if there is one."""

    def __init__(self, error, detail, line, document):
        self.error, self.detail, self.line, self.document = error, detail, line, document
        self.kinds = [type(part).__name__ for part in causes(error)]
        self.text = str(error)
        self.location = getattr(error, "location", "") or ""
        self.name = getattr(error, "name", "") or ""
        self.keyword = str(detail.validator) if detail is not None else ""
        self.instance = detail.instance if detail is not None else None
        self.error_schema = detail.schema if detail is not None and isinstance(detail.schema, dict) else {}
        steps = list(detail.absolute_schema_path) if detail is not None else []
        self.schema_path = [step for step in steps if step != "$ref"]

    @property
    def schemas(self):
        return self.document.get("components", {}).get("schemas", {})

    @property
    def path_item(self):
        return self.resolved(self.document["paths"][self.line["path"]])

    @property
    def operation(self):
        return self.path_item[self.line["method"].lower()]

    @property
    def parameter(self):
        """Returns the Parameter Object, or an empty one if the refusal is not about a parameter."""
        for holder in (self.operation, self.path_item):
            for parameter in map(self.resolved, holder.get("parameters") or []):
                if parameter.get("name") == self.name and parameter.get("in") == self.location:
                    return parameter
        return {}

    @property
    def schema(self):
        return self.resolved(self.parameter.get("schema"))

    @property
    def style(self):
        return self.parameter.get("style", "form" if self.location in ("query", "cookie") else "simple")

    @property
    def explode(self):
        return self.parameter.get("explode", self.style == "form")

    @property
    def argument(self):
        name = self.line["names"].get(f"{self.location} {self.name}")
        return self.line["arguments"].get(name)

    def argument_leaves(self):
        return list(leaves(self.argument))

    def argument_has(self, letters):
        return any(letter in leaf for leaf in self.argument_leaves() for letter in letters)

    def header(self, name):
        return next((value for field, value in self.line["headers"] if field == name), "")

    def is_of(self, *media_types):
        """Whether the body's media type is one of these, by the start or end of its name, or by its suffix."""
        kind, _, name = self.header("content-type").partition(";")[0].strip().lower().partition("/")
        return any(wanted in (kind, name, name.rpartition("+")[2], name.removeprefix("x-www-form-")) for wanted in media_types)

    def is_sent(self):
        """Whether the request has a parameter of this name."""
        if self.location == "query":
            pairs = self.line["url"].partition("?")[2].split("&")
            return any(unquote(pair.partition("=")[0]) == self.name for pair in pairs)
        if self.location == "cookie":
            return f"{self.name}=" in self.header("cookie")
        return any(field == self.name.lower() for field, _ in self.line["headers"])

    def resolved(self, value):
        """Resolves local references; an unresolvable reference yields an empty object."""
        for _ in range(16):
            if not isinstance(value, dict):
                return {}
            reference = value.get("$ref")
            if not isinstance(reference, str):
                return value
            target = self.document
            for step in reference.partition("#/")[2].split("/"):
                step = unquote(step).replace("~1", "/").replace("~0", "~")
                target = target.get(step) if isinstance(target, dict) else None
            value = target
        return {}

    def is_object(self, schema):
        schema = self.resolved(schema)
        return schema.get("type") == "object" or "properties" in schema or any(map(self.is_object, schema.get("allOf", [])))

    def is_nested(self, schema):
        return schema.get("type") == "array" or self.is_object(schema)

    def descriptions(self):
        """Returns the schemas of the refused property in the branches of the body."""
        if len(self.detail.absolute_path if self.detail is not None else []) != 1:
            return []
        name = self.detail.absolute_path[0]
        content = self.resolved(self.operation.get("requestBody")).get("content", {})
        found, left = [], [media.get("schema") for media in content.values()]
        while left:
            schema = self.resolved(left.pop())
            left.extend(schema.get("allOf", []))
            if name in schema.get("properties", {}):
                found.append(self.resolved(schema["properties"][name]) | schema["properties"][name])
        return found

    def unresolved_reference(self):
        message = self.detail.message if self.detail is not None else ""
        if not message.endswith("could not be resolved"):
            return None
        return message.rpartition(" reference ")[2].removesuffix(" could not be resolved").strip("'\"")

    def described(self):
        """Formats the refusal for people."""
        texts = [f"{type(part).__name__}: {str(part)[:200]}" for part in causes(self.error)]
        if self.detail is not None:
            texts.append(f"{self.keyword} at {list(self.detail.absolute_path)}: {self.detail.message[-300:]}")
            for part in sorted(self.detail.context or [], key=lambda part: len(part.absolute_path))[:12]:
                texts.append(f"  branch {list(part.schema_path)[:3]} {list(part.absolute_path)}: {part.message[-160:]}")
        if hasattr(self.error, "trace"):
            texts.append(self.error.trace[-600:])
        return "\n".join(texts)


def causes(error):
    while error is not None:
        yield error
        error = error.__cause__


def taken_apart(error, line, document):
    """Returns a refusal for each rule that the error reports as violated."""
    details = [detail for part in causes(error) for detail in getattr(part, "schema_errors", ())]
    return [Refused(error, detail, line, document) for detail in details or [None]]


def leaves(value):
    if isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from leaves(member)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str):
        yield value
