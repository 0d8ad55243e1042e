//! Confirms the booking of a room or a flight from the tool results. Makes no mistake.

use serde_json::{Map, Value};

use super::super::exchange::ScriptedExchange;
use super::super::request::ScriptedRequest;
use super::{NextStep, items, text};

pub(super) fn next(_: &ScriptedRequest, exchange: &ScriptedExchange) -> Option<NextStep> {
    let named = |list: &str, id: &str| {
        let known = exchange.result_with(list)?;
        let item = items(&known, list).iter().find(|item| text(item, "id") == id)?;
        Some(text(item, "name").to_owned())
    };
    let name = |list: &str, id: &str| named(list, id).filter(|name| !name.is_empty()).unwrap_or_else(|| id.to_owned());
    if let Some(booking) = booking(exchange, "room_id") {
        let booking = Value::Object(booking);
        let (room, person) = (text(&booking, "room_id"), text(&booking, "person_id"));
        return Some(NextStep::Say(format!(
            "Room {} ({room}) is booked for {} from {} to {}; the booking is {}.",
            name("rooms", room),
            name("people", person),
            text(&booking, "start"),
            text(&booking, "end"),
            text(&booking, "id")
        )));
    }
    let booking = Value::Object(booking(exchange, "flight_id")?);
    let traveller = name("travellers", text(&booking, "traveller_id"));
    let (id, flight) = (text(&booking, "id"), text(&booking, "flight_id"));
    Some(NextStep::Say(format!("Flight {flight} is booked for {traveller}; the booking is {id}.")))
}

/// Returns a result with both the booked item and the booking's id.
fn booking(exchange: &ScriptedExchange, thing: &str) -> Option<Map<String, Value>> {
    exchange.result_with(thing).filter(|result| result.contains_key("id"))
}
