"""Classes of refusals of the validator, including those that are not faults of the executor.

A class examines one refusal together with the request and the document. A request whose body violates several rules has
several refusals. A refusal without a class is a fault of the executor.
"""

from dataclasses import dataclass
from typing import Any, Callable

from reading import Refused

VALIDATOR, DOCUMENT = "validator", "document"


class Misrouted(Exception):
    """The request is not routed to its operation."""


class Crash(Exception):
    """The validator itself failed."""

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


@fault("default of an absent parameter", VALIDATOR, "validates the default in place of the absent parameter")
def default(refused):
    return "InvalidSchemaValue" in refused.kinds and refused.location in ("query", "header", "cookie") and not refused.is_sent()


@fault("read-only value that is no property", VALIDATOR, "readOnly applies to properties; here it is on a parameter or on the items of an array")
def read_only_outside(refused):
    return refused.keyword == "readOnly" and refused.schema_path[-3:-2] != ["properties"]


@fault("read-only here, writable there", DOCUMENT, "one branch of allOf has readOnly: true, another one readOnly: false")
def read_only_contradicted(refused):
    flags = [described.get("readOnly") for described in refused.descriptions()]
    return refused.keyword == "readOnly" and False in flags


@fault("read-only properties in the path", DOCUMENT, "the path parameter requires a value, and only read-only properties are available")
def read_only_in_path(refused):
    return refused.keyword == "readOnly" and refused.location == "path"


@fault("deepObject without explode: true", VALIDATOR, "the default of explode is not defined for this style")
def deep_object(refused):
    return refused.style == "deepObject" and not refused.parameter.get("explode")


@fault("spaceDelimited", VALIDATOR, "searches for %20 in a value that is already decoded")
def space_delimited(refused):
    return refused.style == "spaceDelimited" and refused.location == "query"


@fault("values within values of a parameter", DOCUMENT, "no style defines objects in arrays, or either in objects; no request can satisfy the validator")
def nested_values(refused):
    within = [refused.schema.get("items"), *refused.schema.get("properties", {}).values()]
    return "CastError" in refused.kinds and any(map(refused.is_nested, within))


@fault("object of pairs in the query", VALIDATOR, "does not support style: form with explode: true for objects")
def exploded_object(refused):
    return refused.location == "query" and refused.style == "form" and refused.explode and refused.is_object(refused.schema)


@fault("value without a type", VALIDATOR, "treats a value without a type as a string, and compares the string with numbers")
def untyped(refused):
    is_untyped = "type" not in refused.error_schema and refused.location != ""
    texts = [str(value).lower() for value in refused.error_schema.get("enum", [])]
    return refused.keyword == "enum" and is_untyped and str(refused.instance).lower() in texts


@fault("enumeration of another type", DOCUMENT, "type: string beside values that are numbers or booleans: no value satisfies both")
def enumeration(refused):
    if refused.keyword != "enum":
        return False
    texts = {str(value).lower() for value in refused.error_schema["enum"] if not isinstance(value, str)}
    return refused.error_schema.get("type") == "string" and str(refused.instance).lower() in texts


@fault("enumeration of items at their array", DOCUMENT, "lists strings for a value of type array; they are meant for its items")
def items_enumerated(refused):
    is_list = isinstance(refused.instance, list) and refused.error_schema.get("type") == "array"
    return refused.keyword == "enum" and is_list and all(item in refused.error_schema["enum"] for item in refused.instance)


@fault("places of a path side by side", VALIDATOR, "`{id}{extension}` can be split in several ways; it assigns everything to the first parameter")
def side_by_side(refused):
    return refused.location == "path" and "}{" in refused.line["path"]


@fault("empty value of a typed parameter", VALIDATOR, "allowEmptyValue is true, but the empty string is converted to a number")
def allowed_empty(refused):
    return refused.parameter.get("allowEmptyValue") and refused.argument == "" and "CastError" in refused.kinds


@fault("delimiter within a value", VALIDATOR, "splits after decoding, so that an encoded delimiter splits a value")
def delimiter(refused):
    return refused.location and not isinstance(refused.argument, str) and refused.argument_has(",=;.&|")


@fault("empty member of a matrix", VALIDATOR, "does not support `;name`, the RFC 6570 form of an empty value")
def empty_member(refused):
    return refused.style == "matrix" and ("" in refused.argument_leaves() or refused.argument == "")


@fault("mapping to the name of a schema", VALIDATOR, "accepts only references as values of a discriminator's mapping")
def mapped_name(refused):
    reference = refused.unresolved_reference()
    return reference is not None and reference in refused.schemas


@fault("discriminator without a mapping", DOCUMENT, "the value is one that the document allows and no schema has its name")
def implied_name(refused):
    reference = refused.unresolved_reference()
    return reference is not None and reference.removeprefix("#/components/schemas/") not in refused.schemas


@fault("discriminator in a circle", VALIDATOR, "follows the discriminator of a schema and of its own allOf endlessly")
def circle(refused):
    return refused.kinds[0] == "Crash" and "RecursionError" in refused.text and "handle_discriminator" in refused.error.trace


@fault("several types of a parameter", VALIDATOR, "supports only a single name as `type` of a parameter, and fails on the list of OpenAPI 3.1")
def several_types(refused):
    return refused.kinds[0] == "Crash" and "Expected a string value, got <class 'list'>" in refused.text


@fault("servers of an operation", VALIDATOR, "gives the servers of the path precedence over those of the operation")
def servers(refused):
    return refused.kinds[0] == "ServerNotFound" and "servers" in refused.path_item and "servers" in refused.operation


@fault("empty body", VALIDATOR, "treats a form without fields and an empty text, which have no bytes, as an absent body")
def empty_body(refused):
    return refused.kinds[0] == "MissingRequiredRequestBody" and not refused.is_of("json") and refused.line["body"] == ""


@fault("text as bytes", VALIDATOR, "does not decode the bytes of a part or text body, and reports that they are not a string")
def undecoded(refused):
    return refused.keyword == "type" and isinstance(refused.instance, bytes) and refused.error_schema.get("type") == "string"


@fault("media type that it does not read", VALIDATOR, "validates the bytes of XML and other media types against the schema of an object")
def unread(refused):
    return isinstance(refused.instance, bytes) and not refused.detail.absolute_path and not refused.is_of("json", "urlencoded", "multipart")


@fault("number or truth value of a part", VALIDATOR, "treats a text/plain part as a string, regardless of the type in its schema")
def uncast_part(refused):
    is_scalar = refused.error_schema.get("type") in ("integer", "number", "boolean")
    return refused.keyword == "type" and refused.is_of("multipart") and isinstance(refused.instance, (str, bytes)) and is_scalar


@fault("style of a part", VALIDATOR, "fails on an array in a part whose encoding has a style, and on deepObject for other values than objects")
def styled_part(refused):
    return "DeserializeError" in refused.kinds and refused.location == "" and refused.is_of("multipart", "urlencoded")


@fault("example that is not allowed", DOCUMENT, "its own example does not match its own pattern, which has look-ahead")
def example(refused):
    allowed = [refused.error_schema.get("example"), *(refused.error_schema.get("examples") or [])]
    return refused.keyword == "pattern" and "(?" in refused.error_schema["pattern"] and refused.instance in allowed


@fault("discriminator beside schemas without a type", DOCUMENT, "the alternatives have no type: object")
def untyped_alternatives(refused):
    is_choice = refused.keyword in ("oneOf", "anyOf") and "discriminator" in refused.error_schema
    return is_choice and refused.detail.message.endswith("is not of type 'object'")


@fault("file in a form that carries none", DOCUMENT, "a parameter of type file with a consumes without a form for files; the converter makes a form without files")
def file_in_form(refused):
    is_unknown = "MediaTypeNotFound" in refused.kinds and refused.is_of("multipart")
    return is_unknown and document_has_file(refused)


@fault("lists of a form", VALIDATOR, "Swagger 2.0 writes a list in a form as one value with commas; the converter makes one field per item")
def list_of_form(refused):
    listed = refused.instance.split(",") if isinstance(refused.instance, str) else []
    is_of_list = refused.keyword == "enum" and refused.schema_path[-2:-1] == ["items"] and len(listed) > 1
    return refused.document.get("x-converted") and refused.is_of("urlencoded") and is_of_list and all(item in refused.error_schema["enum"] for item in listed)


@fault("empty text among its own values", DOCUMENT, "the parameter's own example or default is the empty string, which the specification forbids without allowEmptyValue")
def own_empty_text(refused):
    own = [refused.parameter.get("example"), *(refused.schema.get(key) for key in ("example", "default"))]
    return "EmptyQueryParameterValue" in refused.kinds and "" in own


def document_has_file(refused):
    media = refused.resolved(refused.operation.get("requestBody")).get("content", {}).get("application/x-www-form-urlencoded", {})
    properties = refused.resolved(media.get("schema")).get("properties", {})
    return any(described.get("format") == "binary" for described in properties.values())


def class_of(refused):
    """Returns the class of one refusal, or a name for a fault of the executor."""
    for known in CLASSES:
        if known.applies(refused):
            return known
    return Class(" ".join([*refused.kinds, refused.location, refused.keyword]).strip(), "ours", refused.text[:80], bool)
