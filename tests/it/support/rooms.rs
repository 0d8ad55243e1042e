//! A small API of meeting rooms: its document, and a configuration that offers it.

use serde_json::{Value, json};

use super::answer::{call, calls, text};
use super::config::config;
use super::reply::Reply;
use super::request::plain;
use super::server::{Received, Server};

/// `GET /rooms`, `GET /rooms/{room}`, `POST /rooms/{room}/bookings`, with the rules that explain its errors.
pub(crate) const DOCUMENT: &str = r#"
openapi: 3.0.3
info: {title: Meeting rooms, version: "1", description: Rooms of an office.}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /rooms:
    get:
      operationId: listRooms
      summary: Lists the rooms.
      description: >-
        Lists the rooms of one floor. Code 4711 means that the floor is closed for renovation. Floors are numbered from 1 to 9.
      parameters:
        - {name: floor, in: query, required: true, schema: {type: integer}, description: Number of the floor.}
        - {name: tags, in: query, schema: {type: array, items: {type: string}}, description: Equipment that the room must have.}
        - {name: X-Tenant, in: header, schema: {type: string}, description: The tenant.}
      responses:
        "200": {description: The rooms.}
        "400": {description: The floor is closed for renovation or does not exist.}
  /rooms/{room}:
    get:
      operationId: getRoom
      summary: One room.
      parameters:
        - {name: room, in: path, required: true, schema: {type: string}, description: Name of the room.}
      responses:
        "200": {description: The room.}
  /rooms/{room}/bookings:
    post:
      operationId: bookRoom
      summary: Books a room.
      parameters:
        - {name: room, in: path, required: true, schema: {type: string}, description: Name of the room.}
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [from, hours]
              properties:
                from: {type: string, format: date-time, description: Begin of the booking.}
                hours: {type: integer, minimum: 1, maximum: 8, description: Length in hours.}
      responses:
        "201": {description: Booked.}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Api-Key}
security: [{key: []}]
"#;

/// The API key in the configuration of [`config_of`].
pub(crate) const KEY: &str = "rooms-secret-1";

/// Returns a configuration in which the alias `helper` (model `gpt-test`) offers the rooms that `api` serves. Loopback
/// addresses are allowed, because the API uses them. It requires [`DOCUMENT`] as the file `rooms.yaml`.
pub(crate) fn config_of(upstream: &Server, api: &Server) -> String {
    config(&upstream.url("/v1"))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"rooms\"]\n"
        + &format!("[toolsets.rooms]\ndocument = \"rooms.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + &format!("[toolsets.rooms.credentials]\nkey = \"{KEY}\"\n")
}

/// Returns a configuration of [`config_of`] whose alias may be in shadow mode, without its tools.
pub(crate) fn shadowed(config: &str) -> String {
    config.replace("[aliases.helper]\n", "[aliases.helper]\nomit_toolsets_in_shadow = true\n")
}

/// Files that [`config_of`] requires.
pub(crate) const FILES: [(&str, &str); 1] = [("rooms.yaml", DOCUMENT)];

/// Part of the lesson about the missing floor, in the words of the tool's document.
pub(crate) const LESSON: &str = "cannot be called without `floor`";

/// Returns a request to the alias `helper`.
pub(crate) fn ask(text: &str) -> Value {
    let mut request = plain(text);
    request["model"] = json!("helper");
    request
}

/// A model that omits the floor unless a note in the conversation or feedback mentions it.
pub(crate) fn forgetful(_: usize, request: &Received) -> Reply {
    let messages = request.messages();
    let since_user = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    let told = messages[since_user]["content"].as_str().unwrap_or_default().contains(LESSON);
    let last = request.last_message();
    let arguments = match last["role"].as_str() {
        Some("user") if !told => json!({}),
        Some("tool") if last["content"].as_str().unwrap_or_default().contains("blue") => {
            return text("The blue one.");
        }
        _ => json!({"floor": 5}),
    };
    calls(&[call(&format!("c{}", messages.len()), "listRooms", &arguments.to_string())])
}
