//! Schema violations, converted from validator errors.

use std::collections::HashSet;
use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use callwright_common::json::Pointer;

/// Maximum number of findings of one kind per call; more do not help to repair the call.
pub const MAX_FINDINGS: usize = 512;

/// A violated rule of the schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// Path of the value; for a missing or unknown member, path of its object.
    pub path: Pointer,
    /// JSON Pointer of the schema with the rule, if known.
    pub schema: Option<String>,
    pub rule: SchemaRule,
}

/// Kinds of rules.
#[derive(Debug, Clone, PartialEq)]
pub enum SchemaRule {
    /// The value must have one of these types.
    Type(Vec<&'static str>),
    /// The object must have this member.
    Missing(String),
    /// The object must not have this member.
    Unknown(String),
    /// The value must be one of these options: `enum` and `const`.
    Options(Arc<Value>),
    /// Any other rule: its keyword and its requirement in words.
    Constraint(&'static str, String),
    /// The value must match one of several schemas and matches none. Holds the violations per schema.
    Branches(Vec<Vec<Violation>>),
}

impl Violation {
    /// Creates the violation for a value whose violations would take too long to explain.
    pub(super) fn unexplained() -> Self {
        let message = "must fit the tool's schema".to_owned();
        Self { path: Pointer::root(), schema: None, rule: SchemaRule::Constraint("$ref", message) }
    }

    /// Returns this violation or, for branches, the violations of the closest branch: among the branches that accept
    /// the value's type, the one with the fewest violations. If no branch accepts the type, returns one violation with
    /// all types. If each branch fails on its options only, returns one violation with all options.
    pub fn explain(self) -> Vec<Violation> {
        let Self { path, schema, rule: SchemaRule::Branches(branches) } = self else { return vec![self] };
        let mut types: Vec<&'static str> = Vec::new();
        let mut meant: Vec<Vec<Violation>> = Vec::new();
        for branch in branches {
            let branch: Vec<Violation> = branch.into_iter().flat_map(Violation::explain).collect();
            match type_at(&branch, &path) {
                Some(expected) => types.extend(expected),
                None => meant.push(branch),
            }
        }
        let rule = if meant.is_empty() {
            let mut seen = HashSet::new();
            types.retain(|name| seen.insert(*name));
            SchemaRule::Type(types)
        } else {
            match meant.iter().map(|branch| only_options(branch, &path)).collect::<Option<Vec<_>>>() {
                Some(options) => {
                    let null = types.contains(&"null").then_some(Value::Null);
                    SchemaRule::Options(Arc::new(options.concat().into_iter().chain(null).collect()))
                }
                None => return meant.into_iter().min_by_key(Vec::len).unwrap_or_default(),
            }
        };
        vec![Self { path, schema, rule }]
    }
}

fn type_at(branch: &[Violation], path: &Pointer) -> Option<Vec<&'static str>> {
    branch.iter().find_map(|violation| match &violation.rule {
        SchemaRule::Type(expected) if violation.path == *path => Some(expected.clone()),
        _ => None,
    })
}

fn only_options<'a>(branch: &'a [Violation], path: &Pointer) -> Option<&'a [Value]> {
    match branch {
        [Violation { path: at, rule: SchemaRule::Options(options), .. }] if at == path => {
            options.as_array().map(Vec::as_slice)
        }
        _ => None,
    }
}

/// Returns the violations that `validator` finds in `value`.
pub(super) fn collect(validator: &Validator, value: &Value) -> Vec<Violation> {
    validator.iter_errors(value).flat_map(|error| read(&error)).take(MAX_FINDINGS).collect()
}

/// Returns the first violation only, without the time and memory for the others.
pub(super) fn first(validator: &Validator, value: &Value) -> Vec<Violation> {
    validator.validate(value).err().iter().flat_map(read).collect()
}

fn read(error: &ValidationError<'_>) -> Vec<Violation> {
    let path = Pointer::from(error.instance_path().as_str());
    let keyword = error.schema_path().as_str();
    let at = match error.kind() {
        Kind::FalseSchema => keyword,
        _ => keyword.rsplit_once('/').map_or("", |(schema, _)| schema),
    };
    let rules: Vec<SchemaRule> = match error.kind() {
        Kind::Type { kind } => vec![SchemaRule::Type(types(kind))],
        Kind::Required { property } => vec![SchemaRule::Missing(property.as_str().unwrap_or_default().to_owned())],
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().take(MAX_FINDINGS).cloned().map(SchemaRule::Unknown).collect()
        }
        Kind::Enum { options } => vec![SchemaRule::Options(Arc::clone(options))],
        Kind::Constant { expected_value } => {
            vec![SchemaRule::Options(Arc::new(Value::Array(vec![(**expected_value).clone()])))]
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            let branches: Vec<Vec<Violation>> =
                context.iter().map(|errors| errors.iter().flat_map(|error| read(error)).collect()).collect();
            if branches.iter().any(Vec::is_empty) { Vec::new() } else { vec![SchemaRule::Branches(branches)] }
        }
        // A scalar that matches several alternatives (a date is also a string) indicates an imprecise schema, not a
        // wrong call.
        Kind::OneOfMultipleValid { .. } if !error.instance().is_object() && !error.instance().is_array() => Vec::new(),
        kind => {
            constraint(kind).map(|(keyword, message)| SchemaRule::Constraint(keyword, message)).into_iter().collect()
        }
    };
    rules.into_iter().map(|rule| Violation { path: path.clone(), schema: Some(at.to_owned()), rule }).collect()
}

fn types(kind: &TypeKind) -> Vec<&'static str> {
    match kind {
        TypeKind::Single(one) => vec![one.as_str()],
        TypeKind::Multiple(several) => several.iter().map(jsonschema::JsonType::as_str).collect(),
    }
}

/// Returns the keyword and its requirement; `None` for a rule that cannot be checked.
fn constraint(kind: &Kind) -> Option<(&'static str, String)> {
    let message = match kind {
        Kind::AdditionalItems { limit } => ("items", format!("must have at most {limit} items")),
        Kind::Contains => ("contains", "must have an item of the form that the schema requires".to_owned()),
        Kind::ContentEncoding { content_encoding } => {
            ("contentEncoding", format!("must be encoded as {content_encoding}"))
        }
        Kind::ContentMediaType { content_media_type } => ("contentMediaType", format!("must be {content_media_type}")),
        Kind::ExclusiveMaximum { limit } => ("exclusiveMaximum", format!("must be below {limit}")),
        Kind::ExclusiveMinimum { limit } => ("exclusiveMinimum", format!("must be above {limit}")),
        Kind::FalseSchema => ("not", "must not be given".to_owned()),
        Kind::Format { format } => ("format", format_rule(format)),
        Kind::FromUtf8 { .. } => ("contentEncoding", "must hold UTF-8 text".to_owned()),
        Kind::MaxItems { limit } => ("maxItems", format!("must have at most {limit} items")),
        Kind::Maximum { limit } => ("maximum", format!("must be at most {limit}")),
        Kind::MaxLength { limit } => ("maxLength", format!("must have at most {limit} characters")),
        Kind::MaxProperties { limit } => ("maxProperties", format!("must have at most {limit} members")),
        Kind::MinItems { limit } => ("minItems", format!("must have at least {limit} items")),
        Kind::Minimum { limit } => ("minimum", format!("must be at least {limit}")),
        Kind::MinLength { limit } => ("minLength", format!("must have at least {limit} characters")),
        Kind::MinProperties { limit } => ("minProperties", format!("must have at least {limit} members")),
        Kind::MultipleOf { multiple_of } => ("multipleOf", format!("must be a multiple of {multiple_of}")),
        Kind::Not { .. } => ("not", "must not be of the form that the schema excludes".to_owned()),
        Kind::OneOfMultipleValid { .. } => ("oneOf", "must fit exactly one of the alternatives".to_owned()),
        Kind::Pattern { pattern } => ("pattern", format!("must match the regular expression {pattern}")),
        Kind::PropertyNames { .. } => {
            ("propertyNames", "must have only member names that the schema allows".to_owned())
        }
        Kind::UnevaluatedItems { .. } => ("unevaluatedItems", "must have no further items".to_owned()),
        Kind::UniqueItems => ("uniqueItems", "must have no item twice".to_owned()),
        _ => return None,
    };
    Some(message)
}

fn format_rule(format: &str) -> String {
    let form = match format {
        "date-time" => "a date and time as in 2025-01-31T08:30:00Z (RFC 3339)",
        "date" => "a date as in 2025-01-31 (RFC 3339)",
        "time" => "a time with offset as in 08:30:00Z (RFC 3339)",
        "duration" => "a duration as in P1DT12H (ISO 8601)",
        "email" | "idn-email" => "an e-mail address",
        "uri" | "iri" => "an absolute URI",
        "uuid" => "a UUID as in 123e4567-e89b-12d3-a456-426614174000",
        other => return format!("must be of the format {other}"),
    };
    format!("must be {form}")
}
