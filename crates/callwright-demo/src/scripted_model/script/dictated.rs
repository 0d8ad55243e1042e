//! "Call planRoute {"origin": ...}": makes the call that the user dictates, including its mistakes, for experiments.
//! Makes no mistake of its own, and applies every lesson.

use serde_json::{Map, Value};

use super::super::draft::Draft;
use super::super::exchange::Exchange;
use super::super::request::ChatRequest;
use super::Next;

pub(super) fn next(_: &ChatRequest, exchange: &Exchange) -> Option<Next> {
    let dictation = exchange.question.strip_prefix("Call ")?.trim();
    let (name, arguments) = dictation.split_once(char::is_whitespace).unwrap_or((dictation, "{}"));
    let arguments: Map<String, Value> = serde_json::from_str(arguments.trim()).ok()?;
    Some(match exchange.last_result() {
        Some(result) => Next::Say(format!("The call returned {}", Value::Object(result))),
        None => Next::Call("", vec![Draft::new(name, arguments)]),
    })
}
