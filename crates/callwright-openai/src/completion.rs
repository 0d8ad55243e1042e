//! A whole answer: read and edited without losing what is not understood.

use std::borrow::Cow;

use bytes::Bytes;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::choice::read_choices;
use super::fields::string;
use super::usage::{read_usage, with_usage};
use super::{AnswerError, Choice};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Usage, ids};

/// A chat completion object (API reference, "The chat completion object"). One that was not edited is sent on as the very
/// bytes received.
#[derive(Debug, Clone)]
pub struct Completion {
    /// The bytes received; `None` where the answer was assembled or minted here.
    original: Option<Bytes>,
    fields: RawObject,
    choices: Vec<Choice>,
    id: Option<String>,
    model: Option<String>,
    edited: bool,
}

impl Completion {
    /// Reads an answer.
    ///
    /// # Errors
    /// When it is not a JSON object in UTF-8 with an array of choices.
    pub fn parse(body: Bytes) -> Result<Self, AnswerError> {
        let text = std::str::from_utf8(&body).map_err(|_| AnswerError::new("the answer is not valid UTF-8"))?;
        let fields = RawObject::parse(text).map_err(|error| unreadable(&error))?;
        let choices = read_choices(&fields)?;
        Ok(Self { original: Some(body), ..Self::of_parts(fields, choices) })
    }

    /// A minted answer of one choice that says `text`, with finish reason `stop`.
    pub fn of_text(model: &str, text: &str) -> Self {
        Self::minted(model, &raw(text), "stop")
    }

    /// A minted answer of one choice that makes these calls and says nothing, with finish reason `tool_calls`.
    pub fn of_calls(model: &str, calls: &[Call]) -> Self {
        let mut completion = Self::minted(model, &raw(&()), "tool_calls");
        completion.choices.iter_mut().for_each(|choice| choice.set_calls(calls));
        completion
    }

    fn minted(model: &str, content: &RawValue, finish_reason: &str) -> Self {
        let message = [("role", raw("assistant")), ("content", content.to_owned()), ("refusal", raw(&()))];
        let choice = [
            ("index", raw(&0)),
            ("message", object(message).to_raw()),
            ("logprobs", raw(&())),
            ("finish_reason", raw(finish_reason)),
        ];
        let fields = object([
            ("id", raw(&ids::completion_id())),
            ("object", raw("chat.completion")),
            ("created", raw(&now())),
            ("model", raw(model)),
            ("choices", raw(&[object(choice)])),
            ("usage", raw(&Usage::default())),
        ]);
        // What was just made can be read.
        let choices = read_choices(&fields).unwrap_or_default();
        Self::of_parts(fields, choices)
    }

    /// An answer that was put together here.
    pub(super) fn of_parts(fields: RawObject, choices: Vec<Choice>) -> Self {
        let text = |key| fields.get(key).and_then(string).map(Cow::into_owned);
        let (id, model) = (text("id"), text("model"));
        Self { original: None, fields, choices, id, model, edited: false }
    }

    /// The choices, in the upstream's order.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Bytes of the messages of all choices as JSON, about.
    pub fn size(&self) -> usize {
        self.choices.iter().map(|choice| choice.message.size()).sum()
    }

    /// The names that all choices call, as the model wrote them.
    pub fn called(&self) -> impl Iterator<Item = &str> {
        self.choices.iter().flat_map(|choice| choice.message.calls()).map(|call| call.name.as_str())
    }

    /// The choices, to be edited.
    pub fn choices_mut(&mut self) -> &mut [Choice] {
        &mut self.choices
    }

    /// `id`.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// `model`.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// `usage`.
    pub fn usage(&self) -> Option<Usage> {
        read_usage(self.fields.get("usage"))
    }

    /// Replaces the token counts; the other members of `usage` (details) stay.
    pub fn set_usage(&mut self, usage: Usage) {
        if self.usage() != Some(usage) {
            let value = with_usage(self.fields.get("usage"), usage);
            self.set("usage", value);
        }
    }

    /// Sets the member `callwright`.
    pub fn set_debug(&mut self, debug: &Value) {
        self.set("callwright", raw(debug));
    }

    /// The body to send: the very bytes received if nothing was edited.
    pub fn to_bytes(&self) -> Bytes {
        match &self.original {
            Some(original) if !self.edited && !self.choices.iter().any(Choice::is_edited) => original.clone(),
            _ => raw(&Edited(self)).get().as_bytes().to_vec().into(),
        }
    }

    /// The whole as a JSON value, for traces. JSON nested deeper than 128 levels becomes a string.
    pub fn to_value(&self) -> Value {
        super::to_value(&self.to_bytes())
    }

    fn set(&mut self, key: &str, value: Box<RawValue>) {
        self.fields.set(key, value);
        self.edited = true;
    }
}

/// The answer as it is now: the upstream's fields in their order, with the edited choices.
struct Edited<'a>(&'a Completion);

impl Serialize for Edited<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Completion { fields, choices, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in fields.iter() {
            match key {
                "choices" => map.serialize_entry(key, choices)?,
                _ => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}

fn unreadable(error: &serde_json::Error) -> AnswerError {
    AnswerError::new(match error.classify() {
        serde_json::error::Category::Data => "the answer is not a JSON object".to_owned(),
        serde_json::error::Category::Eof => "the answer ends in the middle of its JSON".to_owned(),
        _ => format!("the answer is not valid JSON (line {}, column {})", error.line(), error.column()),
    })
}

pub(super) fn object<const N: usize>(fields: [(&str, Box<RawValue>); N]) -> RawObject {
    fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Seconds since the Unix epoch: `created` of an answer that no upstream dated.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::choice::MAX_CHOICES;

    const TEXT: &str = r#"{ "id":"c1", "x":1.0, "choices":[ {"index":0, "logprobs":{"content":[]}, "message":{"role":"assistant","content":null,"z":1E2,
        "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"details":{"cached":1}},"model":"m" }"#;

    fn completion(text: &str) -> Completion {
        Completion::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    #[test]
    fn an_answer_that_nobody_edits_gives_back_its_very_bytes() {
        let body = Bytes::from_static(TEXT.as_bytes());
        let mut completion = Completion::parse(body.clone()).unwrap();
        let calls = completion.choices()[0].message.calls().to_vec();
        completion.choices_mut()[0].set_calls(&calls);
        completion.set_usage(completion.usage().unwrap());
        assert_eq!(completion.to_bytes().as_ptr(), body.as_ptr());
        assert_eq!((completion.id(), completion.model()), (Some("c1"), Some("m")));
    }

    #[test]
    fn an_edited_call_changes_nothing_else_but_the_logprobs() {
        let mut completion = completion(TEXT);
        let choice = &mut completion.choices_mut()[0];
        let mut calls = choice.message.calls().to_vec();
        calls[0].name = "g".into();
        choice.set_calls(&calls);
        let mut expected: Value = serde_json::from_str(TEXT).unwrap();
        expected["choices"][0]["message"]["tool_calls"][0]["function"]["name"] = json!("g");
        expected["choices"][0]["logprobs"] = Value::Null;
        assert_eq!(completion.to_value(), expected);
        let text = completion.to_bytes();
        assert!(std::str::from_utf8(&text).unwrap().contains("1E2"), "numbers keep their notation");
    }

    #[test]
    fn usage_and_debug_are_set_beside_what_was_there() {
        let mut completion = completion(TEXT);
        completion.set_usage(Usage { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30, cached_tokens: 0 });
        completion.set_debug(&json!({"verdict": "clean"}));
        let value = completion.to_value();
        assert_eq!(value["usage"]["details"], json!({"cached": 1}));
        assert_eq!(value["usage"]["total_tokens"], 30);
        assert_eq!(value["callwright"]["verdict"], "clean");
    }

    #[test]
    fn a_minted_answer_has_the_form_clients_expect() {
        let completion = Completion::of_text("m", "I cannot \"go on\".");
        assert_eq!(completion.choices()[0].message.text().as_deref(), Some("I cannot \"go on\"."));
        assert_eq!(completion.choices()[0].finish_reason.as_deref(), Some("stop"));
        let value = completion.to_value();
        assert_eq!((&value["object"], &value["model"]), (&json!("chat.completion"), &json!("m")));
        assert!(value["created"].as_i64().is_some_and(|created| created > 0));
    }

    #[test]
    fn answers_that_cannot_be_read_say_why_and_quote_nothing() {
        for (text, word) in [
            (&b"{\"choices\":[{\"canary\":\"\xff\"}]}"[..], "UTF-8"),
            (b"{\"choices\":[{\"canary\":1}", "middle"),
            (b"<html>canary", "JSON"),
            (b"[\"canary\"]", "object"),
            (b"{\"canary\":[]}", "choices"),
            (b"{\"choices\":null}", "choices"),
            (b"{\"choices\":[\"canary\"]}", "list of objects"),
            (b"{\"error\":{\"message\":\"canary\"}}", "error object"),
            (b"", "middle"),
        ] {
            let error = Completion::parse(Bytes::from_static(text)).unwrap_err();
            assert!(error.message.contains(word) && !error.message.contains("canary"), "{error}");
        }
        assert!(completion(r#"{"choices":[]}"#).choices().is_empty());
        let many = format!("{{\"choices\":[{}{{}}]}}", "{},".repeat(MAX_CHOICES));
        assert!(Completion::parse(many.into()).is_err());
    }
}
