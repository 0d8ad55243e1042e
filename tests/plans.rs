//! Plans drawn backward from what is asked for, and followed: calls that the proxy executes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use serde_json::{Value, json};
use support::config::config;
use support::planning::{self, Task};
use support::request::{plain, streamed};
use support::{Proxy, Received, Reply, Server, answer, policy};

const DOCUMENT: &str = r##"
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

const REQUEST: &str = "Book a room for Jack from 9 to 10";

fn meeting() -> Task {
    Task {
        goals: vec![("bookRoom", "book a room for Jack")],
        values: vec![
            ("bookRoom", "start", json!("09:00"), "from 9"),
            ("bookRoom", "end", json!("10:00"), "to 10"),
            ("findRooms", "start", json!("09:00"), "from 9"),
            ("findRooms", "end", json!("10:00"), "to 10"),
            ("findPeople", "name", json!("Jack"), "Jack"),
        ],
        outputs: vec![
            ("bookRoom", "person_id", "findPeople", "/0/id", Some("choose")),
            ("bookRoom", "room_id", "findRooms", "/0/id", Some("choose")),
        ],
        choice: Some(2),
    }
}

const RULES: &str = "execute:\n  rules:\n    - {methods: [POST], tools: [\"office/*\"], permission: allow}";

/// A proxy with the office's tools, under these further rules.
async fn office(upstream: &Server, api: &Server, rules: &str) -> Proxy {
    let file = policy::file("ruled", rules);
    let config = config(&upstream.url("/v1"))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"office\"]\n"
        + &format!("[toolsets.office]\ndocument = \"office.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + &policy::table("ruled");
    Proxy::start_with_files(config, &[("office.yaml", DOCUMENT), ("policies/ruled.yaml", &file)]).await
}

fn people_and_rooms(received: &Received) -> Reply {
    let json = match received.target.split('?').next().unwrap() {
        "/people" => json!([{"id": "P1", "name": "Jill"}, {"id": "P2", "name": "Jack"}]),
        "/rooms" => json!([{"id": "R1", "name": "Oslo", "seats": 4}, {"id": "R2", "name": "Rome", "seats": 8}]),
        _ => return Reply::json(201, &json!({"booked": received.json()})),
    };
    Reply::json(200, &json)
}

fn ask(text: &str) -> Value {
    let mut request = plain(text);
    request["model"] = json!("helper");
    request
}

fn targets(api: &Server) -> Vec<String> {
    let mut targets: Vec<String> = api.received().into_iter().map(|received| received.target).collect();
    targets.sort();
    targets
}

#[tokio::test]
async fn a_room_is_booked_with_ids_that_the_apis_gave_and_the_model_says_the_last_word() {
    for request in [ask(REQUEST), streamed(ask(REQUEST))] {
        let upstream = planning::upstream(|_| meeting(), |_, _| answer::text("Rome is booked for Jack.")).await;
        let api = Server::scripted(|_, received| people_and_rooms(received)).await;
        let proxy = office(&upstream, &api, RULES).await;
        let is_stream = request["stream"] == true;
        let answer = proxy.client().chat(&request).await;
        if !is_stream {
            assert_eq!(answer.message()["content"], "Rome is booked for Jack.");
        }
        assert_eq!(targets(&api), ["/bookings", "/people?name=Jack", "/rooms?start=09%3A00&end=10%3A00"]);
        let booked = api.received().into_iter().find(|received| received.method == "POST").unwrap().json();
        assert_eq!(booked, json!({"person_id": "P2", "room_id": "R2", "start": "09:00", "end": "10:00"}));

        let (questions, others) = planning::split(&upstream);
        // The selection, three completions, and the choice of a room: that of the person is made by its name.
        assert_eq!(questions.len(), 5, "{questions:#?}");
        assert_eq!(others.len(), 1);
        let roles: Vec<String> =
            others[0].messages().iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant", "tool"]);
        let metrics = proxy.metrics().await;
        assert_eq!(metrics.sum("plans_total", &[("result", "complete")]), 1.0);

        let trace = proxy.traces_after_stop().await.pop().unwrap();
        let plan = &trace["plan"];
        assert_eq!((&plan["result"], plan["made"].as_array().unwrap().len()), (&json!("complete"), 3), "{plan:#}");
        let by: Vec<&str> = plan["choices"].as_array().unwrap().iter().map(|it| it["by"].as_str().unwrap()).collect();
        assert_eq!(by, ["said", "model"], "{plan:#}");
        assert_eq!(plan["cost"]["requests"], 5);
        assert_eq!(trace["executions"].as_array().unwrap().len(), 3);
        assert!(!plan.to_string().contains("Jack"), "nothing that was said is stored: {plan:#}");
    }
}
