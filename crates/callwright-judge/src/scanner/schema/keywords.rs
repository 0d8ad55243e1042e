//! Expected form of each keyword's value, across JSON Schema drafts 4 to 2020-12.

/// Form of a keyword's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeywordValueForm {
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
pub(super) fn form(keyword: &str) -> Option<KeywordValueForm> {
    Some(match keyword {
        "type" | "nullable" => KeywordValueForm::Type,
        "properties" | "$defs" | "definitions" | "dependentSchemas" => KeywordValueForm::SchemaMap,
        "required" => KeywordValueForm::Names,
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
        | "unevaluatedProperties" => KeywordValueForm::Schema,
        "items" => KeywordValueForm::SchemaOrList,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => KeywordValueForm::SchemaList,
        "patternProperties" => KeywordValueForm::SchemaPatterns,
        "dependencies" => KeywordValueForm::Dependencies,
        "dependentRequired" => KeywordValueForm::NamesMap,
        "enum" => KeywordValueForm::Values,
        "minimum" | "maximum" => KeywordValueForm::Number,
        "multipleOf" => KeywordValueForm::PositiveNumber,
        "exclusiveMinimum" | "exclusiveMaximum" => KeywordValueForm::ExclusiveBound,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" | "minContains"
        | "maxContains" => KeywordValueForm::Count,
        "pattern" => KeywordValueForm::Pattern,
        "$ref" => KeywordValueForm::Reference,
        "title" | "description" | "format" | "contentEncoding" | "contentMediaType" | "$comment" => {
            KeywordValueForm::Text
        }
        "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => KeywordValueForm::Flag,
        "examples" => KeywordValueForm::Examples,
        "$schema" | "$id" | "id" | "$vocabulary" | "$anchor" | "$dynamicAnchor" | "$dynamicRef"
        | "$recursiveAnchor" | "$recursiveRef" => KeywordValueForm::Identity,
        _ => return None,
    })
}
