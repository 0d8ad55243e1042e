//! Expected form of each keyword's value, across JSON Schema drafts 4 to 2020-12.

/// Form of a keyword's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeywordForm {
    /// A schema.
    Schema,
    /// A schema or, before 2020-12, a list of schemas by position.
    SchemaOrList,
    /// A list of schemas with at least one item.
    SchemaList,
    /// Schemas by name.
    SchemaMap,
    /// Schemas by regular expression.
    SchemaPatterns,
    /// Schemas or lists of names, by name.
    Dependencies,
    /// Lists of names, by name.
    NamesMap,
    /// A list of names.
    Names,
    /// A list of values with at least one item.
    Values,
    /// A number.
    Number,
    /// A number above zero.
    PositiveNumber,
    /// An exclusive bound: a number, or a boolean in draft 4.
    ExclusiveBound,
    /// A non-negative integer.
    Count,
    /// A regular expression.
    Pattern,
    /// A reference to another schema.
    Reference,
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// A list of any values.
    Examples,
    /// Identifies a schema or switches its dialect. Removed, because tool schemas are self-contained: nothing is
    /// fetched, and client input must not redirect a reference.
    Identity,
    /// Interpreted together with other keywords, after them.
    Type,
}

/// Returns the form of `keyword`'s value; `None` for an unknown keyword, which validates nothing.
pub(super) fn form(keyword: &str) -> Option<KeywordForm> {
    Some(match keyword {
        "type" | "nullable" => KeywordForm::Type,
        "properties" | "$defs" | "definitions" | "dependentSchemas" => KeywordForm::SchemaMap,
        "required" => KeywordForm::Names,
        "additionalProperties"
        | "additionalItems"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => KeywordForm::Schema,
        "items" => KeywordForm::SchemaOrList,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordForm::SchemaList,
        "patternProperties" => KeywordForm::SchemaPatterns,
        "dependencies" => KeywordForm::Dependencies,
        "dependentRequired" => KeywordForm::NamesMap,
        "enum" => KeywordForm::Values,
        "minimum" | "maximum" => KeywordForm::Number,
        "multipleOf" => KeywordForm::PositiveNumber,
        "exclusiveMinimum" | "exclusiveMaximum" => KeywordForm::ExclusiveBound,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => KeywordForm::Count,
        "pattern" => KeywordForm::Pattern,
        "$ref" => KeywordForm::Reference,
        "title" | "description" | "format" | "contentEncoding" | "contentMediaType" | "$comment" => KeywordForm::Text,
        "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => KeywordForm::Flag,
        "examples" => KeywordForm::Examples,
        "$schema" | "$id" | "id" | "$vocabulary" | "$anchor" | "$dynamicAnchor" | "$dynamicRef"
        | "$recursiveAnchor" | "$recursiveRef" => KeywordForm::Identity,
        _ => return None,
    })
}
