//! Meeting room API of `openapi/meeting-rooms.yaml`, served over HTTP. [`MeetingRooms::call`] returns the same answers
//! without HTTP, for the demo's client.

use std::sync::{Mutex, PoisonError};

use http::{Method, StatusCode};
use jiff::civil;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::DemoError;
use super::server::{Handler, Reply, Request, Server};

/// Accepted bearer token. It gives access only to a server on loopback that ends with the process.
pub(super) const TOKEN: &str = "demo-rooms-token";

/// Maximum number of bookings, which bounds the memory.
const MOST_BOOKINGS: usize = 10_000;

/// Format of times.
const TIME_FORMAT: &str = "%Y-%m-%dT%H:%M";

/// People: id, name, team.
const PEOPLE: [(&str, &str, &str); 7] = [
    ("p-12", "Grace Hopper", "Compilers"),
    ("p-17", "Ada Lovelace", "Analysis"),
    ("p-23", "Alan Turing", "Research"),
    ("p-31", "Annie Easley", "Propulsion"),
    ("p-44", "Edsger Dijkstra", "Paths"),
    ("p-48", "Mary Jackson", "Tunnels"),
    ("p-52", "Jack Kilby", "Circuits"),
];

/// Rooms, smallest first: id, name, seats.
const ROOMS: [(&str, &str, u32); 4] =
    [("r-101", "Nook", 2), ("r-110", "Harbour", 4), ("r-204", "Fjord", 8), ("r-301", "Horizon", 20)];

/// Sample API. Bookings are kept in memory.
#[derive(Debug, Default)]
pub struct MeetingRooms {
    bookings: Mutex<Vec<Booking>>,
}

impl MeetingRooms {
    /// Starts the API on a free loopback port. Its base URL is the server's URL plus `/v2`.
    ///
    /// # Errors
    /// [`DemoError::Listen`].
    pub async fn start() -> Result<Server, DemoError> {
        Server::start(Self::default()).await
    }

    /// Returns the answer of an operation by its id in the document; `None` if the id is unknown.
    pub(super) fn call(&self, operation: &str, fields: &Value) -> Option<Value> {
        let field = |name: &str| fields.get(name).and_then(Value::as_str);
        let result = match operation {
            "findPeople" => people(field("name")),
            "findFreeRooms" => {
                self.free_rooms(field("start"), field("end"), fields.get("seats").and_then(Value::as_u64))
            }
            "createBooking" => self.book(fields.clone()),
            _ => return None,
        };
        Some(result.unwrap_or_else(RoomFailure::into_value))
    }

    fn free_rooms(&self, start: Option<&str>, end: Option<&str>, seats: Option<u64>) -> Result<Value, RoomFailure> {
        let (start, end) = span(start.ok_or(RoomFailure::FIELDS)?, end.ok_or(RoomFailure::FIELDS)?)?;
        let bookings = self.bookings.lock().unwrap_or_else(PoisonError::into_inner);
        let is_free = |id: &str| !bookings.iter().any(|booking| booking.is_in_the_way(id, start, end));
        let rooms = ROOMS
            .iter()
            .filter(|(id, _, capacity)| u64::from(*capacity) >= seats.unwrap_or(1) && is_free(id))
            .map(|(id, name, capacity)| json!({ "id": id, "name": name, "capacity": capacity }));
        Ok(json!({ "rooms": rooms.collect::<Value>() }))
    }

    fn free_rooms_by(&self, request: &Request) -> Result<Value, RoomFailure> {
        let seats = match request.query("seats") {
            Some(seats) => Some(seats.parse().map_err(|_| RoomFailure::FIELDS)?),
            None => None,
        };
        self.free_rooms(request.query("start"), request.query("end"), seats)
    }

    fn rooms(&self, request: &Request) -> Result<Value, RoomFailure> {
        let capacity: u32 = request.query("capacity").and_then(|text| text.parse().ok()).ok_or(RoomFailure::FIELDS)?;
        let date: civil::Date = request.query("date").and_then(|text| text.parse().ok()).ok_or(RoomFailure::FIELDS)?;
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

    fn book(&self, fields: Value) -> Result<Value, RoomFailure> {
        let fields: BookingFields = serde_json::from_value(fields).map_err(|_| RoomFailure::FIELDS)?;
        let (start, end) = span(&fields.start, &fields.end)?;
        let known =
            PEOPLE.iter().any(|(id, ..)| *id == fields.person_id) && ROOMS.iter().any(|(id, ..)| *id == fields.room_id);
        if !known {
            return Err(RoomFailure::UNKNOWN);
        }
        let mut bookings = self.bookings.lock().unwrap_or_else(PoisonError::into_inner);
        if bookings.iter().any(|booking| booking.is_in_the_way(&fields.room_id, start, end)) {
            return Err(RoomFailure::CONFLICT);
        }
        if bookings.len() >= MOST_BOOKINGS {
            return Err(RoomFailure::FULL);
        }
        let booking = Booking { id: format!("b-{}", bookings.len() + 1), fields, start, end };
        let value = booking.to_json();
        bookings.push(booking);
        Ok(value)
    }

    fn booking(&self, id: &str) -> Result<Value, RoomFailure> {
        let bookings = self.bookings.lock().unwrap_or_else(PoisonError::into_inner);
        bookings.iter().find(|booking| booking.id == id).map(Booking::to_json).ok_or(RoomFailure::UNKNOWN)
    }
}

impl Handler for MeetingRooms {
    async fn handle(&self, request: &Request) -> Reply {
        let authorized = request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")) == Some(TOKEN);
        let (status, result) = match (&request.method, request.path.as_str()) {
            _ if !authorized => (StatusCode::UNAUTHORIZED, Err(RoomFailure::TOKEN)),
            (&Method::GET, "/v2/people") => (StatusCode::OK, people(request.query("name"))),
            (&Method::GET, "/v2/rooms") => (StatusCode::OK, self.rooms(request)),
            (&Method::GET, "/v2/rooms/free") => (StatusCode::OK, self.free_rooms_by(request)),
            (&Method::POST, "/v2/bookings") => {
                (StatusCode::CREATED, self.book(serde_json::from_slice(&request.body).unwrap_or_default()))
            }
            (&Method::GET, path) => (StatusCode::OK, self.booking(path.strip_prefix("/v2/bookings/").unwrap_or(""))),
            _ => (StatusCode::NOT_FOUND, Err(RoomFailure::UNKNOWN)),
        };
        match result {
            Ok(value) => Reply::json(status, &value),
            Err(failure) => Reply::json(failure.status, &failure.into_value()),
        }
    }
}

/// Refused request; the document explains the error codes.
#[derive(Debug)]
struct RoomFailure {
    status: StatusCode,
    error: &'static str,
}

impl RoomFailure {
    const TOKEN: Self = Self { status: StatusCode::UNAUTHORIZED, error: "E_TOKEN" };
    const FIELDS: Self = Self { status: StatusCode::BAD_REQUEST, error: "E_FIELDS" };
    const UNKNOWN: Self = Self { status: StatusCode::NOT_FOUND, error: "E_UNKNOWN" };
    const CONFLICT: Self = Self { status: StatusCode::CONFLICT, error: "E_CONFLICT" };
    const FULL: Self = Self { status: StatusCode::INSUFFICIENT_STORAGE, error: "E_FULL" };

    fn into_value(self) -> Value {
        json!({ "error": self.error })
    }
}

/// Fields of a booking request.
#[derive(Debug, Serialize, Deserialize)]
struct BookingFields {
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
    fields: BookingFields,
    start: civil::DateTime,
    end: civil::DateTime,
}

impl Booking {
    fn is_for(&self, room: &str, date: civil::Date) -> bool {
        self.fields.room_id == room && self.start.date() == date
    }

    fn is_in_the_way(&self, room: &str, start: civil::DateTime, end: civil::DateTime) -> bool {
        self.fields.room_id == room && self.start < end && start < self.end
    }

    fn to_json(&self) -> Value {
        let mut value = json!({ "id": self.id });
        if let (Value::Object(members), Ok(Value::Object(fields))) = (&mut value, serde_json::to_value(&self.fields)) {
            members.extend(fields);
        }
        value
    }
}

fn people(name: Option<&str>) -> Result<Value, RoomFailure> {
    let name = name.map(str::trim).filter(|name| !name.is_empty()).ok_or(RoomFailure::FIELDS)?;
    let people = PEOPLE
        .iter()
        .filter(|(_, known, _)| known.to_lowercase().contains(&name.to_lowercase()))
        .map(|(id, name, team)| json!({ "id": id, "name": name, "team": team }))
        .collect::<Vec<_>>();
    Ok(json!({ "people": people }))
}

/// Parses a period within one day.
fn span(start: &str, end: &str) -> Result<(civil::DateTime, civil::DateTime), RoomFailure> {
    let (start, end) = (read_time(start)?, read_time(end)?);
    if end <= start || end.date() != start.date() { Err(RoomFailure::FIELDS) } else { Ok((start, end)) }
}

fn read_time(text: &str) -> Result<civil::DateTime, RoomFailure> {
    civil::DateTime::strptime(TIME_FORMAT, text).map_err(|_| RoomFailure::FIELDS)
}

#[cfg(test)]
mod tests {
    use super::super::client;
    use super::*;

    const BOOKING: &str =
        r#"{"person_id":"p-17","room_id":"r-204","start":"2026-06-02T10:00","end":"2026-06-02T11:00"}"#;

    async fn send(server: &Server, method: Method, target: &str, body: &str) -> (u16, Value) {
        let url = format!("{}/v2{target}", server.url());
        let bearer = format!("Bearer {TOKEN}");
        let body = bytes::Bytes::copy_from_slice(body.as_bytes());
        let answer = client::send(method, &url, &[("authorization", &bearer)], body).await.unwrap();
        (answer.status.as_u16(), serde_json::from_str(&answer.text()).unwrap())
    }

    #[tokio::test]
    async fn a_booking_is_kept_shown_and_not_made_twice() {
        let server = MeetingRooms::start().await.unwrap();
        let (status, booking) = send(&server, Method::POST, "/bookings", BOOKING).await;
        assert_eq!((status, booking["id"].as_str()), (201, Some("b-1")));
        assert_eq!(send(&server, Method::GET, "/bookings/b-1", "").await, (200, booking));
        let (_, rooms) = send(&server, Method::GET, "/rooms?capacity=6&date=2026-06-02", "").await;
        let names: Vec<_> = rooms["rooms"].as_array().unwrap().iter().map(|room| &room["name"]).collect();
        assert_eq!(names, ["Fjord", "Horizon"]);
        assert_eq!(rooms["rooms"][0]["booked"], json!([{ "start": "2026-06-02T10:00", "end": "2026-06-02T11:00" }]));
        let (_, another_day) = send(&server, Method::GET, "/rooms?capacity=6&date=2026-06-03", "").await;
        assert_eq!(another_day["rooms"][0]["booked"], json!([]));
        let overlapping = BOOKING.replace("T11:00", "T12:00").replace("T10:00", "T10:59");
        assert_eq!(
            send(&server, Method::POST, "/bookings", &overlapping).await,
            (409, json!({ "error": "E_CONFLICT" }))
        );
        let (_, free) =
            send(&server, Method::GET, "/rooms/free?start=2026-06-02T10:30&end=2026-06-02T12:00&seats=5", "").await;
        assert_eq!(free, json!({ "rooms": [{ "id": "r-301", "name": "Horizon", "capacity": 20 }] }));
        let later = BOOKING.replace("T11:00", "T12:00").replace("T10:00", "T11:00");
        assert_eq!(send(&server, Method::POST, "/bookings", &later).await.0, 201);
    }

    #[tokio::test]
    async fn what_it_does_not_like_is_answered_with_a_short_error() {
        let server = MeetingRooms::start().await.unwrap();
        let get = |target: &'static str| (Method::GET, target, String::new());
        let post = |from: &str, to: &str| (Method::POST, "/bookings", BOOKING.replace(from, to));
        let cases = [
            (get("/people"), 400, "E_FIELDS"),
            (get("/rooms?capacity=6"), 400, "E_FIELDS"),
            (get("/rooms?capacity=6&date=2.6.2026"), 400, "E_FIELDS"),
            (get("/rooms/free?start=2026-06-02T10:30"), 400, "E_FIELDS"),
            (get("/rooms/free?start=2026-06-02T10:30&end=2026-06-02T10:30"), 400, "E_FIELDS"),
            (get("/rooms/free?start=2026-06-02T10:30&end=2026-06-02T11:30&seats=few"), 400, "E_FIELDS"),
            (get("/bookings/b-9"), 404, "E_UNKNOWN"),
            (get("/nowhere"), 404, "E_UNKNOWN"),
            (post("p-17", "Ada Lovelace"), 404, "E_UNKNOWN"),
            (post("r-204", "r-9"), 404, "E_UNKNOWN"),
            (post("T11:00", "T09:00"), 400, "E_FIELDS"),
            (post("02T11", "03T11"), 400, "E_FIELDS"),
            (post("\"room_id\"", "\"room\""), 400, "E_FIELDS"),
        ];
        for ((method, target, body), status, error) in cases {
            assert_eq!(
                send(&server, method, target, &body).await,
                (status, json!({ "error": error })),
                "{target} {body}"
            );
        }
    }

    #[test]
    fn whoever_has_an_access_of_its_own_gets_the_same_answers() {
        let rooms = MeetingRooms::default();
        let booking: Value = serde_json::from_str(BOOKING).unwrap();
        assert_eq!(rooms.call("createBooking", &booking).unwrap()["id"], "b-1");
        assert_eq!(rooms.call("createBooking", &booking), Some(json!({ "error": "E_CONFLICT" })));
        let free = rooms.call("findFreeRooms", &booking).unwrap();
        assert_eq!(free["rooms"].as_array().map(Vec::len), Some(3));
        assert_eq!(rooms.call("findPeople", &json!({})), Some(json!({ "error": "E_FIELDS" })));
        assert_eq!(rooms.call("cancelBooking", &booking), None);
    }

    #[tokio::test]
    async fn nothing_is_told_without_the_token() {
        let server = MeetingRooms::start().await.unwrap();
        let answer = client::get(&format!("{}/v2/people?name=Ada", server.url())).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.text()), (401, r#"{"error":"E_TOKEN"}"#.to_owned()));
        let (status, found) = send(&server, Method::GET, "/people?name=ada", "").await;
        assert_eq!((status, found["people"][0]["id"].as_str()), (200, Some("p-17")));
    }
}
