//! "Which rooms seat 6 people on 2026-06-02?": lists rooms. Mistake: the date is omitted, although the user named it.

use serde_json::Value;

use super::super::draft::CallDraft;
use super::super::exchange::ScriptedExchange;
use super::super::question::{count_of, date};
use super::super::request::ScriptedRequest;
use super::{NextStep, arguments, items, text};

pub(super) fn next(request: &ScriptedRequest, exchange: &ScriptedExchange) -> Option<NextStep> {
    if !exchange.question.to_lowercase().contains("which rooms") {
        return None;
    }
    let tool = request.tool_like("listRooms")?;
    if let Some(result) = exchange.result_with("rooms") {
        return Some(NextStep::Say(conclude(items(&result, "rooms"))));
    }
    let capacity = count_of(&exchange.question, "people").unwrap_or(1);
    let left_out = date(&exchange.question).map(|date| ("date".to_owned(), date.into())).into_iter().collect();
    Some(NextStep::Call(
        "",
        vec![CallDraft { left_out, ..CallDraft::new(tool, arguments([("capacity", capacity.into())])) }],
    ))
}

fn conclude(rooms: &[Value]) -> String {
    let rooms: Vec<String> = rooms
        .iter()
        .map(|room| format!("{} ({} seats)", text(room, "name"), room.get("capacity").unwrap_or(&Value::Null)))
        .collect();
    if rooms.is_empty() {
        "No room is large enough.".to_owned()
    } else {
        format!("These are large enough: {}.", rooms.join(", "))
    }
}
