//! Answers of the sample APIs.

use http::Method;
use serde_json::{Value, json};

use super::super::client;
use super::*;

const BOOKING: &str = r#"{"person_id":"p-17","room_id":"r-204","start":"2026-06-02T10:00","end":"2026-06-02T11:00"}"#;

/// Sends a request with the credential of the API.
async fn send(server: &Server, api: &ApiDefinition, method: Method, target: &str, body: &str) -> (u16, Value) {
    let body = bytes::Bytes::copy_from_slice(body.as_bytes());
    let answer =
        client::send(method, &format!("{}{target}", server.url()), &[(&api.credential.0, &api.credential.1)], body)
            .await
            .unwrap();
    (answer.status.as_u16(), serde_json::from_str(&answer.text()).unwrap())
}

async fn get(server: &Server, api: &ApiDefinition, target: &str) -> (u16, Value) {
    send(server, api, Method::GET, target, "").await
}

#[test]
fn a_path_has_the_fields_of_its_operation_only() {
    let operation = &APIS.flight_desk.operations[1];
    assert_eq!(operation.path_fields("GET", "/v1/travellers/t-61/trips").unwrap()["traveller_id"], "t-61");
    for (method, path) in [("POST", "/v1/travellers/t-61/trips"), ("GET", "/v1/travellers/t-61"), ("GET", "/v1/a/b/c")]
    {
        assert!(operation.path_fields(method, path).is_none(), "{method} {path}");
    }
}

#[test]
fn every_table_has_records() {
    for table in ["people", "rooms", "travellers", "trips", "flights", "places"] {
        assert!(records(table).len() > 2, "{table}");
    }
}

#[tokio::test]
async fn a_room_is_booked_returned_and_not_booked_twice() {
    let (server, api) = (SampleApi::start(&APIS.meeting_rooms).await.unwrap(), &APIS.meeting_rooms);
    let (status, booking) = send(&server, api, Method::POST, "/v2/bookings", BOOKING).await;
    assert_eq!((status, booking["id"].as_str()), (201, Some("b-1")));
    assert_eq!(get(&server, api, "/v2/bookings/b-1").await, (200, booking));
    let (_, rooms) = get(&server, api, "/v2/rooms?capacity=6&date=2026-06-02").await;
    let names: Vec<_> = rooms["rooms"].as_array().unwrap().iter().map(|room| &room["name"]).collect();
    assert_eq!(names, ["Fjord", "Horizon"]);
    assert_eq!(rooms["rooms"][0]["booked"], json!([{ "start": "2026-06-02T10:00", "end": "2026-06-02T11:00" }]));
    let (_, another_day) = get(&server, api, "/v2/rooms?capacity=6&date=2026-06-03").await;
    assert_eq!(another_day["rooms"][0]["booked"], json!([]));
    let overlapping = BOOKING.replace("T11:00", "T12:00").replace("T10:00", "T10:59");
    let refused = send(&server, api, Method::POST, "/v2/bookings", &overlapping).await;
    assert_eq!(refused, (409, json!({ "error": "E_CONFLICT" })));
    let (_, free) = get(&server, api, "/v2/rooms/free?start=2026-06-02T10:30&end=2026-06-02T12:00&seats=5").await;
    assert_eq!(free, json!({ "rooms": [{ "id": "r-301", "name": "Horizon", "capacity": 20 }] }));
    let later = BOOKING.replace("T11:00", "T12:00").replace("T10:00", "T11:00");
    assert_eq!(send(&server, api, Method::POST, "/v2/bookings", &later).await.0, 201);
}

#[tokio::test]
async fn a_flight_is_found_by_a_trip_and_booked_once() {
    let (server, api) = (SampleApi::start(&APIS.flight_desk).await.unwrap(), &APIS.flight_desk);
    assert_eq!(get(&server, api, "/v1/travellers?name=lucas").await.1["travellers"][0]["id"], "t-61");
    let (_, found) = get(&server, api, "/v1/travellers/t-61/trips").await;
    assert_eq!(found["trips"][1], json!({ "title": "Trade fair", "destination": "Lisbon", "date": "2026-06-11" }));
    let (_, found) = get(&server, api, "/v1/flights?origin=oslo&destination=Lisbon&date=2026-06-11").await;
    let ids: Vec<_> = found["flights"].as_array().unwrap().iter().map(|flight| &flight["id"]).collect();
    assert_eq!(ids, ["f-311", "f-327", "f-340"]);
    let booking = r#"{"flight_id": "f-327", "traveller_id": "t-61"}"#;
    let booked = send(&server, api, Method::POST, "/v1/bookings", booking).await;
    assert_eq!(booked, (201, json!({ "id": "s-1", "flight_id": "f-327", "traveller_id": "t-61" })));
    let twice = send(&server, api, Method::POST, "/v1/bookings", booking).await;
    assert_eq!(twice, (409, json!({ "error": "F_TWICE" })));
}

#[tokio::test]
async fn an_invalid_request_is_answered_with_a_short_code() {
    let rooms = SampleApi::start(&APIS.meeting_rooms).await.unwrap();
    for (target, status, error) in [
        ("/v2/people", 400, "E_FIELDS"),
        ("/v2/rooms?capacity=6", 400, "E_FIELDS"),
        ("/v2/rooms?capacity=6&date=2.6.2026", 400, "E_FIELDS"),
        ("/v2/rooms/free?start=2026-06-02T10:30", 400, "E_FIELDS"),
        ("/v2/rooms/free?start=2026-06-02T10:30&end=2026-06-02T10:30", 400, "E_FIELDS"),
        ("/v2/rooms/free?start=2026-06-02T10:30&end=2026-06-02T11:30&seats=few", 400, "E_FIELDS"),
        ("/v2/bookings/b-9", 404, "E_UNKNOWN"),
        ("/v2/nowhere", 404, "E_UNKNOWN"),
    ] {
        assert_eq!(get(&rooms, &APIS.meeting_rooms, target).await, (status, json!({ "error": error })), "{target}");
    }
    for (from, to, status, error) in [
        ("p-17", "Ada Lovelace", 404, "E_UNKNOWN"),
        ("r-204", "r-9", 404, "E_UNKNOWN"),
        ("T11:00", "T09:00", 400, "E_FIELDS"),
        ("02T11", "03T11", 400, "E_FIELDS"),
        ("\"room_id\"", "\"room\"", 400, "E_FIELDS"),
    ] {
        let refused = send(&rooms, &APIS.meeting_rooms, Method::POST, "/v2/bookings", &BOOKING.replace(from, to)).await;
        assert_eq!(refused, (status, json!({ "error": error })), "{to}");
    }
    let flights = SampleApi::start(&APIS.flight_desk).await.unwrap();
    for (method, target, body, status, error) in [
        (Method::GET, "/v1/travellers", "", 400, "F_FIELDS"),
        (Method::GET, "/v1/travellers/Lucas/trips", "", 404, "F_UNKNOWN"),
        (Method::GET, "/v1/flights?origin=Oslo&destination=LIS&date=2026-06-11", "", 404, "F_CITY"),
        (Method::GET, "/v1/flights?origin=Oslo&destination=Lisbon&date=soon", "", 400, "F_FIELDS"),
        (Method::POST, "/v1/bookings", r#"{"flight_id": "f-1", "traveller_id": "t-61"}"#, 404, "F_UNKNOWN"),
        (Method::POST, "/v1/bookings", r#"{"flight_id": "f-327", "traveller_id": "Lucas"}"#, 404, "F_UNKNOWN"),
        (Method::POST, "/v1/bookings", r#"{"flight_id": "f-327"}"#, 400, "F_FIELDS"),
        (Method::DELETE, "/v1/bookings", "", 404, "F_UNKNOWN"),
    ] {
        let refused = send(&flights, &APIS.flight_desk, method, target, body).await;
        assert_eq!(refused, (status, json!({ "error": error })), "{target}");
    }
    let routes = SampleApi::start(&APIS.route_planner).await.unwrap();
    let good = "/v1/route?origin=135.7588,34.9858&destination=135.5258%2C34.6873";
    for (target, status, code) in [
        ("/v1/route?origin=135.7588,34.9858", 400, "20001"),
        ("/v1/route?origin=34.9858,135.7588&destination=34.6873,135.5258", 400, "20000"),
        (&format!("{good}&mode=helicopter"), 400, "20002"),
        (&format!("{good}&max_results=9"), 400, "20002"),
        (&format!("{good}&avoid_tolls=yes"), 400, "20002"),
        ("/v1/route?origin=13.4050,52.5200&destination=135.5258,34.6873", 400, "20800"),
        ("/v1/geocode?query=%20", 400, "20001"),
        ("/v1/nowhere", 404, "20002"),
    ] {
        assert_eq!(get(&routes, &APIS.route_planner, target).await, (status, json!({ "info_code": code })), "{target}");
    }
    assert_eq!(routes.requests(), 8);
}

#[tokio::test]
async fn nothing_is_returned_without_the_credential() {
    for (api, target, code) in [
        (&APIS.meeting_rooms, "/v2/people?name=Ada", r#"{"error":"E_TOKEN"}"#),
        (&APIS.flight_desk, "/v1/travellers?name=Ida", r#"{"error":"F_KEY"}"#),
        (&APIS.route_planner, "/v1/geocode?query=Nara", r#"{"info_code":"10001"}"#),
    ] {
        let server = SampleApi::start(api).await.unwrap();
        let url = format!("{}{target}", server.url());
        let wrong = [(api.credential.0.as_str(), "wrong")];
        let answer = client::send(Method::GET, &url, &wrong, bytes::Bytes::new()).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.text().as_str()), (401, code));
        assert_eq!(get(&server, api, target).await.0, 200);
    }
}

#[test]
fn clients_with_their_own_access_get_the_same_answers() {
    let rooms = SampleApi::new(&APIS.meeting_rooms);
    let booking: Value = serde_json::from_str(BOOKING).unwrap();
    assert_eq!(rooms.call("createBooking", &booking).unwrap()["id"], "b-1");
    assert_eq!(rooms.call("createBooking", &booking), Some(json!({ "error": "E_CONFLICT" })));
    assert_eq!(rooms.call("findFreeRooms", &booking).unwrap()["rooms"].as_array().map(Vec::len), Some(3));
    assert_eq!(rooms.call("findPeople", &json!({})), Some(json!({ "error": "E_FIELDS" })));
    assert_eq!(rooms.call("cancelBooking", &booking), None);
    let desk = SampleApi::new(&APIS.flight_desk);
    let booking = json!({ "flight_id": "f-311", "traveller_id": "t-61" });
    assert_eq!(desk.call("bookFlight", &booking).unwrap()["id"], "s-1");
    assert_eq!(desk.call("bookFlight", &booking), Some(json!({ "error": "F_TWICE" })));
    assert_eq!(desk.call("listTrips", &json!({ "traveller_id": "t-1" })), Some(json!({ "error": "F_UNKNOWN" })));
}

#[tokio::test]
async fn preferences_change_the_routes() {
    let server = SampleApi::start(&APIS.route_planner).await.unwrap();
    let mut answers = Vec::new();
    for wishes in ["", "&avoid_tolls=true&max_results=2", "&mode=cycling"] {
        let target = format!("/v1/route?origin=135.7588,34.9858&destination=135.5258,34.6873{wishes}");
        answers.push(get(&server, &APIS.route_planner, &target).await.1["routes"].clone());
    }
    let [plain, free, cycling] = answers.as_slice() else { panic!("{answers:?}") };
    assert_eq!((plain[0]["tolls"].as_bool(), plain.as_array().map(Vec::len)), (Some(true), Some(1)));
    assert!(free.as_array().unwrap().iter().all(|route| route["tolls"] == false) && free[1].is_object());
    assert!(free[0]["distance_m"].as_u64() < free[1]["distance_m"].as_u64());
    assert!(cycling[0]["duration_s"].as_u64() > plain[0]["duration_s"].as_u64());
}

#[tokio::test]
async fn places_are_matched_by_a_part_of_their_name() {
    let server = SampleApi::start(&APIS.route_planner).await.unwrap();
    let (status, found) = get(&server, &APIS.route_planner, "/v1/geocode?query=castle").await;
    assert_eq!((status, found["places"].as_array().map(Vec::len)), (200, Some(2)));
    assert_eq!(found["places"][0], json!({ "name": "Osaka Castle", "longitude": 135.5258, "latitude": 34.6873 }));
}
