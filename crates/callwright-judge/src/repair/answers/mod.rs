//! Reads a model's answers to the proxy's own prompts: JSON values and choices.
//!
//! Models add reasoning, code fences and sentences around the value that a prompt requests, and write it as a literal
//! of a programming language. The reader accepts all of that; the caller's check decides whether a value is the one
//! that was requested.

mod choice;
// Always compiled: a feature for it would build every crate twice for `cargo test`. The linker drops it.
mod habits;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

pub use choice::read_choice;
#[doc(hidden)]
pub use habits::{assert_understood, habits};

use super::rescue::call_names::MAX_WRAPPERS;
use super::rescue::literal::{Literal, LiteralReader};
pub use super::rescue::reasoning::after_reasoning;
use callwright_common::limits::LINE_CHARS;
use callwright_common::text::excerpt;

/// JSON type that a prompt requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerShape {
    /// One object.
    Object,
    /// One list.
    List,
}

/// Reason why an answer cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerFault {
    /// There is no text, or only reasoning.
    #[error("the answer is empty")]
    Empty,
    /// There is no value of the requested type.
    #[error("the answer is not {}; it begins: {begins}", .shape.name())]
    NoValue {
        /// Requested type.
        shape: AnswerShape,
        /// Beginning of the answer, on one line.
        begins: String,
    },
    /// The check rejects the first value, for this reason.
    #[error("{0}")]
    Rejected(String),
}

impl AnswerShape {
    fn name(self) -> &'static str {
        match self {
            Self::Object => "one JSON object",
            Self::List => "a JSON list",
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Object => value.is_object(),
            Self::List => value.is_array(),
        }
    }
}

/// Reads the first value of an answer that has the form of `T`.
///
/// # Errors
/// [`AnswerFault`]: the first value's fault if no value has the form.
pub fn read_object<T: DeserializeOwned>(text: &str) -> Result<T, AnswerFault> {
    read_value(text, AnswerShape::Object, |value| {
        serde_json::from_value(value).map_err(|error| format!("the answer does not have the requested form ({error})"))
    })
}

/// Reads the first value of an answer that `check` accepts, JSON before other literals. The value may be the only member of other objects or of a
/// list, several objects count as a list, and the whole answer may be encoded as a string.
///
/// # Errors
/// [`AnswerFault`]: the first value's fault if `check` accepts no value.
pub fn read_value<T>(
    text: &str,
    shape: AnswerShape,
    check: impl Fn(Value) -> Result<T, String>,
) -> Result<T, AnswerFault> {
    let conclusion = after_reasoning(text);
    if conclusion.is_empty() {
        return Err(AnswerFault::Empty);
    }
    let decoded = serde_json::from_str::<String>(conclusion).ok();
    let conclusion = decoded.as_deref().unwrap_or(conclusion);
    let values = values(conclusion);
    let mut fault = None;
    // Before the values: they may be parts of a value that is not closed.
    if let Some(value) = completed(conclusion)
        && let Some(read) = accepted(&value, shape, &check, &mut fault)
    {
        return Ok(read);
    }
    // A word in brackets is a literal, but no JSON.
    let (json, other): (Vec<_>, Vec<_>) = values.iter().partition(|(_, is_json)| *is_json);
    for (value, _) in json.into_iter().chain(other) {
        if let Some(read) = accepted(value, shape, &check, &mut fault) {
            return Ok(read);
        }
    }
    let objects: Vec<Value> = values.into_iter().map(|(value, _)| value).filter(Value::is_object).collect();
    if shape == AnswerShape::List && !objects.is_empty() {
        match check(Value::Array(objects)) {
            Ok(read) => return Ok(read),
            Err(reason) => fault = fault.or(Some(reason)),
        }
    }
    Err(fault
        .map_or_else(|| AnswerFault::NoValue { shape, begins: excerpt(conclusion, LINE_CHARS) }, AnswerFault::Rejected))
}

/// Returns a value, or the value within its wrappers, that the check accepts. Keeps the first fault.
fn accepted<T>(
    value: &Value,
    shape: AnswerShape,
    check: &impl Fn(Value) -> Result<T, String>,
    fault: &mut Option<String>,
) -> Option<T> {
    let mut inner = unwrapped(value, shape);
    for _ in 0..=MAX_WRAPPERS {
        let found = inner?;
        match check(found.clone()) {
            Ok(read) => return Some(read),
            Err(reason) => {
                fault.get_or_insert(reason);
            }
        }
        inner = only_member(found).and_then(|member| unwrapped(member, shape));
    }
    None
}

/// Returns the outermost value of this type within a value that has nothing else.
fn unwrapped(value: &Value, shape: AnswerShape) -> Option<&Value> {
    let mut value = value;
    for _ in 0..=MAX_WRAPPERS {
        if shape.fits(value) {
            return Some(value);
        }
        value = only_member(value)?;
    }
    None
}

/// Returns the value of an object's only member, or the only item of a list.
fn only_member(value: &Value) -> Option<&Value> {
    match value {
        Value::Object(members) if members.len() == 1 => members.values().next(),
        Value::Array(items) if items.len() == 1 => items.first(),
        _ => None,
    }
}

/// Returns the outermost objects and lists of a text, in order, with whether each is written as JSON.
fn values(text: &str) -> Vec<(Value, bool)> {
    // One reader for all positions: its fuel bounds the work for the whole text.
    let mut reader = LiteralReader::new(text, false);
    let (mut values, mut at) = (Vec::new(), 0);
    while let Some(start) = next_bracket(text, at) {
        reader.go(start);
        let value = reader.data().as_ref().and_then(json_of);
        at = if value.is_some() { reader.at().max(start + 1) } else { start + 1 };
        let is_json = || text.get(start..at).is_some_and(|found| serde_json::from_str::<IgnoredAny>(found).is_ok());
        values.extend(value.map(|value| (value, is_json())));
    }
    values
}

/// Returns the value of a text that lacks closing brackets at its end, and nothing else.
fn completed(text: &str) -> Option<Value> {
    let text = text.trim_end_matches(|letter: char| letter.is_whitespace() || letter == '`');
    let start = next_bracket(text, 0)?;
    // Behind these signs more than a bracket is missing.
    if text.ends_with([',', ':', '{', '[']) || !are_brackets_nested(text.get(start..)?) {
        return None;
    }
    let mut reader = LiteralReader::new(text, true);
    reader.go(start);
    let value = json_of(&reader.data()?)?;
    reader.skip_space()?;
    reader.is_at_end().then_some(value)
}

/// Whether every closing bracket outside of strings closes the last open one.
fn are_brackets_nested(text: &str) -> bool {
    let (mut open, mut quote, mut is_escaped) = (Vec::new(), None, false);
    for sign in text.chars() {
        match (quote, sign) {
            _ if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(end), sign) if sign == end => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(sign),
            (None, '{') => open.push('}'),
            (None, '[') => open.push(']'),
            (None, '}' | ']') if open.pop() != Some(sign) => return false,
            _ => {}
        }
    }
    true
}

fn next_bracket(text: &str, from: usize) -> Option<usize> {
    Some(from + text.get(from..)?.find(['{', '['])?)
}

fn json_of(literal: &Literal) -> Option<Value> {
    serde_json::from_str(&literal.json()).ok()
}
