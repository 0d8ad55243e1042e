//! The keywords of a schema and the form of their values: one table for the dialects of OpenAPI 3.0 and JSON Schema 2020-12.

/// What stands behind a keyword. Keywords that are not in the table are dropped: `xml`, `externalDocs`, `discriminator`,
/// `readOnly`, `writeOnly`, `x-*` say nothing to a model, and `$id`, `$anchor`, `$dynamicRef` lose their meaning when moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A schema.
    Schema,
    /// An array of schemas.
    Schemas,
    /// An object whose members are schemas.
    SchemaMap,
    /// A name of a type, or an array of such.
    Types,
    /// The allowed values.
    Enum,
    /// Any value, of the type that the schema asks for.
    Default,
    /// Any value.
    Literal,
    /// Values that illustrate.
    Examples,
    /// One value that illustrates (OpenAPI 3.0).
    Example,
    /// A text.
    Text,
    /// A text for people, which may be shortened.
    Description,
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// A number above zero.
    PositiveNumber,
    /// A number, or (OpenAPI 3.0) whether the bound beside it is exclusive.
    ExclusiveBound,
    /// A whole number, zero or more.
    Count,
    /// An array of names.
    Names,
    /// An object whose members are arrays of names.
    NamesMap,
}

/// The form of `keyword`'s value; `None` for what is dropped.
pub(crate) fn form(keyword: &str) -> Option<Form> {
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
        | "unevaluatedProperties" => Form::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Form::Schemas,
        "properties" | "patternProperties" | "dependentSchemas" => Form::SchemaMap,
        "type" => Form::Types,
        "enum" => Form::Enum,
        "default" => Form::Default,
        "const" => Form::Literal,
        "examples" => Form::Examples,
        "example" => Form::Example,
        "title" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => Form::Text,
        "description" => Form::Description,
        "uniqueItems" | "deprecated" => Form::Flag,
        "maximum" | "minimum" => Form::Number,
        "multipleOf" => Form::PositiveNumber,
        "exclusiveMaximum" | "exclusiveMinimum" => Form::ExclusiveBound,
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" | "maxContains"
        | "minContains" => Form::Count,
        "required" => Form::Names,
        "dependentRequired" => Form::NamesMap,
        _ => return None,
    })
}

/// Keywords that describe without constraining. In OpenAPI 3.0 they are taken from beside a `$ref` too, where the specification
/// ignores everything: authors write them to be read.
pub(crate) fn is_annotation(keyword: &str) -> bool {
    matches!(keyword, "title" | "description" | "default" | "examples" | "example" | "deprecated")
}
