//! "Which rooms seat 6 people on 2026-06-02?": lists rooms. Mistake: the date is omitted, although the user named it.

use serde_json::Value;

use super::super::draft::Draft;
use super::super::exchange::Exchange;
use super::super::question::{count_of, date};
use super::super::request::ChatRequest;
use super::{Next, arguments, items, text};

pub(super) fn next(request: &ChatRequest, exchange: &Exchange) -> Option<Next> {
    if !exchange.question.to_lowercase().contains("which rooms") {
        return None;
    }
    let tool = request.tool_like("listRooms")?;
    if let Some(result) = exchange.result_with("rooms") {
        return Some(Next::Say(conclude(items(&result, "rooms"))));
    }
    let capacity = count_of(&exchange.question, "people").unwrap_or(1);
    let left_out = date(&exchange.question).map(|date| ("date".to_owned(), date.into())).into_iter().collect();
    Some(Next::Call("", vec![Draft { left_out, ..Draft::new(tool, arguments([("capacity", capacity.into())])) }]))
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
