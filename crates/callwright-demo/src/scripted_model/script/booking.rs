//! "Book a room for 6 people in the name of Ada Lovelace on 2026-06-02 from 10:00 to 11:00": finds the person and the
//! rooms, then books with the found ids. Makes no mistake, because the difficulty is the order of the calls. Used only
//! if no plan is followed.

use serde_json::{Map, Value};

use super::super::draft::CallDraft;
use super::super::exchange::ScriptedExchange;
use super::super::question::{count_of, date, name_after, times};
use super::super::request::ScriptedRequest;
use super::{NextStep, arguments, items, text};

pub(super) fn next(request: &ScriptedRequest, exchange: &ScriptedExchange) -> Option<NextStep> {
    let wish = BookingWish::read(&exchange.question)?;
    let (people, rooms) = (exchange.result_with("people"), exchange.result_with("rooms"));
    let mut drafts = Vec::new();
    if people.is_none() {
        drafts.push(CallDraft::new(request.tool_like("findPeople")?, arguments([("name", wish.name.as_str().into())])));
    }
    if rooms.is_none() {
        let call = arguments([("capacity", wish.capacity.into()), ("date", wish.date.into())]);
        drafts.push(CallDraft::new(request.tool_like("listRooms")?, call));
    }
    Some(match (people, rooms) {
        (Some(people), Some(rooms)) => wish.book(request.tool_like("createBooking")?, &people, &rooms),
        _ => NextStep::Call("I need to know who books, and which rooms there are.", drafts),
    })
}

struct BookingWish<'a> {
    capacity: u64,
    name: String,
    date: &'a str,
    start: String,
    end: String,
}

impl<'a> BookingWish<'a> {
    fn read(question: &'a str) -> Option<Self> {
        let date = date(question)?;
        let times = times(question);
        let [start, end, ..] = times.as_slice() else { return None };
        question.contains("Book ").then_some(())?;
        Some(Self {
            capacity: count_of(question, "people").unwrap_or(1),
            name: name_after(question, "in the name of ")?,
            date,
            start: format!("{date}T{start}"),
            end: format!("{date}T{end}"),
        })
    }

    fn book(&self, tool: &str, people: &Map<String, Value>, rooms: &Map<String, Value>) -> NextStep {
        let Some(person) = items(people, "people").first() else {
            return NextStep::Say(format!("Nobody here is called {}.", self.name));
        };
        let Some(room) = items(rooms, "rooms").iter().find(|room| self.is_free(room)) else {
            return NextStep::Say("No room is large enough and free at that time.".to_owned());
        };
        let call = arguments([
            ("person_id", text(person, "id").into()),
            ("room_id", text(room, "id").into()),
            ("start", self.start.as_str().into()),
            ("end", self.end.as_str().into()),
        ]);
        NextStep::Call("Both ids are known now.", vec![CallDraft::new(tool, call)])
    }

    /// Times of the same format compare as text.
    fn is_free(&self, room: &Value) -> bool {
        let booked = room.get("booked").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        booked
            .iter()
            .all(|other| self.end.as_str() <= text(other, "start") || text(other, "end") <= self.start.as_str())
    }
}
