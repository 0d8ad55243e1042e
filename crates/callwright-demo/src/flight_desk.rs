//! Flight desk API of `openapi/flights.yaml`, served over HTTP. [`FlightDesk::call`] returns the same answers without
//! HTTP, for the demo's client.

use std::sync::{Mutex, PoisonError};

use http::{Method, StatusCode};
use jiff::civil;
use serde_json::{Value, json};

use super::DemoError;
use super::server::{Handler, Reply, Request, Server};

/// Accepted API key. It gives access only to a server on loopback that ends with the process.
pub(super) const KEY: &str = "demo-flights-key";

/// Maximum number of bookings, which bounds the memory.
const MOST_BOOKINGS: usize = 10_000;

/// Travellers: id, name, team.
const TRAVELLERS: [(&str, &str, &str); 3] =
    [("t-58", "Mileva Marić", "Analysis"), ("t-61", "Lucas Nagel", "Fairs"), ("t-77", "Ida Rhodes", "Almanacs")];

/// Their trips: traveller, title, destination, date; the next one first.
const TRIPS: [(&str, &str, &str, &str); 4] = [
    ("t-61", "Supplier visit", "Porto", "2026-06-04"),
    ("t-61", "Trade fair", "Lisbon", "2026-06-11"),
    ("t-58", "Lecture", "Porto", "2026-06-04"),
    ("t-77", "Workshop", "Lisbon", "2026-06-11"),
];

/// Flights: id, origin, destination, date, departure, arrival, euros.
const FLIGHTS: [(&str, &str, &str, &str, &str, &str, u32); 5] = [
    ("f-204", "Oslo", "Porto", "2026-06-04", "08:20", "11:30", 167),
    ("f-311", "Oslo", "Lisbon", "2026-06-11", "06:40", "10:05", 189),
    ("f-327", "Oslo", "Lisbon", "2026-06-11", "11:15", "14:40", 142),
    ("f-340", "Oslo", "Lisbon", "2026-06-11", "18:05", "21:30", 205),
    ("f-341", "Lisbon", "Oslo", "2026-06-14", "09:10", "12:40", 151),
];

/// Sample API. Bookings are kept in memory.
#[derive(Debug, Default)]
pub struct FlightDesk {
    /// Flight and traveller of each booking.
    bookings: Mutex<Vec<(&'static str, &'static str)>>,
}

impl FlightDesk {
    /// Starts the API on a free loopback port. Its base URL is the server's URL plus `/v1`.
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
            "findTravellers" => travellers(field("name")),
            "listTrips" => trips(field("traveller_id").unwrap_or_default()),
            "searchFlights" => flights(field("origin"), field("destination"), field("date")),
            "bookFlight" => self.book(fields),
            _ => return None,
        };
        Some(result.unwrap_or_else(FlightDeskFailure::into_value))
    }

    fn book(&self, fields: &Value) -> Result<Value, FlightDeskFailure> {
        let field = |name: &str| fields.get(name).and_then(Value::as_str);
        let (flight, traveller) = field("flight_id").zip(field("traveller_id")).ok_or(FlightDeskFailure::FIELDS)?;
        let (flight, ..) = FLIGHTS.iter().find(|(id, ..)| *id == flight).ok_or(FlightDeskFailure::UNKNOWN)?;
        let (traveller, ..) = TRAVELLERS.iter().find(|(id, ..)| *id == traveller).ok_or(FlightDeskFailure::UNKNOWN)?;
        let mut bookings = self.bookings.lock().unwrap_or_else(PoisonError::into_inner);
        if bookings.contains(&(flight, traveller)) {
            return Err(FlightDeskFailure::TWICE);
        }
        if bookings.len() >= MOST_BOOKINGS {
            return Err(FlightDeskFailure::FULL);
        }
        bookings.push((flight, traveller));
        Ok(json!({ "id": format!("s-{}", bookings.len()), "flight_id": flight, "traveller_id": traveller }))
    }
}

impl Handler for FlightDesk {
    async fn handle(&self, request: &Request) -> Reply {
        let query = |name| request.query(name);
        let trips_of = |path: &str| -> Option<String> {
            Some(path.strip_prefix("/v1/travellers/")?.strip_suffix("/trips")?.to_owned())
        };
        let (status, result) = match (&request.method, request.path.as_str()) {
            _ if request.header("x-api-key") != Some(KEY) => (StatusCode::UNAUTHORIZED, Err(FlightDeskFailure::KEY)),
            (&Method::GET, "/v1/travellers") => (StatusCode::OK, travellers(query("name"))),
            (&Method::GET, "/v1/flights") => {
                (StatusCode::OK, flights(query("origin"), query("destination"), query("date")))
            }
            (&Method::POST, "/v1/bookings") => {
                (StatusCode::CREATED, self.book(&serde_json::from_slice(&request.body).unwrap_or_default()))
            }
            (&Method::GET, path) => (StatusCode::OK, trips(&trips_of(path).unwrap_or_default())),
            _ => (StatusCode::NOT_FOUND, Err(FlightDeskFailure::UNKNOWN)),
        };
        match result {
            Ok(value) => Reply::json(status, &value),
            Err(failure) => Reply::json(failure.status, &failure.into_value()),
        }
    }
}

/// Refused request; the document explains the error codes.
#[derive(Debug, Clone, Copy)]
struct FlightDeskFailure {
    status: StatusCode,
    error: &'static str,
}

impl FlightDeskFailure {
    const KEY: Self = Self { status: StatusCode::UNAUTHORIZED, error: "F_KEY" };
    const FIELDS: Self = Self { status: StatusCode::BAD_REQUEST, error: "F_FIELDS" };
    const UNKNOWN: Self = Self { status: StatusCode::NOT_FOUND, error: "F_UNKNOWN" };
    const CITY: Self = Self { status: StatusCode::NOT_FOUND, error: "F_CITY" };
    const TWICE: Self = Self { status: StatusCode::CONFLICT, error: "F_TWICE" };
    const FULL: Self = Self { status: StatusCode::INSUFFICIENT_STORAGE, error: "F_FULL" };

    fn into_value(self) -> Value {
        json!({ "error": self.error })
    }
}

fn travellers(name: Option<&str>) -> Result<Value, FlightDeskFailure> {
    let name = name.map(str::trim).filter(|name| !name.is_empty()).ok_or(FlightDeskFailure::FIELDS)?.to_lowercase();
    let found = TRAVELLERS
        .iter()
        .filter(|(_, known, _)| known.to_lowercase().contains(&name))
        .map(|(id, name, team)| json!({ "id": id, "name": name, "team": team }));
    Ok(json!({ "travellers": found.collect::<Value>() }))
}

fn trips(traveller: &str) -> Result<Value, FlightDeskFailure> {
    if !TRAVELLERS.iter().any(|(id, ..)| *id == traveller) {
        return Err(FlightDeskFailure::UNKNOWN);
    }
    let trips = TRIPS
        .iter()
        .filter(|(of, ..)| *of == traveller)
        .map(|(_, title, destination, date)| json!({ "title": title, "destination": destination, "date": date }));
    Ok(json!({ "trips": trips.collect::<Value>() }))
}

fn flights(origin: Option<&str>, destination: Option<&str>, date: Option<&str>) -> Result<Value, FlightDeskFailure> {
    let (origin, destination) = origin.zip(destination).ok_or(FlightDeskFailure::FIELDS)?;
    let date = date.filter(|date| date.parse::<civil::Date>().is_ok()).ok_or(FlightDeskFailure::FIELDS)?;
    let is = |city: &str, named: &str| city.eq_ignore_ascii_case(named.trim());
    let is_served = |named: &str| FLIGHTS.iter().any(|(_, from, to, ..)| is(from, named) || is(to, named));
    if !is_served(origin) || !is_served(destination) {
        return Err(FlightDeskFailure::CITY);
    }
    let flights = FLIGHTS
        .iter()
        .filter(|(_, from, to, day, ..)| is(from, origin) && is(to, destination) && *day == date)
        .map(|(id, _, _, _, departs, arrives, price)| {
            json!({ "id": id, "departs": departs, "arrives": arrives, "price": price })
        });
    Ok(json!({ "flights": flights.collect::<Value>() }))
}

#[cfg(test)]
mod tests {
    use super::super::client;
    use super::*;

    async fn send(server: &Server, method: Method, target: &str, body: &str) -> (u16, Value) {
        let url = format!("{}/v1{target}", server.url());
        let body = bytes::Bytes::copy_from_slice(body.as_bytes());
        let answer = client::send(method, &url, &[("x-api-key", KEY)], body).await.unwrap();
        (answer.status.as_u16(), serde_json::from_str(&answer.text()).unwrap())
    }

    #[tokio::test]
    async fn a_flight_is_found_by_a_trip_and_booked_once() {
        let server = FlightDesk::start().await.unwrap();
        let (_, found) = send(&server, Method::GET, "/travellers?name=lucas", "").await;
        assert_eq!(found["travellers"][0]["id"], "t-61");
        let (_, found) = send(&server, Method::GET, "/travellers/t-61/trips", "").await;
        assert_eq!(found["trips"][1], json!({ "title": "Trade fair", "destination": "Lisbon", "date": "2026-06-11" }));
        let target = "/flights?origin=oslo&destination=Lisbon&date=2026-06-11";
        let (_, found) = send(&server, Method::GET, target, "").await;
        let ids: Vec<_> = found["flights"].as_array().unwrap().iter().map(|flight| &flight["id"]).collect();
        assert_eq!(ids, ["f-311", "f-327", "f-340"]);
        let booking = r#"{"flight_id": "f-327", "traveller_id": "t-61"}"#;
        let (status, booked) = send(&server, Method::POST, "/bookings", booking).await;
        assert_eq!((status, &booked["id"], &booked["flight_id"]), (201, &json!("s-1"), &json!("f-327")));
        assert_eq!(send(&server, Method::POST, "/bookings", booking).await, (409, json!({ "error": "F_TWICE" })));
    }

    #[tokio::test]
    async fn what_nobody_knows_is_refused() {
        let server = FlightDesk::start().await.unwrap();
        for (method, target, body, status, error) in [
            (Method::GET, "/travellers", "", 400, "F_FIELDS"),
            (Method::GET, "/travellers/Lucas/trips", "", 404, "F_UNKNOWN"),
            (Method::GET, "/flights?origin=Oslo&destination=LIS&date=2026-06-11", "", 404, "F_CITY"),
            (Method::GET, "/flights?origin=Oslo&destination=Lisbon&date=soon", "", 400, "F_FIELDS"),
            (Method::POST, "/bookings", r#"{"flight_id": "f-1", "traveller_id": "t-61"}"#, 404, "F_UNKNOWN"),
            (Method::POST, "/bookings", r#"{"flight_id": "f-327", "traveller_id": "Lucas"}"#, 404, "F_UNKNOWN"),
            (Method::POST, "/bookings", r#"{"flight_id": "f-327"}"#, 400, "F_FIELDS"),
            (Method::DELETE, "/bookings", "", 404, "F_UNKNOWN"),
        ] {
            assert_eq!(send(&server, method, target, body).await, (status, json!({ "error": error })), "{target}");
        }
    }

    #[test]
    fn whoever_has_an_access_of_its_own_gets_the_same_answers() {
        let desk = FlightDesk::default();
        let call = |operation: &str, fields: Value| desk.call(operation, &fields);
        let booking = json!({ "flight_id": "f-311", "traveller_id": "t-61" });
        assert_eq!(call("bookFlight", booking.clone()).unwrap()["id"], "s-1");
        assert_eq!(call("bookFlight", booking), Some(json!({ "error": "F_TWICE" })));
        assert_eq!(call("listTrips", json!({ "traveller_id": "t-1" })), Some(json!({ "error": "F_UNKNOWN" })));
        assert_eq!(call("cancelFlight", json!({})), None);
    }
}
