//! Rules of the scripted model as tables: its first behaviour, its behaviour after feedback, and its behaviour without
//! usable feedback.

use serde_json::{Value, json};

use super::super::{Server, client};
use super::{ScriptedModel, exchange::ScriptedExchange, reply, request::ScriptedRequest, script};

/// Tools as the proxy offers them, and one of a client.
const TOOLS: [&str; 7] =
    ["planRoute", "geocodePlace", "findPeople", "listRooms", "createBooking", "getBooking", "get_weather"];

const WHERE: &str = "Where is Osaka Castle?";
const ROUTE: &str = "I stand at 34.9858, 135.7588. Plan a route by bike to 34.6873, 135.5258.";
const WISHES: &str = "Show me at most 2 routes without tolls from 135.7588,34.9858 to 135.5258,34.6873 by car.";
const HELICOPTER: &str = "Plan a route by helicopter from 135.7588,34.9858 to 135.5258,34.6873.";
const ROOMS: &str = "Which rooms seat 6 people on 2026-06-02?";
const BOOK: &str = "Book a room for 6 people in the name of Ada Lovelace on 2026-06-02 from 10:00 to 11:00.";
const WEATHER: &str = "What will the weather be in Oslo for the next 3 days?";

/// Returns a request: the question, then tool messages, each after a call.
fn request(question: &str, results: &[&str]) -> ScriptedRequest {
    let tools = TOOLS.map(|name| json!({ "type": "function", "function": { "name": name } }));
    let mut messages = vec![json!({ "role": "user", "content": question })];
    for text in results {
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "x" }] }));
        messages.push(json!({ "role": "tool", "tool_call_id": "x", "content": text }));
    }
    let body = json!({ "model": "m", "messages": messages, "tools": tools });
    ScriptedRequest::parse(body.to_string().as_bytes()).unwrap()
}

fn answer(question: &str, results: &[&str]) -> reply::ScriptedAnswer {
    let request = request(question, results);
    script::answer(&request, &ScriptedExchange::latest(&request.messages))
}

/// The calls of the next answer.
fn calls(question: &str, results: &[&str]) -> Value {
    answer(question, results).calls.into_iter().map(|(name, arguments)| json!([name, arguments])).collect()
}

#[test]
fn at_first_it_makes_its_mistakes() {
    let table = [
        (WHERE, json!([["geocode_place", { "query": "Osaka Castle" }]])),
        (
            ROUTE,
            json!([["planRoute", { "origin": "34.9858,135.7588", "destination": "34.6873,135.5258", "mode": "cycling" }]]),
        ),
        (
            WISHES,
            json!([["planRoute", {
                "origin": "135.7588,34.9858", "destination": "135.5258,34.6873", "mode": "driving",
                "avoidTolls": "true", "max-results": "2"
            }]]),
        ),
        (
            HELICOPTER,
            json!([["planRoute", {
                "origin": "135.7588,34.9858", "destination": "135.5258,34.6873", "mode": "helicopter"
            }]]),
        ),
        (ROOMS, json!([["listRooms", { "capacity": 6 }]])),
        (
            BOOK,
            json!([
                ["findPeople", { "name": "Ada Lovelace" }],
                ["listRooms", { "capacity": 6, "date": "2026-06-02" }]
            ]),
        ),
        (WEATHER, json!([["getWeather", { "City": "Oslo", "days": "3" }]])),
        ("Call planRute {\"orign\": 1}", json!([["planRute", { "orign": 1 }]])),
    ];
    for (question, expected) in table {
        assert_eq!(calls(question, &[]), expected, "{question}");
    }
}

#[test]
fn a_mistake_is_corrected_only_by_feedback() {
    // Columns: question; feedback; the words that contain the lesson; the corrected call.
    let table = [
        (
            ROOMS,
            "Error: the call of `listRooms` was not run.\n- E3.4 at `/date`: the required parameter `date` is missing.",
            "the required parameter `date` is missing",
            json!([["listRooms", { "capacity": 6, "date": "2026-06-02" }]]),
        ),
        (
            ROUTE,
            "Status 400: {\"info_code\":\"20000\"}\nIn `origin` and `destination` the longitude precedes the latitude.",
            "the longitude precedes the latitude",
            json!([["planRoute", { "origin": "135.7588,34.9858", "destination": "135.5258,34.6873", "mode": "cycling" }]]),
        ),
        (
            "Call planRute {\"origin\": \"1,2\"}",
            "- E2.3 in the tool's name: `planRute` is not offered. The closest is `planRoute`.",
            "The closest is `planRoute`",
            json!([["planRoute", { "origin": "1,2" }]]),
        ),
        (
            "Call planRoute {\"orign\": \"1,2\"}",
            "- E3.3 at `/orign`: no parameter `orign`. The closest that is not given yet is `origin`.",
            "The closest that is not given yet is `origin`",
            json!([["planRoute", { "origin": "1,2" }]]),
        ),
        (
            "Call planRoute {\"origin\": \"1,2\"}",
            "- the required parameter `destination` is missing\nin this form: {\"origin\": \"1,2\", \"destination\": \"3,4\"}",
            "{\"origin\": \"1,2\", \"destination\": \"3,4\"}",
            json!([["planRoute", { "origin": "1,2", "destination": "3,4" }]]),
        ),
        (
            "Call planRoute {\"mode\": \"teleport\"}",
            "- E4.2 at `/mode`: must be one of `walking`, `cycling`\nin this form: {\"mode\": \"walking\"}",
            "{\"mode\": \"walking\"}",
            json!([["planRoute", { "mode": "walking" }]]),
        ),
        (
            "Call planRoute {\"origin\": \"1,2\", \"mode\": \"teleport\"}",
            "- E4.2 at `/mode`: must be one of `walking`, `cycling`\nin this form: {\"origin\": \"1,2\"}",
            "{\"origin\": \"1,2\"}",
            json!([["planRoute", { "origin": "1,2" }]]),
        ),
    ];
    for (question, feedback, lesson, corrected) in table {
        let mistake = calls(question, &[]);
        assert_eq!(calls(question, &[feedback]), corrected, "{question}");
        assert_ne!(mistake, corrected, "{question}");
        assert!(feedback.contains(lesson), "{feedback}");
        let silent = feedback.replace(lesson, "");
        assert_eq!(calls(question, &[&silent]), mistake, "the model corrects itself without feedback: {question}");
        assert_eq!(calls(question, &[feedback, &silent]), corrected, "the model forgets: {question}");
    }
}

#[test]
fn feedback_does_not_override_an_explicit_request() {
    let feedback = "- E4.2 at `/mode`: must be one of `driving`, `cycling`\nin this form: {\"mode\": \"driving\"}";
    assert_eq!(calls(HELICOPTER, &[feedback; 3]), calls(HELICOPTER, &[]));
    let mut request = request(HELICOPTER, &[feedback]);
    request.tool_choice = "none".into();
    let last = script::answer(&request, &ScriptedExchange::latest(&request.messages));
    assert!(last.calls.is_empty() && last.text.contains("E4.2 at `/mode`: must be one of"), "{last:?}");
}

#[test]
fn results_are_reported_to_the_user() {
    let route = r#"{"info_code":"10000","routes":[{"summary":"cycling, alternative 1","distance_m":49000,"duration_s":11760,"tolls":false}]}"#;
    let table = [
        (
            WHERE,
            vec![r#"{"places":[{"name":"Osaka Castle","longitude":135.5,"latitude":34.6}]}"#],
            "longitude 135.5, latitude 34.6",
        ),
        (WHERE, vec![r#"{"places":[]}"#], "no place called Osaka Castle"),
        (ROUTE, vec!["the longitude precedes the latitude", route], "49.0 km in 3 h 16 min"),
        (ROOMS, vec![r#"{"rooms":[{"id":"r-1","name":"Fjord","capacity":8}]}"#], "Fjord (8 seats)"),
        (WEATHER, vec![r#"{"forecast":[{"day":"day 1","sky":"rain","high_c":9}]}"#], "day 1 9 °C, rain"),
        (BOOK, vec![r#"{"people":[]}"#, r#"{"rooms":[]}"#], "Nobody here is called Ada Lovelace"),
        (
            "Until 10.",
            vec![
                r#"{"people":[{"id":"p-1","name":"Mary Jackson"},{"id":"p-2","name":"Jack Kilby"}]}"#,
                r#"{"rooms":[{"id":"r-1","name":"Fjord"}]}"#,
                r#"{"id":"b-7","person_id":"p-2","room_id":"r-1","start":"9","end":"10"}"#,
            ],
            "Room Fjord (r-1) is booked for Jack Kilby from 9 to 10; the booking is b-7.",
        ),
        (
            "Book me a flight.",
            vec![r#"{"id":"s-1","flight_id":"f-2","traveller_id":"t-3"}"#],
            "Flight f-2 is booked for t-3; the booking is s-1.",
        ),
        ("Call planRoute", vec![r#"{"routes":[]}"#], r#"{"routes":[]}"#),
    ];
    for (question, results, expected) in table {
        let answer = answer(question, &results);
        assert!(answer.calls.is_empty() && answer.text.contains(expected), "{question}: {answer:?}");
    }
}

#[test]
fn a_booking_takes_ids_from_two_results_and_a_free_room() {
    let people = r#"{"people":[{"id":"p-17","name":"Ada Lovelace"}]}"#;
    let rooms = r#"{"rooms":[
        {"id":"r-1","booked":[{"start":"2026-06-02T10:30","end":"2026-06-02T12:00"}]},
        {"id":"r-2","booked":[{"start":"2026-06-02T11:00","end":"2026-06-02T12:00"}]}
    ]}"#;
    assert_eq!(calls(BOOK, &[people])[0][0], "listRooms");
    let expected = json!([["createBooking", {
        "person_id": "p-17", "room_id": "r-2", "start": "2026-06-02T10:00", "end": "2026-06-02T11:00"
    }]]);
    assert_eq!(calls(BOOK, &[rooms, people]), expected);
    let booked = r#"{"id":"b-1","room_id":"r-2","start":"2026-06-02T10:00","end":"2026-06-02T11:00"}"#;
    assert!(answer(BOOK, &[rooms, people, booked]).text.contains("the booking is b-1"));
}

async fn post(server: &Server, body: &Value) -> client::HttpAnswer {
    client::post(&format!("{}/v1/chat/completions", server.url()), &[], body).await.unwrap()
}

#[tokio::test]
async fn the_same_request_gets_the_same_bytes() {
    let server = ScriptedModel::start().await.unwrap();
    let body = json!({
        "model": "m",
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": WHERE }] }],
        "tools": [{ "type": "function", "function": { "name": "geocodePlace" } }],
    });
    let first = post(&server, &body).await.text();
    assert!(first.contains("geocode_place"), "{first}");
    post(&server, &json!({ "messages": [] })).await;
    assert_eq!(post(&server, &body).await.text(), first);
}

#[tokio::test]
async fn it_makes_no_call_where_none_is_allowed() {
    let server = ScriptedModel::start().await.unwrap();
    let messages = json!([{ "role": "user", "content": ROOMS }]);
    let tools = json!([{ "type": "function", "function": { "name": "listRooms" } }]);
    for body in [
        json!({ "messages": messages }),
        json!({ "messages": messages, "tools": tools, "tool_choice": "none" }),
        json!({ "messages": messages, "tools": [] }),
    ] {
        let text = post(&server, &body).await.text();
        assert!(!text.contains("tool_calls"), "{text}");
    }
    let one = json!({
        "messages": [{ "role": "user", "content": BOOK }],
        "tools": TOOLS.map(|name| json!({ "function": { "name": name } })),
        "parallel_tool_calls": false,
    });
    let answer: Value = serde_json::from_str(&post(&server, &one).await.text()).unwrap();
    assert_eq!(answer["choices"][0]["message"]["tool_calls"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn an_invalid_request_gets_the_error_of_openai() {
    let server = ScriptedModel::start().await.unwrap();
    let broken = post(&server, &json!({ "messages": 1 })).await;
    assert_eq!(broken.status.as_u16(), 400);
    assert!(broken.text().contains("invalid_request_error"));
    let models = client::get(&format!("{}/v1/models", server.url())).await.unwrap();
    assert!(models.text().contains("\"scripted\""));
    assert_eq!(client::get(&format!("{}/v1/audio", server.url())).await.unwrap().status.as_u16(), 404);
}
