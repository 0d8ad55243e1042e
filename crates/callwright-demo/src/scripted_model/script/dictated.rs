//! "Call planRoute {"origin": ...}": makes the call that the user dictates, including its mistakes, for experiments.
//! Makes no mistake of its own, and applies every lesson.

use serde_json::{Map, Value};

use super::super::draft::CallDraft;
use super::super::exchange::ScriptedExchange;
use super::super::request::ScriptedRequest;
use super::NextStep;

pub(super) fn next(_: &ScriptedRequest, exchange: &ScriptedExchange) -> Option<NextStep> {
    let dictation = exchange.question.strip_prefix("Call ")?.trim();
    let (name, arguments) = dictation.split_once(char::is_whitespace).unwrap_or((dictation, "{}"));
    let arguments: Map<String, Value> = serde_json::from_str(arguments.trim()).ok()?;
    Some(match exchange.last_result() {
        Some(result) => NextStep::Say(format!("The call returned {}", Value::Object(result))),
        None => NextStep::Call("", vec![CallDraft::new(name, arguments)]),
    })
}
