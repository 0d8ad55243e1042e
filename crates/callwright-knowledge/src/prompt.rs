//! Requests to a model: the messages of a prompt, and the form of its answer.
//!
//! Owns what all prompts have in common. Must not contain the wording of one.

use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value, json};

use callwright_common::json::raw;
use callwright_judge::repair::answers::after_reasoning;
use callwright_openai::Role;
use callwright_types::Cost;
use callwright_upstream::Exchange;

/// Messages with their roles.
pub(crate) type Messages = Vec<(Role, String)>;

/// Returns the messages of a prompt: the instructions, and the data of third parties as one JSON object, so that no text
/// can break out of its string.
pub(crate) fn messages(system: impl Into<String>, data: &impl Serialize) -> Messages {
    vec![(Role::System, system.into()), (Role::User, raw(data).get().to_owned())]
}

/// Returns the JSON Schema of an answer of this type. All members are required and no others allowed, so that providers
/// accept it as strict.
pub(crate) fn form<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut form = settings.into_generator().into_root_schema_for::<T>().to_value();
    restrict(&mut form);
    form
}

fn restrict(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    for annotation in ["title", "description", "default", "format"] {
        members.shift_remove(annotation);
    }
    if let Some(Value::Object(properties)) = members.get("properties") {
        let required: Vec<&String> = properties.keys().collect();
        let (required, others) = (json!(required), json!(false));
        members.extend([("required".to_owned(), required), ("additionalProperties".to_owned(), others)]);
    }
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(named)) => named.values_mut().for_each(restrict),
            ("anyOf", Value::Array(branches)) => branches.iter_mut().for_each(restrict),
            ("items", items) => restrict(items),
            _ => {}
        }
    }
}

/// Returns the truth value of an answer or its member, which models also write as a word.
pub(crate) fn truth(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| truth_word(value.as_str()?))
}

/// Returns the truth value that a text consists of.
pub(crate) fn truth_word(text: &str) -> Option<bool> {
    let text = after_reasoning(text);
    match text.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase().as_str() {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => None,
    }
}

/// Returns the schema of an object with exactly these members.
pub(crate) fn object(properties: Value) -> Value {
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Returns the schema of one of these texts; of any text if there are none.
pub(crate) fn one_of(texts: &[&str]) -> Value {
    if texts.is_empty() { json!({"type": "string"}) } else { json!({"type": "string", "enum": texts}) }
}

/// Accumulated cost of requests.
#[derive(Debug, Default)]
pub(crate) struct CostCounter(Mutex<Cost>);

impl CostCounter {
    /// Adds the cost of a request as counted by the provider.
    pub(crate) fn add(&self, exchange: &Exchange) {
        let (prompt_tokens, completion_tokens) =
            exchange.usage.map_or((0, 0), |usage| (usage.prompt_tokens, usage.completion_tokens));
        let cost = Cost { requests: exchange.requests, prompt_tokens, completion_tokens };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(cost);
    }

    /// Returns the cost so far.
    pub(crate) fn total(&self) -> Cost {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Answer {
        /// Described for readers of the code.
        steps: Vec<Step>,
        reason: Option<String>,
    }

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Step {
        tool: String,
        count: u64,
    }

    #[test]
    fn a_form_is_strict_at_every_level() {
        let form = form::<Answer>();
        let step = object(json!({"tool": {"type": "string"}, "count": {"type": "integer", "minimum": 0}}));
        let expected = object(json!({
            "steps": {"type": "array", "items": step}, "reason": {"type": ["string", "null"]},
        }));
        assert_eq!(form, expected);
    }
}
