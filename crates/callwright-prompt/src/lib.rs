//! Requests to a model: the messages of a prompt, and the form of its answer.
//!
//! Owns what all prompts have in common. Must not contain the wording of one.

use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use callwright_common::json::raw;
use callwright_judge::repair::answers::{after_reasoning, read_object};
use callwright_types::{Cost, Usage};
use callwright_upstream::{Answered, BudgetSpent, Exchange, Manner, RequestBudget, RequestLimits, TextSource};
use callwright_wire::Role;

/// Maximum size of an answer; a larger one is not parsed.
pub const MAX_BYTES: usize = 256 * 1024;

/// Maximum number of items of a list in an answer without a limit of its own, as many as a call has arguments in a
/// prompt. A small model that repeats an item ends here.
const MAX_ITEMS: usize = 64;

/// Messages with their roles.
pub type Messages = Vec<(Role, String)>;

/// Returns the messages of a prompt: the instructions, and the data of third parties as one JSON object, so that no text
/// can break out of its string.
pub fn messages(system: impl Into<String>, data: &impl Serialize) -> Messages {
    vec![(Role::System, system.into()), (Role::User, raw(data).get().to_owned())]
}

/// Question whose answer is one JSON object of the form `T`.
#[derive(Debug, Clone)]
pub struct Question<T> {
    /// The prompt.
    pub messages: Messages,
    /// JSON Schema of the answer, for providers that support it.
    pub form: Value,
    answer: PhantomData<fn() -> T>,
}

impl<T: JsonSchema> Question<T> {
    /// Creates a question with these instructions about the data.
    pub fn new(system: impl Into<String>, data: &impl Serialize) -> Self {
        Self { messages: messages(system, data), form: form::<T>(), answer: PhantomData }
    }

    /// Allows only these texts at a place in the form; any text if there are none.
    #[must_use]
    pub fn allowing(self, place: &str, texts: &[&str]) -> Self {
        if texts.is_empty() { self } else { self.with(place, "enum", json!(texts)) }
    }

    /// Allows at most this number of items in the list at a place in the form.
    #[must_use]
    pub fn limiting(self, place: &str, items: usize) -> Self {
        self.with(place, "maxItems", json!(items))
    }

    fn with(mut self, place: &str, keyword: &str, value: Value) -> Self {
        if let Some(Value::Object(schema)) = self.form.pointer_mut(place) {
            schema.insert(keyword.to_owned(), value);
        }
        self
    }
}

/// Parses an answer.
///
/// # Errors
/// Feedback for the model: the fault of the answer.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("the answer is longer than {MAX_BYTES} bytes"));
    }
    read_object(text).map_err(|fault| fault.to_string())
}

/// Returns the JSON Schema of an answer of this type. All members are required and no others allowed, so that providers
/// accept it as strict, and every list has a maximum length.
pub fn form<T: JsonSchema>() -> Value {
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
    if members.contains_key("items") {
        members.entry("maxItems").or_insert(json!(MAX_ITEMS));
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
pub fn truth(value: &Value) -> Option<bool> {
    value.as_bool().or_else(|| truth_word(value.as_str()?))
}

/// Returns the truth value that a text consists of.
pub fn truth_word(text: &str) -> Option<bool> {
    let text = after_reasoning(text);
    match text.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase().as_str() {
        "true" | "yes" => Some(true),
        "false" | "no" => Some(false),
        _ => None,
    }
}

/// Reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The budget is spent.
    Limit(BudgetSpent),
    /// The request fails, with the reason.
    Failed(String),
    /// The model refuses, with a message.
    Refused(String),
}

/// Model that is queried within a budget.
#[derive(Debug)]
pub struct BudgetedModel<'a> {
    source: &'a dyn TextSource,
    temperature: f64,
    budget: RequestBudget,
    /// Cost so far.
    pub spent: Cost,
}

impl<'a> BudgetedModel<'a> {
    /// Creates a model with these limits of all requests together.
    pub fn new(source: &'a dyn TextSource, temperature: f64, limits: RequestLimits) -> Self {
        Self { source, temperature, budget: RequestBudget::new(limits), spent: Cost::default() }
    }

    /// Returns the text of the answer; `None` if it was cut off.
    ///
    /// # Errors
    /// [`NoAnswer`]: the budget is spent, or the model does not answer.
    pub async fn request<T>(&mut self, question: &Question<T>) -> Result<Option<String>, NoAnswer> {
        let grant = self.budget.reserve_text(&question.messages, None, u64::MAX).map_err(NoAnswer::Limit)?;
        let manner = Manner {
            temperature: self.temperature,
            form: Some(&question.form),
            requests: Some(grant.requests),
            answer_tokens: grant.answer_tokens,
        };
        let Exchange { answered, requests, usage } = self.source.ask(&question.messages, manner).await;
        let usage = usage.unwrap_or_else(|| grant.estimated_usage(answered.as_ref().ok()));
        self.budget.settle(grant, requests, usage);
        let Usage { prompt_tokens, completion_tokens, .. } = usage;
        self.spent.add(Cost { requests: requests.max(1), prompt_tokens, completion_tokens });
        match answered.map_err(NoAnswer::Failed)? {
            Answered::Text(text) => Ok(Some(text)),
            Answered::CutOff => Ok(None),
            Answered::Refused(reason) => Err(NoAnswer::Refused(refusal(&reason))),
        }
    }
}

/// Returns the message about a refusal of the model.
pub fn refusal(reason: &str) -> String {
    format!("the model refuses: {reason}")
}

/// Model that is queried at temperature 0, for reproducible answers, with the cost as counted by the provider.
#[derive(Debug)]
pub struct CountedModel {
    source: Arc<dyn TextSource>,
    cost: Mutex<Cost>,
}

impl CountedModel {
    /// Creates a model without cost so far.
    pub fn new(source: Arc<dyn TextSource>) -> Self {
        Self { source, cost: Mutex::default() }
    }

    /// Sends a request. `form` is the JSON Schema of the answer, for providers that support it.
    ///
    /// # Errors
    /// Why there is no answer, and the fix.
    pub async fn request(&self, messages: &[(Role, String)], form: Option<&Value>) -> Result<Answered, String> {
        let exchange = self.source.ask(messages, Manner { form, ..Manner::default() }).await;
        let (prompt_tokens, completion_tokens) =
            exchange.usage.map_or((0, 0), |usage| (usage.prompt_tokens, usage.completion_tokens));
        let cost = Cost { requests: exchange.requests, prompt_tokens, completion_tokens };
        self.cost.lock().unwrap_or_else(PoisonError::into_inner).add(cost);
        exchange.answered
    }

    /// Returns the cost so far.
    pub fn cost(&self) -> Cost {
        *self.cost.lock().unwrap_or_else(PoisonError::into_inner)
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
        let question = Question::<Answer>::new("", &json!({}));
        assert_eq!(question.form["properties"]["steps"]["maxItems"], MAX_ITEMS);
        let question = question.allowing("/properties/steps/items/properties/tool", &["a", "b"]);
        let question = question.limiting("/properties/steps", 3);
        let step = json!({
            "type": "object", "additionalProperties": false, "required": ["tool", "count"],
            "properties": {"tool": {"type": "string", "enum": ["a", "b"]}, "count": {"type": "integer", "minimum": 0}},
        });
        let expected = json!({
            "type": "object", "additionalProperties": false, "required": ["steps", "reason"],
            "properties": {
                "steps": {"type": "array", "items": step, "maxItems": 3},
                "reason": {"type": ["string", "null"]},
            },
        });
        assert_eq!(question.form, expected);
    }
}
