//! Bookings of rooms (`openapi/meeting-rooms.yaml`) and flights (`openapi/flights.yaml`). An error is the name of a
//! failure of the API.

use serde_json::{Map, Value, json};

use super::definition::{Fields, read_time, records};

/// Maximum number of bookings, which bounds the memory.
const MOST_BOOKINGS: usize = 10_000;

pub(super) fn book_flight(bookings: &mut Vec<Value>, fields: &Fields) -> Result<Value, &'static str> {
    let names = ["flight_id", "traveller_id"];
    book(bookings, "s-", fields.only(&names), |booking| {
        names.iter().all(|name| booking.get(name) == fields.0.get(*name))
    })
}

pub(super) fn book_room(bookings: &mut Vec<Value>, fields: &Fields) -> Result<Value, &'static str> {
    let period = BookingPeriod::parse(fields)?;
    let room = fields.0.get("room_id").unwrap_or(&Value::Null);
    let names = ["person_id", "room_id", "start", "end", "title"];
    book(bookings, "b-", fields.only(&names), |booking| period.excludes(booking, room))
}

pub(super) fn booking(bookings: &[Value], fields: &Fields) -> Result<Value, &'static str> {
    let id = fields.0.get("id");
    bookings.iter().find(|booking| booking.get("id") == id).cloned().ok_or("unknown")
}

/// Lists rooms with their bookings of a day.
pub(super) fn rooms(bookings: &[Value], fields: &Fields) -> Value {
    let (capacity, date) = (fields.number("capacity").unwrap_or_default(), fields.text("date").unwrap_or_default());
    let mut rooms = Vec::new();
    for room in records("rooms").iter().filter(|room| room["capacity"].as_u64() >= Some(capacity)) {
        let of_room = bookings.iter().filter(|booking| booking["room_id"] == room["id"]);
        let of_day = of_room.filter(|booking| booking["start"].as_str().is_some_and(|start| start.starts_with(date)));
        let mut booked: Vec<Value> =
            of_day.map(|booking| json!({ "start": booking["start"], "end": booking["end"] })).collect();
        // Times of the same format compare as text.
        booked.sort_by(|one, other| one["start"].as_str().cmp(&other["start"].as_str()));
        let mut room = room.clone();
        room["booked"] = booked.into();
        rooms.push(room);
    }
    rooms.into()
}

pub(super) fn free_rooms(bookings: &[Value], fields: &Fields) -> Result<Value, &'static str> {
    let period = BookingPeriod::parse(fields)?;
    let seats = fields.number("seats").unwrap_or(1);
    let large = records("rooms").iter().filter(|room| room["capacity"].as_u64() >= Some(seats));
    let free = large.filter(|room| !bookings.iter().any(|booking| period.excludes(booking, &room["id"])));
    Ok(free.cloned().collect())
}

/// Stores a booking under a new id and returns it, unless `excludes` is true for a present one.
fn book(
    bookings: &mut Vec<Value>,
    prefix: &str,
    fields: Map<String, Value>,
    excludes: impl Fn(&Value) -> bool,
) -> Result<Value, &'static str> {
    if bookings.iter().any(excludes) {
        return Err("conflict");
    }
    if bookings.len() >= MOST_BOOKINGS {
        return Err("full");
    }
    let mut booking = Map::from_iter([("id".to_owned(), format!("{prefix}{}", bookings.len() + 1).into())]);
    booking.extend(fields);
    bookings.push(booking.clone().into());
    Ok(booking.into())
}

/// BookingPeriod within one day. Times of the same format compare as text.
struct BookingPeriod<'a> {
    start: &'a str,
    end: &'a str,
}

impl<'a> BookingPeriod<'a> {
    fn parse(fields: &'a Fields) -> Result<Self, &'static str> {
        let (start, end) = fields.text("start").zip(fields.text("end")).ok_or("invalid")?;
        let (from, to) = read_time(start).zip(read_time(end)).ok_or("invalid")?;
        if to <= from || from.date() != to.date() { Err("invalid") } else { Ok(Self { start, end }) }
    }

    /// Whether a booking of the room overlaps.
    fn excludes(&self, booking: &Value, room: &Value) -> bool {
        let (start, end) = (booking["start"].as_str(), booking["end"].as_str());
        booking["room_id"] == *room && start < Some(self.end) && Some(self.start) < end
    }
}
