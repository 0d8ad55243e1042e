//! Arbitrary JSON that prefers words of JSON Schema.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 6;

/// Maximum number of members of an object and items of an array.
const MAX_WIDTH: u8 = 5;

const KEYS: [&str; 48] = [
    "type",
    "properties",
    "required",
    "items",
    "$ref",
    "anyOf",
    "oneOf",
    "allOf",
    "enum",
    "const",
    "default",
    "not",
    "if",
    "then",
    "else",
    "format",
    "pattern",
    "patternProperties",
    "propertyNames",
    "nullable",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "$defs",
    "definitions",
    "additionalProperties",
    "unevaluatedProperties",
    "prefixItems",
    "contains",
    "$id",
    "$schema",
    "$anchor",
    "$dynamicRef",
    "dependentRequired",
    "dependentSchemas",
    "description",
    "city",
    "City",
    "user_name",
    "userName",
];

const TEXTS: [&str; 28] = [
    "object",
    "string",
    "integer",
    "number",
    "boolean",
    "array",
    "null",
    "dict",
    "float",
    "any",
    "#",
    "#/$defs/city",
    "#/properties/city",
    "#/definitions/City",
    "date",
    "date-time",
    "email",
    "uri",
    "^a+$",
    "(",
    "(?=a)",
    "5",
    "5.0",
    "true",
    "{}",
    "[1]",
    "http://json-schema.org/draft-04/schema#",
    "city",
];

const NUMBERS: [f64; 10] = [0.0, -0.0, 0.5, -1.0, 5.0, 1e15, 9_007_199_254_740_993.0, 1e308, -1e-308, 1e19];

/// Generates a value from `bytes`.
///
/// # Errors
/// Never: the value ends with the bytes.
pub fn arbitrary_json(bytes: &mut Unstructured<'_>) -> Result<Value> {
    value(bytes, 0)
}

fn value(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let kind = bytes.int_in_range(0..=9_u8)?;
    Ok(match kind {
        0..=4 if depth < MAX_DEPTH => object(bytes, depth)?,
        5 | 6 if depth < MAX_DEPTH => {
            let count = bytes.int_in_range(0..=MAX_WIDTH)?;
            Value::Array((0..count).map(|_| value(bytes, depth + 1)).collect::<Result<_>>()?)
        }
        7 => match bytes.int_in_range(0..=3_u8)? {
            0 => Value::Null,
            1 => json!(bytes.arbitrary::<bool>()?),
            2 => json!(bytes.arbitrary::<i64>()?),
            _ => json!(bytes.choose(&NUMBERS)?),
        },
        8 => json!(bytes.int_in_range(0..=9_u8)?),
        _ => text(bytes)?.into(),
    })
}

fn object(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let count = bytes.int_in_range(0..=MAX_WIDTH)?;
    let mut members = Map::new();
    for _ in 0..count {
        let key = match bytes.ratio(1_u8, 12_u8)? {
            true => text(bytes)?,
            false => (*bytes.choose(&KEYS)?).to_owned(),
        };
        members.insert(key, value(bytes, depth + 1)?);
    }
    Ok(Value::Object(members))
}

fn text(bytes: &mut Unstructured<'_>) -> Result<String> {
    match bytes.ratio(1_u8, 6_u8)? {
        true => Ok(bytes.arbitrary::<&str>()?.to_owned()),
        false => Ok((*bytes.choose(&TEXTS)?).to_owned()),
    }
}
