//! The meeting-room service of `openapi/meeting-rooms.yaml`, served over HTTP.

use std::sync::{Mutex, PoisonError};

use http::{Method, StatusCode};
use jiff::civil;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::DemoError;
use super::server::{Handler, Reply, Request, Server};

/// The bearer token that it accepts. It opens nothing but a server on loopback that ends with the process.
pub(super) const TOKEN: &str = "demo-rooms-token";

/// Most bookings that are kept: a client that goes on booking must not fill the memory.
const MOST_BOOKINGS: usize = 10_000;

/// How times are written.
const TIME_FORMAT: &str = "%Y-%m-%dT%H:%M";

/// The people: id, name, team.
const PEOPLE: [(&str, &str, &str); 5] = [
    ("p-12", "Grace Hopper", "Compilers"),
    ("p-17", "Ada Lovelace", "Analysis"),
    ("p-23", "Alan Turing", "Research"),
    ("p-31", "Annie Easley", "Propulsion"),
    ("p-44", "Edsger Dijkstra", "Paths"),
];

/// The rooms, smallest first: id, name, seats.
const ROOMS: [(&str, &str, u32); 4] =
    [("r-101", "Nook", 2), ("r-110", "Harbour", 4), ("r-204", "Fjord", 8), ("r-301", "Horizon", 20)];

/// The sample API. Bookings are kept in memory until it ends.
#[derive(Debug, Default)]
pub struct MeetingRooms {
    bookings: Mutex<Vec<Booking>>,
}

impl MeetingRooms {
    /// Starts it on a free port of loopback; its base URL is the server's plus `/v2`.
    ///
    /// # Errors
    /// [`DemoError::Listen`].
    pub async fn start() -> Result<Server, DemoError> {
        Server::start(Self::default()).await
    }

    fn rooms(&self, request: &Request) -> Result<Value, Failure> {
        let capacity: u32 = request.query("capacity").and_then(|text| text.parse().ok()).ok_or(Failure::FIELDS)?;
        let date: civil::Date = request.query("date").and_then(|text| text.parse().ok()).ok_or(Failure::FIELDS)?;
        let bookings = self.bookings.lock().unwrap_or_else(PoisonError::into_inner);
        let rooms = ROOMS
            .iter()
            .filter(|(_, _, seats)| *seats >= capacity)
            .map(|(id, name, seats)| {
                let mut booked: Vec<_> = bookings.iter().filter(|booking| booking.is_for(id, date)).collect();
                booked.sort_by(|one, other| one.fields.start.cmp(&other.fields.start));
                let booked: Vec<_> = booked
                    .into_iter()
                    .map(|booking| json!({ "start": booking.fields.start, "end": booking.fields.end }))
                    .collect();
                json!({ "id": id, "name": name, "capacity": seats, "booked": booked })
            })
            .collect::<Vec<_>>();
        Ok(json!({ "rooms": rooms }))
    }

    fn book(&self, request: &Request) -> Result<Value, Failure> {
        let fields: Fields = serde_json::from_slice(&request.body).map_err(|_| Failure::FIELDS)?;
        let (start, end) = (read_time(&fields.start)?, read_time(&fields.end)?);
        if end <= start || end.date() != start.date() {
            return Err(Failure::FIELDS);
        }
        let known =
            PEOPLE.iter().any(|(id, ..)| *id == fields.person_id) && ROOMS.iter().any(|(id, ..)| *id == fields.room_id);
        if !known {
            return Err(Failure::UNKNOWN);
        }
        let mut bookings = self.bookings.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = bookings
            .iter()
            .any(|booking| booking.fields.room_id == fields.room_id && booking.start < end && start < booking.end);
        if taken {
            return Err(Failure::CONFLICT);
        }
        if bookings.len() >= MOST_BOOKINGS {
            return Err(Failure::FULL);
        }
        let booking = Booking { id: format!("b-{}", bookings.len() + 1), fields, start, end };
        let value = booking.to_json();
        bookings.push(booking);
        Ok(value)
    }

    fn booking(&self, id: &str) -> Result<Value, Failure> {
        let bookings = self.bookings.lock().unwrap_or_else(PoisonError::into_inner);
        bookings.iter().find(|booking| booking.id == id).map(Booking::to_json).ok_or(Failure::UNKNOWN)
    }
}

impl Handler for MeetingRooms {
    fn handle(&self, request: &Request) -> Reply {
        let authorized = request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")) == Some(TOKEN);
        let (status, result) = match (&request.method, request.path.as_str()) {
            _ if !authorized => (StatusCode::UNAUTHORIZED, Err(Failure::TOKEN)),
            (&Method::GET, "/v2/people") => (StatusCode::OK, people(request)),
            (&Method::GET, "/v2/rooms") => (StatusCode::OK, self.rooms(request)),
            (&Method::POST, "/v2/bookings") => (StatusCode::CREATED, self.book(request)),
            (&Method::GET, path) => (StatusCode::OK, self.booking(path.strip_prefix("/v2/bookings/").unwrap_or(""))),
            _ => (StatusCode::NOT_FOUND, Err(Failure::UNKNOWN)),
        };
        match result {
            Ok(value) => Reply::json(status, &value),
            Err(failure) => Reply::json(failure.status, &json!({ "error": failure.error })),
        }
    }
}

/// A request that is not served; what the errors mean stands in the document.
#[derive(Debug)]
struct Failure {
    status: StatusCode,
    error: &'static str,
}

impl Failure {
    const TOKEN: Self = Self { status: StatusCode::UNAUTHORIZED, error: "E_TOKEN" };
    const FIELDS: Self = Self { status: StatusCode::BAD_REQUEST, error: "E_FIELDS" };
    const UNKNOWN: Self = Self { status: StatusCode::NOT_FOUND, error: "E_UNKNOWN" };
    const CONFLICT: Self = Self { status: StatusCode::CONFLICT, error: "E_CONFLICT" };
    const FULL: Self = Self { status: StatusCode::INSUFFICIENT_STORAGE, error: "E_FULL" };
}

/// The fields of a booking as they were sent.
#[derive(Debug, Serialize, Deserialize)]
struct Fields {
    person_id: String,
    room_id: String,
    start: String,
    end: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    title: Option<String>,
}

#[derive(Debug)]
struct Booking {
    id: String,
    fields: Fields,
    start: civil::DateTime,
    end: civil::DateTime,
}

impl Booking {
    fn is_for(&self, room: &str, date: civil::Date) -> bool {
        self.fields.room_id == room && self.start.date() == date
    }

    fn to_json(&self) -> Value {
        let mut value = json!({ "id": self.id });
        if let (Value::Object(members), Ok(Value::Object(fields))) = (&mut value, serde_json::to_value(&self.fields)) {
            members.extend(fields);
        }
        value
    }
}

fn people(request: &Request) -> Result<Value, Failure> {
    let name = request.query("name").map(str::trim).filter(|name| !name.is_empty()).ok_or(Failure::FIELDS)?;
    let people = PEOPLE
        .iter()
        .filter(|(_, known, _)| known.to_lowercase().contains(&name.to_lowercase()))
        .map(|(id, name, team)| json!({ "id": id, "name": name, "team": team }))
        .collect::<Vec<_>>();
    Ok(json!({ "people": people }))
}

fn read_time(text: &str) -> Result<civil::DateTime, Failure> {
    civil::DateTime::strptime(TIME_FORMAT, text).map_err(|_| Failure::FIELDS)
}
