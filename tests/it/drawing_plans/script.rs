//! A model with scripted answers, and the paper's meeting room as its toolset.

use std::sync::Mutex;

use callwright_types::Usage;
use callwright_upstream::{Answered, Exchange, Manner, TextSource};
use callwright_wire::Role;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::drawing_plans::records::{Toolset, toolset};

/// Returns the answers in order, then none. Records all queries.
#[derive(Debug, Default)]
pub(crate) struct Script {
    answers: Mutex<Vec<String>>,
    asked: Mutex<Vec<Vec<(Role, String)>>>,
}

impl TextSource for Script {
    fn ask<'a>(&'a self, messages: &'a [(Role, String)], _: Manner<'a>) -> BoxFuture<'a, Exchange> {
        self.asked.lock().unwrap().push(messages.to_vec());
        let text = self.answers.lock().unwrap().pop().ok_or_else(|| "the script has ended".to_owned());
        let usage = Usage { prompt_tokens: 100, completion_tokens: 10, ..Usage::default() };
        let exchange = Exchange { answered: text.map(Answered::Text), requests: 1, usage: Some(usage) };
        Box::pin(std::future::ready(exchange))
    }
}

impl Script {
    pub(crate) fn of(answers: &[Value]) -> Self {
        let text = |answer: &Value| answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
        Self { answers: Mutex::new(answers.iter().rev().map(text).collect()), asked: Mutex::default() }
    }

    /// Returns the data of a query.
    pub(crate) fn data(&self, number: usize) -> Value {
        let asked = self.asked.lock().unwrap();
        serde_json::from_str(&asked[number][1].1).unwrap()
    }

    /// Returns the correction after an invalid answer.
    pub(crate) fn told(&self, number: usize) -> String {
        let asked = self.asked.lock().unwrap();
        let (role, text) = asked[number].last().unwrap();
        assert_eq!(*role, Role::User);
        text.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

/// The paper's meeting room (figure 2).
pub(crate) fn rooms() -> Toolset {
    let text = json!({"type": "string"});
    let takes = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    toolset(&[
        json!({"name": "book_room", "description": "Books a meeting room for a person.", "output": {"booking_id": text},
            "parameters": takes(json!({"room_id": text, "person_id": text, "start": text, "seats": {"type": "integer"}}), &["room_id", "person_id", "start"])}),
        json!({"name": "find_room", "description": "Finds free rooms.", "output": {"rooms": {"type": "array", "items": {"type": "object", "title": "Room", "properties": {"id": text, "room_id": text}}}},
            "parameters": takes(json!({"start": text}), &["start"])}),
        json!({"name": "find_person", "description": "Finds a person by name.", "output": {"person_id": text, "name": text},
            "parameters": takes(json!({"name": text}), &["name"])}),
        json!({"name": "who_am_i", "description": "Tells who is asking.", "output": {"person_id": text, "name": text}, "parameters": takes(json!({}), &[])}),
    ])
}

pub(crate) const QUERY: &str = "Please book a meeting room for Jack from 9:00, with 4 seats.";

pub(crate) fn goal() -> Value {
    json!({"goals": [{"tool": "book_room", "task": "book the room"}]})
}

pub(crate) fn value(name: &str, value: Value, words: &str) -> Value {
    json!({"name": name, "source": "value", "value": value, "words": words})
}

pub(crate) fn output(name: &str, call: &str, output: &str, item: Option<&str>) -> Value {
    json!({"name": name, "source": "tool", "outputs": [{"call": call, "output": output, "item": item}]})
}

pub(crate) fn call(call: &str, tool: &str) -> Value {
    json!({"call": call, "tool": tool, "task": format!("{tool} for Jack")})
}

pub(crate) fn booking() -> Value {
    json!({"calls": [call("r", "find_room"), call("p", "find_person")], "arguments": [
        output("room_id", "r", "/rooms/0/id", Some("choose")), output("person_id", "p", "/person_id", None),
        value("start", json!("9:00"), "from 9:00"), value("seats", json!("4"), "4 seats")]})
}

pub(crate) fn start() -> Value {
    json!({"arguments": [value("start", json!("9:00"), "from 9:00")]})
}

pub(crate) fn jack() -> Value {
    json!({"arguments": [value("name", json!("Jack"), "Jack")]})
}
