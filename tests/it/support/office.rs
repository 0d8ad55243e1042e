//! An office: an API of people, rooms and bookings, the model's knowledge for planning a meeting, and a proxy that
//! offers it.

use serde_json::{Value, json};

use super::config::config;
use super::planning::Task;
use super::policy;
use super::proxy::Proxy;
use super::reply::Reply;
use super::request::plain;
use super::server::{Received, Server};

/// `GET /people`, `GET /rooms`, and `POST /bookings`, which requires an id of each.
pub(crate) const DOCUMENT: &str = r##"
openapi: 3.1.0
info: {title: Office, version: "1"}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /people:
    get:
      operationId: findPeople
      summary: Finds people by name.
      parameters: [{name: name, in: query, required: true, schema: {type: string}}]
      responses:
        "200":
          description: The people.
          content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Person"}}}}
  /rooms:
    get:
      operationId: findRooms
      summary: Finds free meeting rooms.
      parameters:
        - {name: start, in: query, required: true, schema: {type: string}}
        - {name: end, in: query, required: true, schema: {type: string}}
      responses:
        "200":
          description: The rooms.
          content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Room"}}}}
        "503": {description: The calendar is closed for maintenance until the hour given in Retry-After.}
  /bookings:
    post:
      operationId: bookRoom
      summary: Books a meeting room for a person.
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [person_id, room_id, start, end]
              properties:
                person_id: {type: string, description: Id of the person.}
                room_id: {type: string, description: Id of the room.}
                start: {type: string}
                end: {type: string}
      responses: {"201": {description: Booked.}, "409": {description: The room is taken at that time.}}
components:
  schemas:
    Person: {type: object, properties: {id: {type: string}, name: {type: string}}}
    Room: {type: object, properties: {id: {type: string}, name: {type: string}, seats: {type: integer}}}
"##;

/// Policy rules that allow bookings.
pub(crate) const RULES: &str = "execute:\n  rules:\n    - {methods: [POST], tools: [\"office/*\"], permission: allow}";

/// Returns the API's response: two people, two rooms, or the booking.
pub(crate) fn api(received: &Received) -> Reply {
    let json = match received.target.split('?').next().unwrap() {
        "/people" => json!([{"id": "P17", "name": "Jill"}, {"id": "P18", "name": "Jack"}]),
        "/rooms" => json!([{"id": "R71", "name": "Oslo", "seats": 4}, {"id": "R72", "name": "Rome", "seats": 8}]),
        _ => return Reply::json(201, &json!({"booked": received.json()})),
    };
    Reply::json(200, &json)
}

/// Returns the task of a meeting with a person. Its times are values with the words that state them. If a room must be
/// chosen, it is the second one.
pub(crate) fn meeting(
    person: &'static str,
    (start, start_words): (&'static str, &'static str),
    (end, end_words): (&'static str, &'static str),
) -> Task {
    Task {
        goals: vec![("bookRoom", "book a room")],
        values: vec![
            ("bookRoom", "start", json!(start), start_words),
            ("bookRoom", "end", json!(end), end_words),
            ("findRooms", "start", json!(start), start_words),
            ("findRooms", "end", json!(end), end_words),
            ("findPeople", "name", json!(person), person),
        ],
        outputs: vec![
            ("bookRoom", "person_id", "findPeople", "/0/id", Some("choose")),
            ("bookRoom", "room_id", "findRooms", "/0/id", Some("choose")),
        ],
        choice: Some(2),
    }
}

/// Returns the configuration tables in which the alias `helper` offers the office that `api` serves, under the policy
/// `ruled`.
pub(crate) fn tables(api: &Server) -> String {
    "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"office\"]\nomit_toolsets_in_shadow = true\n"
        .to_owned()
        + &format!("[toolsets.office]\ndocument = \"office.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + &policy::table("ruled")
}

/// Starts a proxy with this configuration, and these rules of the policy `ruled`.
pub(crate) async fn configured(config: String, rules: &str) -> Proxy {
    let file = policy::file("ruled", rules);
    Proxy::start_with_files(config, &[("office.yaml", DOCUMENT), ("policies/ruled.yaml", &file)]).await
}

/// Starts a proxy with the office's tools under these rules.
pub(crate) async fn proxy(upstream: &Server, api: &Server, rules: &str) -> Proxy {
    configured(config(&upstream.url("/v1")) + &tables(api), rules).await
}

/// Returns a request to the alias with the office's tools.
pub(crate) fn ask(text: &str) -> Value {
    let mut request = plain(text);
    request["model"] = json!("helper");
    request
}
