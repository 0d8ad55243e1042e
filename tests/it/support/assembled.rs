//! A streamed response, assembled as OpenAI's clients do, with checks of the stream's form.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::{Event, check_error_object};

/// Content of a stream.
#[derive(Debug, Default)]
pub(crate) struct Assembled {
    /// `id` of every chunk.
    pub(crate) id: String,
    /// `model` of every chunk.
    pub(crate) model: String,
    /// Messages by the index of their choice, as in a whole response.
    pub(crate) choices: BTreeMap<u64, Choice>,
    /// `usage` of the chunk that carries it.
    pub(crate) usage: Option<Value>,
    /// `callwright` of the chunk that carries it.
    pub(crate) debug: Option<Value>,
    /// Error that ended the stream.
    pub(crate) error: Option<Value>,
}

/// One choice of a stream.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    pub(crate) role: Option<String>,
    pub(crate) content: String,
    pub(crate) calls: Vec<Value>,
    pub(crate) function_call: Option<Value>,
    /// Other string members of the deltas, joined: refusal, reasoning.
    pub(crate) others: BTreeMap<String, String>,
    pub(crate) finish_reason: Option<String>,
}

impl Assembled {
    /// Assembles the events of a whole stream. Panics if the stream violates the rules that OpenAI's clients rely on:
    /// one id and model, the role once, calls that begin with index, id and name, one finish chunk per choice and no
    /// later chunk for the choice, and `[DONE]` or an error as the last event.
    pub(crate) fn of_events(events: &[Event]) -> Self {
        let mut all = Self::default();
        let (last, chunks) = events.split_last().unwrap_or_else(|| panic!("an empty stream"));
        for event in chunks {
            match event {
                Event::Json(chunk) if chunk.get("error").is_none() => all.add(chunk),
                other => panic!("in the middle of a stream: {other:?}"),
            }
        }
        match last {
            Event::Done => {
                for (index, choice) in &all.choices {
                    assert!(choice.finish_reason.is_some(), "choice {index} has no finish chunk: {events:#?}");
                }
            }
            Event::Json(chunk) if chunk.get("error").is_some() => {
                check_error_object(&chunk["error"]);
                all.error = Some(chunk["error"].clone());
            }
            other @ Event::Json(_) => panic!("a stream without an end: {other:?}"),
        }
        all
    }

    /// Returns the only choice.
    pub(crate) fn choice(&self) -> &Choice {
        assert!(self.error.is_none(), "{:?}", self.error);
        assert_eq!(self.choices.len(), 1, "{self:#?}");
        &self.choices[&0]
    }

    fn add(&mut self, chunk: &Value) {
        assert_eq!(chunk["object"], "chat.completion.chunk", "{chunk}");
        let (id, model) = (text(&chunk["id"]), text(&chunk["model"]));
        if self.id.is_empty() {
            (self.id, self.model) = (id, model);
        } else {
            assert_eq!((&self.id, &self.model), (&id, &model), "another id or model: {chunk}");
        }
        if chunk["usage"].is_object() {
            assert!(self.usage.is_none(), "usage twice: {chunk}");
            self.usage = Some(chunk["usage"].clone());
        }
        if chunk["callwright"].is_object() {
            assert!(self.debug.is_none(), "debug twice: {chunk}");
            self.debug = Some(chunk["callwright"].clone());
        }
        for part in chunk["choices"].as_array().unwrap_or_else(|| panic!("no choices: {chunk}")) {
            let index = part["index"].as_u64().unwrap_or_else(|| panic!("no index: {chunk}"));
            self.choices.entry(index).or_default().add(part);
        }
    }
}

impl Choice {
    fn add(&mut self, part: &Value) {
        assert!(self.finish_reason.is_none(), "behind the finish chunk: {part}");
        let delta = &part["delta"];
        if let Some(role) = delta["role"].as_str() {
            assert!(self.role.is_none(), "the role twice: {part}");
            self.role = Some(role.to_owned());
        }
        self.content.push_str(delta["content"].as_str().unwrap_or_default());
        for (key, value) in delta.as_object().into_iter().flatten() {
            if let (Some(piece), false) = (value.as_str(), matches!(key.as_str(), "role" | "content")) {
                self.others.entry(key.clone()).or_default().push_str(piece);
            }
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.add_call(call);
        }
        if delta["function_call"].is_object() {
            let whole = self.function_call.get_or_insert_with(|| json!({"name": "", "arguments": ""}));
            append(whole, "name", &delta["function_call"]["name"]);
            append(whole, "arguments", &delta["function_call"]["arguments"]);
        }
        self.finish_reason = part["finish_reason"].as_str().map(str::to_owned);
    }

    fn add_call(&mut self, delta: &Value) {
        let index = delta["index"].as_u64().unwrap_or_else(|| panic!("a call's delta without index: {delta}"));
        let index = usize::try_from(index).unwrap();
        if index == self.calls.len() {
            assert!(
                delta["id"].is_string() && delta["function"]["name"].is_string(),
                "a call begins without id or name: {delta}"
            );
            self.calls.push(json!({"id": "", "type": "function", "function": {"name": "", "arguments": ""}}));
        } else {
            assert!(delta["function"]["name"].is_null(), "the name twice: {delta}");
        }
        let call = self.calls.get_mut(index).unwrap_or_else(|| panic!("an index was left out: {delta}"));
        append(call, "id", &delta["id"]);
        append(&mut call["function"], "name", &delta["function"]["name"]);
        append(&mut call["function"], "arguments", &delta["function"]["arguments"]);
    }
}

fn append(object: &mut Value, member: &str, piece: &Value) {
    let whole = format!("{}{}", text(&object[member]), piece.as_str().unwrap_or_default());
    object[member] = Value::String(whole);
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}
