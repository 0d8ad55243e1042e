//! Keywords of a schema and the form of their values: one table for the dialects of OpenAPI 3.0 and JSON Schema
//! 2020-12.

use serde_json::{Map, Value};

/// Form of a keyword's value. Keywords outside the table are dropped: `xml`, `externalDocs`, `discriminator`,
/// `readOnly`, `writeOnly` and `x-*` have no meaning for a model, and `$id`, `$anchor` and `$dynamicRef` lose their
/// meaning when moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeywordForm {
    /// A schema.
    Schema,
    /// An array of schemas.
    Schemas,
    /// An object whose members are schemas.
    SchemaMap,
    /// The name of a type, or an array of names.
    Types,
    /// An array of allowed values.
    Enum,
    /// Any value of the schema's type.
    Default,
    /// Any value.
    Literal,
    /// An array of example values.
    Examples,
    /// One example value (OpenAPI 3.0).
    Example,
    /// A string.
    Text,
    /// A string for readers, which may be shortened.
    Description,
    /// A boolean.
    Flag,
    /// A number.
    Number,
    /// A positive number.
    PositiveNumber,
    /// A number, or (OpenAPI 3.0) a boolean: whether the corresponding bound is exclusive.
    ExclusiveBound,
    /// A non-negative integer.
    Count,
    /// An array of names.
    Names,
    /// An object whose members are arrays of names.
    NamesMap,
}

/// Returns the form of `keyword`'s value; `None` for a keyword that is dropped.
pub(crate) fn form(keyword: &str) -> Option<KeywordForm> {
    Some(match keyword {
        "items"
        | "additionalProperties"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contains"
        | "propertyNames"
        | "unevaluatedItems"
        | "unevaluatedProperties" => KeywordForm::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordForm::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" => KeywordForm::SchemaMap,
        "type" => KeywordForm::Types,
        "enum" => KeywordForm::Enum,
        "default" => KeywordForm::Default,
        "const" => KeywordForm::Literal,
        "examples" => KeywordForm::Examples,
        "example" => KeywordForm::Example,
        "title" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => KeywordForm::Text,
        "description" => KeywordForm::Description,
        "uniqueItems" | "deprecated" => KeywordForm::Flag,
        "maximum" | "minimum" => KeywordForm::Number,
        "multipleOf" => KeywordForm::PositiveNumber,
        "exclusiveMaximum" | "exclusiveMinimum" => KeywordForm::ExclusiveBound,
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" | "maxContains"
        | "minContains" => KeywordForm::Count,
        "required" => KeywordForm::Names,
        "dependentRequired" => KeywordForm::NamesMap,
        _ => return None,
    })
}

/// Returns the subschemas in the value of a keyword, for changes.
pub(super) fn subschemas_mut<'v>(keyword: &str, value: &'v mut Value) -> impl Iterator<Item = &'v mut Value> {
    let (mut one, mut list, mut map) = (None, None, None);
    match form(keyword) {
        Some(KeywordForm::Schema) => one = Some(value),
        Some(KeywordForm::Schemas) => list = value.as_array_mut(),
        Some(KeywordForm::SchemaMap) => map = value.as_object_mut(),
        _ => {}
    }
    let of_map = map.into_iter().flatten().map(|(_, schema)| schema);
    one.into_iter().chain(list.into_iter().flatten()).chain(of_map)
}

/// Whether the subschemas of a keyword apply to the same value as the schema itself.
pub(super) fn applies_to_same_value(keyword: &str) -> bool {
    matches!(keyword, "not" | "if" | "then" | "else" | "allOf" | "anyOf" | "oneOf" | "dependentSchemas")
}

/// Whether the keyword describes without constraining. Such siblings of a `$ref` are kept in OpenAPI 3.0 too,
/// although the specification ignores all siblings, because authors intend them to be read.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    matches!(keyword, "title" | "description" | "default" | "examples" | "example" | "deprecated")
}

/// Appends a line to the description of a schema.
pub(crate) fn append_description(schema: &mut Map<String, Value>, line: &str) {
    let own = schema.get("description").and_then(Value::as_str).filter(|own| !own.is_empty());
    let text = own.map_or_else(|| line.to_owned(), |own| format!("{own}\n{line}"));
    schema.insert("description".to_owned(), text.into());
}
