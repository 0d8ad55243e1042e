"""What the validator refuses, by class, and which classes are not ours.

A class looks at one refusal (of a request whose body breaks several rules there are several) together with the request and the document. What
no class knows is ours.
"""

from dataclasses import dataclass
from typing import Any, Callable

from reading import Refused

VALIDATOR, DOCUMENT = "validator", "document"


class Misrouted(Exception):
    """The request does not lead to its operation."""


class Crash(Exception):
    """The validator itself broke."""

    def __init__(self, cause, trace):
        super().__init__(f"{type(cause).__name__}: {cause}"[:300])
        self.trace = trace


@dataclass
class Class:
    name: str
    whose: str
    why: str
    applies: Callable[[Refused], Any]


CLASSES = []


def fault(name, whose, why):
    """Registers a predicate as the class `name`."""

    def register(applies):
        CLASSES.append(Class(name, whose, why, applies))
        return applies

    return register


@fault("header that no document can describe", VALIDATOR, "definitions of Accept, Content-Type and Authorization are to be ignored")
def ignored_header(refused):
    return refused.location == "header" and refused.name.lower() in ("accept", "content-type", "authorization")


@fault("default of an absent parameter", VALIDATOR, "judges the default in place of the parameter that is not there")
def default(refused):
    return "InvalidSchemaValue" in refused.kinds and refused.location in ("query", "header", "cookie") and not refused.is_sent()


@fault("read-only value that is no property", VALIDATOR, "readOnly is about properties; it stands on a parameter or on the items of an array")
def read_only_outside(refused):
    return refused.keyword == "readOnly" and refused.schema_path[-3:-2] != ["properties"]


@fault("read-only here, writable there", DOCUMENT, "one branch of allOf says readOnly: true, another one readOnly: false")
def read_only_contradicted(refused):
    flags = [described.get("readOnly") for described in refused.descriptions()]
    return refused.keyword == "readOnly" and False in flags


@fault("read-only properties in the path", DOCUMENT, "the place has to be filled, and only with what no request may have")
def read_only_in_path(refused):
    return refused.keyword == "readOnly" and refused.location == "path"


@fault("deepObject without explode: true", VALIDATOR, "the default of explode says nothing for this style")
def deep_object(refused):
    return refused.style == "deepObject" and not refused.parameter.get("explode")


@fault("spaceDelimited", VALIDATOR, "looks for %20 in a value that is decoded already")
def space_delimited(refused):
    return refused.style == "spaceDelimited" and refused.location == "query"


@fault("values within values of a parameter", DOCUMENT, "no style says how to write objects in arrays, or either in objects; no request could satisfy the validator")
def nested_values(refused):
    within = [refused.schema.get("items"), *refused.schema.get("properties", {}).values()]
    return "CastError" in refused.kinds and any(map(refused.is_nested, within))


@fault("object of pairs in the query", VALIDATOR, "does not read style: form with explode: true for objects")
def exploded_object(refused):
    return refused.location == "query" and refused.style == "form" and refused.explode and refused.is_object(refused.schema)


@fault("value without a type", VALIDATOR, "leaves what has no type a text, and compares the text with numbers")
def untyped(refused):
    is_untyped = "type" not in refused.error_schema and refused.location != ""
    texts = [str(value).lower() for value in refused.error_schema.get("enum", [])]
    return refused.keyword == "enum" and is_untyped and str(refused.instance).lower() in texts


@fault("enumeration of another type", DOCUMENT, "type: string beside values that are numbers or truth values: nothing fits both")
def enumeration(refused):
    if refused.keyword != "enum":
        return False
    texts = {str(value).lower() for value in refused.error_schema["enum"] if not isinstance(value, str)}
    return refused.error_schema.get("type") == "string" and str(refused.instance).lower() in texts


@fault("enumeration of items at their array", DOCUMENT, "lists texts for a value of type array, which its items are meant by")
def items_enumerated(refused):
    is_list = isinstance(refused.instance, list) and refused.error_schema.get("type") == "array"
    return refused.keyword == "enum" and is_list and all(item in refused.error_schema["enum"] for item in refused.instance)


@fault("places of a path side by side", VALIDATOR, "`{id}{extension}` can be divided in several ways; it gives everything to the first")
def side_by_side(refused):
    return refused.location == "path" and "}{" in refused.line["path"]


@fault("empty value of a typed parameter", VALIDATOR, "allowEmptyValue is true, and the empty text is cast to a number all the same")
def allowed_empty(refused):
    return refused.parameter.get("allowEmptyValue") and refused.argument == "" and "CastError" in refused.kinds


@fault("delimiter within a value", VALIDATOR, "splits after decoding, so that an encoded delimiter divides a value")
def delimiter(refused):
    return refused.location and not isinstance(refused.argument, str) and refused.argument_has(",=;.&|")


@fault("empty member of a matrix", VALIDATOR, "does not read `;name`, which is how RFC 6570 writes an empty value")
def empty_member(refused):
    return refused.style == "matrix" and ("" in refused.argument_leaves() or refused.argument == "")


@fault("mapping to the name of a schema", VALIDATOR, "takes the values of a discriminator's mapping for references alone")
def mapped_name(refused):
    reference = refused.unresolved_reference()
    return reference is not None and reference in refused.schemas


@fault("discriminator without a mapping", DOCUMENT, "the value is one that the document allows and no schema has its name")
def implied_name(refused):
    reference = refused.unresolved_reference()
    return reference is not None and reference.removeprefix("#/components/schemas/") not in refused.schemas


@fault("discriminator in a circle", VALIDATOR, "follows the discriminator of a schema and of its own allOf without an end")
def circle(refused):
    return refused.kinds[0] == "Crash" and "RecursionError" in refused.text and "handle_discriminator" in refused.error.trace


@fault("several types of a parameter", VALIDATOR, "reads `type` of a parameter as one name alone, and breaks where OpenAPI 3.1 lists several")
def several_types(refused):
    return refused.kinds[0] == "Crash" and "Expected a string value, got <class 'list'>" in refused.text


@fault("servers of an operation", VALIDATOR, "takes the servers of the path before those of the operation")
def servers(refused):
    return refused.kinds[0] == "ServerNotFound" and "servers" in refused.path_item and "servers" in refused.operation


@fault("empty body", VALIDATOR, "takes a form without fields, or an empty text, which have no bytes, for no body")
def empty_body(refused):
    return refused.kinds[0] == "MissingRequiredRequestBody" and not refused.is_of("json") and refused.line["body"] == ""


@fault("text as bytes", VALIDATOR, "leaves the bytes of a part, or of a body of text, undecoded, and says that they are no text")
def undecoded(refused):
    return refused.keyword == "type" and isinstance(refused.instance, bytes) and refused.error_schema.get("type") == "string"


@fault("media type that it does not read", VALIDATOR, "holds the bytes of XML and of other types of its own against the schema of an object")
def unread(refused):
    return isinstance(refused.instance, bytes) and not refused.detail.absolute_path and not refused.is_of("json", "urlencoded", "multipart")


@fault("number or truth value of a part", VALIDATOR, "leaves a part that is text/plain a text, whatever type its schema has")
def uncast_part(refused):
    is_scalar = refused.error_schema.get("type") in ("integer", "number", "boolean")
    return refused.keyword == "type" and refused.is_of("multipart") and isinstance(refused.instance, (str, bytes)) and is_scalar


@fault("style of a part", VALIDATOR, "breaks at an array in a part whose encoding names a style, and at deepObject for what is no object")
def styled_part(refused):
    return "DeserializeError" in refused.kinds and refused.location == "" and refused.is_of("multipart", "urlencoded")


@fault("example that is not allowed", DOCUMENT, "its own example does not match its own pattern, which has look-ahead")
def example(refused):
    allowed = [refused.error_schema.get("example"), *(refused.error_schema.get("examples") or [])]
    return refused.keyword == "pattern" and "(?" in refused.error_schema["pattern"] and refused.instance in allowed


@fault("discriminator beside schemas without a type", DOCUMENT, "the alternatives do not say that they are objects")
def untyped_alternatives(refused):
    is_choice = refused.keyword in ("oneOf", "anyOf") and "discriminator" in refused.error_schema
    return is_choice and refused.detail.message.endswith("is not of type 'object'")


@fault("file in a form that carries none", DOCUMENT, "a parameter of type file beside a consumes that names no form for files; the converter makes a form without files of it")
def file_in_form(refused):
    is_unknown = "MediaTypeNotFound" in refused.kinds and refused.is_of("multipart")
    return is_unknown and document_has_file(refused)


@fault("lists of a form", VALIDATOR, "Swagger 2.0 writes a list of a form as one value with commas; the converter makes one field for each item of it")
def list_of_form(refused):
    listed = refused.instance.split(",") if isinstance(refused.instance, str) else []
    is_of_list = refused.keyword == "enum" and refused.schema_path[-2:-1] == ["items"] and len(listed) > 1
    return refused.document.get("x-converted") and refused.is_of("urlencoded") and is_of_list and all(item in refused.error_schema["enum"] for item in listed)


@fault("empty text among its own values", DOCUMENT, "the parameter's own example or default is the empty text, which the specification forbids without allowEmptyValue")
def own_empty_text(refused):
    own = [refused.parameter.get("example"), *(refused.schema.get(key) for key in ("example", "default"))]
    return "EmptyQueryParameterValue" in refused.kinds and "" in own


def document_has_file(refused):
    media = refused.resolved(refused.operation.get("requestBody")).get("content", {}).get("application/x-www-form-urlencoded", {})
    properties = refused.resolved(media.get("schema")).get("properties", {})
    return any(described.get("format") == "binary" for described in properties.values())


def class_of(refused):
    """The class of one refusal, and a name for one that is ours."""
    for known in CLASSES:
        if known.applies(refused):
            return known
    return Class(" ".join([*refused.kinds, refused.location, refused.keyword]).strip(), "ours", refused.text[:80], bool)
