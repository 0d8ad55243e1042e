//! Minimal values for a JSON Schema, with which a scripted model makes calls from the offered tool alone.

use serde_json::{Map, Value, json};

/// Maximum nesting depth, after which a schema counts as infinite.
const DEPTH: usize = 12;

/// Returns arguments for a tool: its required parameters and one optional one. Returns `None` if no valid ones are
/// found.
pub(crate) fn arguments(parameters: &Value) -> Option<Value> {
    let mut sample = value(parameters, parameters, "argument", 0)?;
    let valid = |sample: &Value| jsonschema::is_valid(parameters, sample);
    if !valid(&sample) {
        return None;
    }
    let optional = optional_property(parameters, &sample);
    if let Some((name, value)) = optional {
        let mut richer = sample.clone();
        richer[name] = value;
        if valid(&richer) {
            sample = richer;
        }
    }
    Some(sample)
}

fn optional_property(parameters: &Value, sample: &Value) -> Option<(String, Value)> {
    let properties = parameters["properties"].as_object()?;
    let (name, schema) = properties.iter().find(|(name, _)| sample.get(name.as_str()).is_none())?;
    Some((name.clone(), value(parameters, schema, name, 0)?))
}

/// Returns a value that `schema`, a part of `root`, accepts; `name` makes strings recognisable.
fn value(root: &Value, schema: &Value, name: &str, depth: usize) -> Option<Value> {
    if depth > DEPTH {
        return None;
    }
    let schema = merged(root, schema)?;
    for keyword in ["const", "default", "example"] {
        if let Some(value) = schema.get(keyword).filter(|value| jsonschema::is_valid(&closed(root, &schema), value)) {
            return Some(value.clone());
        }
    }
    if let Some(choice) =
        schema.get("enum").and_then(|choices| choices.as_array()?.iter().find(|choice| !choice.is_null()))
    {
        return Some(choice.clone());
    }
    for keyword in ["oneOf", "anyOf"] {
        if let Some(choices) = schema.get(keyword).and_then(Value::as_array) {
            let mut rest = schema.clone();
            rest.remove(keyword);
            return choices.iter().find_map(|choice| {
                let both = json!({"allOf": [rest, choice]});
                value(root, &both, name, depth + 1)
            });
        }
    }
    let named =
        schema.get("type").and_then(|kind| kind.as_str().or_else(|| kind.as_array()?.iter().find_map(Value::as_str)));
    match named.unwrap_or(if schema.contains_key("properties") { "object" } else { "string" }) {
        "object" => object(root, &schema, depth),
        "array" => array(root, &schema, name, depth),
        "integer" => Some(json!(bound(&schema).ceil() as i64)),
        "number" => Some(json!(bound(&schema))),
        "boolean" => Some(json!(true)),
        "null" => Some(Value::Null),
        _ => string(root, &schema, name),
    }
}

/// Returns the schema with its references and `allOf` merged.
fn merged(root: &Value, schema: &Value) -> Option<Map<String, Value>> {
    let mut merged = Map::new();
    let mut open = vec![schema.clone()];
    let mut steps = 0;
    while let Some(part) = open.pop() {
        steps += 1;
        if steps > 100 {
            return None;
        }
        let Some(part) = part.as_object() else { continue };
        for (keyword, value) in part {
            match keyword.as_str() {
                "$ref" => open.push(root.pointer(value.as_str()?.strip_prefix('#')?)?.clone()),
                "allOf" => open.extend(value.as_array()?.iter().cloned()),
                "properties" => {
                    let all = merged.entry("properties").or_insert_with(|| json!({}));
                    all.as_object_mut()?.extend(value.as_object()?.clone());
                }
                "required" => {
                    let all = merged.entry("required").or_insert_with(|| json!([]));
                    all.as_array_mut()?.extend(value.as_array()?.iter().cloned());
                }
                _ => {
                    merged.entry(keyword.clone()).or_insert_with(|| value.clone());
                }
            }
        }
    }
    Some(merged)
}

/// Returns the schema with the definitions that its references may need.
fn closed(root: &Value, schema: &Map<String, Value>) -> Value {
    let mut closed = schema.clone();
    for definitions in ["$defs", "definitions", "components"] {
        if let Some(value) = root.get(definitions) {
            closed.insert(definitions.to_owned(), value.clone());
        }
    }
    Value::Object(closed)
}

fn object(root: &Value, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
    let mut object = Map::new();
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        let property =
            schema.get("properties").and_then(|properties| properties.get(name)).cloned().unwrap_or_else(|| json!({}));
        object.insert(name.to_owned(), value(root, &property, name, depth + 1)?);
    }
    let first = schema.get("properties").and_then(Value::as_object).and_then(|properties| properties.iter().next());
    if let (true, Some((name, property))) = (object.is_empty() && depth > 0, first) {
        // An object without members has no content, and would be empty in a path.
        object.extend(value(root, property, name, depth + 1).map(|value| (name.clone(), value)));
    }
    if depth > 0 && object.is_empty() && schema.get("additionalProperties") == Some(&json!(false)) {
        return None;
    }
    Some(Value::Object(object))
}

fn array(root: &Value, schema: &Map<String, Value>, name: &str, depth: usize) -> Option<Value> {
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1);
    let items = schema.get("items").cloned().unwrap_or_else(|| json!({"type": "string"}));
    let elements: Option<Vec<Value>> =
        (0..least).map(|number| value(root, &items, &format!("{name}{number}"), depth + 1)).collect();
    Some(json!(elements?))
}

fn bound(schema: &Map<String, Value>) -> f64 {
    let number = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let step = number("multipleOf").unwrap_or(1.0);
    let least = number("minimum").or_else(|| number("exclusiveMinimum").map(|bound| bound + step)).unwrap_or(1.0);
    let most =
        number("maximum").or_else(|| number("exclusiveMaximum").map(|bound| bound - step)).unwrap_or(f64::INFINITY);
    let excluded = schema.get("exclusiveMinimum") == Some(&json!(true));
    ((least / step).ceil() * step + if excluded { step } else { 0.0 }).min(most)
}

/// Returns the first of several common strings that satisfies format, length and pattern.
fn string(root: &Value, schema: &Map<String, Value>, name: &str) -> Option<Value> {
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    let most = schema.get("maxLength").and_then(Value::as_u64).unwrap_or(64);
    let own: String =
        format!("{name} of x").chars().cycle().take(usize::try_from(least.max(8).min(most)).ok()?).collect();
    let everyday = [
        "2026-03-01", "2026-03-01T09:00:00Z", "0d5b1a5e-6f5e-4c4b-9a7e-2f3c1b5d8e90", "https://host.example/a",
        "a@host.example", "abc", "ABC", "12345", "1", "en", "EN", "en-US", "USD", "192.0.2.1", "#a1b2c3", "10:00",
        "10:00:00", "a-b", "a_b", "{a}",
    ];
    let validator = jsonschema::options().should_validate_formats(true).build(&closed(root, schema)).ok()?;
    std::iter::once(own.as_str()).chain(everyday).map(|text| json!(text)).find(|text| validator.is_valid(text))
}
