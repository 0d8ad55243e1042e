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
use callwright_common::tokens::estimated;
use callwright_judge::repair::answers::{after_reasoning, read_object};
use callwright_types::Cost;
use callwright_upstream::{Answered, Exchange, Manner, TextSource};
use callwright_wire::Role;

/// Maximum size of an answer; a larger one is not parsed.
pub const MAX_BYTES: usize = 256 * 1024;

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
    pub fn allowing(mut self, place: &str, texts: &[&str]) -> Self {
        if let Some(Value::Object(schema)) = self.form.pointer_mut(place).filter(|_| !texts.is_empty()) {
            schema.insert("enum".to_owned(), json!(texts));
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
/// accept it as strict.
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

/// Limits of requests to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Maximum number of requests.
    pub requests: u64,
    /// Maximum number of tokens.
    pub tokens: u64,
}

/// Exceeded limit of a [`Budget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BudgetLimit {
    /// Number of requests.
    #[error("more than {0} requests to the model")]
    Requests(u64),
    /// Number of tokens.
    #[error("more than {0} tokens")]
    Tokens(u64),
}

/// Reason why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The budget is spent.
    Limit(BudgetLimit),
    /// The request fails, with the reason.
    Failed(String),
    /// The model refuses, with a message.
    Refused(String),
}

/// Model that is queried within a budget.
#[derive(Debug)]
pub struct BudgetedModel<'a> {
    /// The model.
    pub source: &'a dyn TextSource,
    /// Sampling temperature.
    pub temperature: f64,
    /// Limits of all requests together.
    pub budget: Budget,
    /// Cost so far.
    pub spent: Cost,
}

impl BudgetedModel<'_> {
    /// Returns the text of the answer; `None` if it was cut off.
    ///
    /// # Errors
    /// [`NoAnswer`]: the budget is spent, or the model does not answer.
    pub async fn request<T>(&mut self, question: &Question<T>) -> Result<Option<String>, NoAnswer> {
        let size: usize = question.messages.iter().map(|(_, text)| estimated(text)).sum();
        let size = size as u64;
        let remaining = self.budget.requests.saturating_sub(self.spent.requests);
        if remaining == 0 {
            return Err(NoAnswer::Limit(BudgetLimit::Requests(self.budget.requests)));
        }
        if self.spent.tokens().saturating_add(size) > self.budget.tokens {
            return Err(NoAnswer::Limit(BudgetLimit::Tokens(self.budget.tokens)));
        }
        let manner = Manner { temperature: self.temperature, form: Some(&question.form), requests: Some(remaining) };
        let Exchange { answered, requests, usage } = self.source.ask(&question.messages, manner).await;
        let answer_tokens = match &answered {
            Ok(Answered::Text(text)) => estimated(text) as u64,
            _ => 0,
        };
        let (prompt_tokens, completion_tokens) =
            usage.map_or((size, answer_tokens), |usage| (usage.prompt_tokens, usage.completion_tokens));
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
        let exchange = self.source.ask(messages, Manner { temperature: 0.0, form, requests: None }).await;
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
        let question = question.allowing("/properties/steps/items/properties/tool", &["a", "b"]);
        let step = json!({
            "type": "object", "additionalProperties": false, "required": ["tool", "count"],
            "properties": {"tool": {"type": "string", "enum": ["a", "b"]}, "count": {"type": "integer", "minimum": 0}},
        });
        let expected = json!({
            "type": "object", "additionalProperties": false, "required": ["steps", "reason"],
            "properties": {
                "steps": {"type": "array", "items": step},
                "reason": {"type": ["string", "null"]},
            },
        });
        assert_eq!(question.form, expected);
    }
}
