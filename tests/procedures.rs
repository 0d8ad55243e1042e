//! Procedures in turns: what was learned of a workflow saves requests to the model, or becomes an outline of what to do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::process::Command;

use serde_json::{Value, json};
use support::config::config;
use support::planning::{self, Task};
use support::request::plain;
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
      parameters: [{name: start, in: query, required: true, schema: {type: string}}]
      responses:
        "200":
          description: The rooms.
          content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Room"}}}}
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
              required: [person_id, room_id, start]
              properties: {person_id: {type: string}, room_id: {type: string}, start: {type: string, description: When it begins.}}
      responses: {"201": {description: Booked.}}
components:
  schemas:
    Person: {type: object, properties: {id: {type: string}, name: {type: string}}}
    Room: {type: object, properties: {id: {type: string}, name: {type: string}}}
"##;

const RULES: &str =
    "recall: {group: office}\nexecute:\n  rules:\n    - {methods: [POST], tools: [\"office/*\"], permission: allow}\n";

/// A meeting of somebody at some time.
fn meeting(person: &'static str, start: &'static str, words: &'static str) -> Task {
    let start = |tool| (tool, "start", json!(start), words);
    Task {
        goals: vec![("bookRoom", "book a room")],
        values: vec![start("bookRoom"), start("findRooms"), ("findPeople", "name", json!(person), person)],
        outputs: vec![
            ("bookRoom", "person_id", "findPeople", "/0/id", Some("choose")),
            ("bookRoom", "room_id", "findRooms", "/0/id", Some("choose")),
        ],
        choice: Some(1),
    }
}

async fn upstream() -> Server {
    let task = |asked: &Value| match asked["conversation"].to_string().contains("Jill") {
        true => meeting("Jill", "11:00", "at 11"),
        false => meeting("Jack", "09:00", "at 9"),
    };
    planning::upstream(task, |_, received| script(received)).await
}

/// The last word of a conversation, or an answer about the outline of one.
fn script(received: &Received) -> Reply {
    let system = received.messages()[0]["content"].as_str().unwrap_or_default().to_owned();
    let steps = |step: &str| answer::text(&json!({"steps": [step]}).to_string());
    let kinds: [(&str, &dyn Fn() -> Reply); 5] = [
        ("Say how to do", &|| steps("Find the person")),
        ("Find out what", &|| answer::text(r#"{"outline": [], "questions": ["How is a room booked?"]}"#)),
        ("Answer `question`", &|| answer::text(r#"{"answer": "With the id of a person."}"#)),
        ("`steps` are a draft", &|| steps("Find the person, then book")),
        ("Review `steps`", &|| answer::text(r#"{"edits": []}"#)),
    ];
    let asked = kinds.iter().find(|(begin, _)| system.starts_with(begin));
    asked.map_or_else(|| answer::text("It is booked."), |(_, reply)| reply())
}

fn api(received: &Received) -> Reply {
    let json = match received.target.split('?').next().unwrap() {
        "/people" => json!([{"id": "P17", "name": "Jill"}, {"id": "P18", "name": "Jack"}]),
        "/rooms" => json!([{"id": "R71", "name": "Oslo"}, {"id": "R72", "name": "Rome"}]),
        _ => return Reply::json(201, &json!({"booked": received.json()})),
    };
    Reply::json(200, &json)
}

async fn office(upstream: &Server, api: &Server, rules: &str) -> Proxy {
    let file = policy::file("ruled", &format!("{RULES}{rules}"));
    let config = config(&upstream.url("/v1"))
        + "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n"
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"office\"]\n"
        + &format!("[toolsets.office]\ndocument = \"office.yaml\"\nbase_url = \"{}\"\n", api.url(""))
        + &policy::table("ruled");
    Proxy::start_with_files(config, &[("office.yaml", DOCUMENT), ("policies/ruled.yaml", &file)]).await
}

fn ask(messages: &Value) -> Value {
    let mut request = plain("");
    (request["model"], request["messages"]) = (json!("helper"), messages.clone());
    request
}

fn said(text: &str) -> Value {
    ask(&json!([{"role": "user", "content": text}]))
}

/// Stops the proxy, has somebody vouch for its turns, and starts a fresh process on the same store, under these further rules.
async fn learned(proxy: Proxy, rules: &str) -> Proxy {
    // All traces are on disk once it has stopped.
    let proxy = proxy.stop().await.start_again().await;
    let traces = proxy.traces().await;
    let stopped = proxy.stop().await;
    let lines: Vec<String> = traces.iter().map(Value::to_string).collect();
    std::fs::write(stopped.directory().join("traces.jsonl"), lines.join("\n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
    command.args(["learn", "procedures", "--vouched", "--traces", "traces.jsonl"]).current_dir(stopped.directory());
    let output = command.env_clear().output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.contains("1 new procedures"), "{told}");
    let file = policy::file("ruled", &format!("{RULES}{rules}"));
    std::fs::write(stopped.directory().join("policies/ruled.yaml"), file).unwrap();
    stopped.start_again().await
}

#[tokio::test]
async fn a_recurring_request_is_planned_by_one_question_in_a_fresh_process() {
    let (upstream, api) = (upstream().await, Server::scripted(|_, received| api(received)).await);
    let proxy = office(&upstream, &api, "").await;
    proxy.client().chat(&said("Book a room for Jack at 9")).await.ok();
    // The selection, three completions, and the choice of a room.
    assert_eq!(planning::split(&upstream).0.len(), 5);
    proxy.metric_reaches("plans_total", &[("result", "complete")], 1.0).await;
    let proxy = learned(proxy, "").await;

    upstream.take_received();
    api.take_received();
    let answer = proxy.client().chat(&said("Please book a room for Jill at 11")).await;
    assert_eq!(answer.message()["content"], "It is booked.");
    let (questions, others) = planning::split(&upstream);
    // The inputs, and the choice.
    assert_eq!((questions.len(), others.len()), (2, 1), "{questions:#?}");
    let inputs: Vec<&Value> =
        questions[0]["known"]["inputs"].as_array().unwrap().iter().map(|input| &input["name"]).collect();
    assert_eq!(inputs, ["name", "start"]);
    assert!(!questions[0]["known"].to_string().contains("Jack"), "{:#}", questions[0]);
    let booked = api.received().into_iter().find(|received| received.method == "POST").unwrap().json();
    assert_eq!(booked, json!({"person_id": "P17", "room_id": "R71", "start": "11:00"}));

    let trace =
        proxy.traces_after_stop().await.into_iter().find(|trace| trace["plan"]["procedure"].is_string()).unwrap();
    assert_eq!(trace["plan"]["cost"]["requests"], 2);
    assert_eq!(trace["memory"]["procedures"][0]["id"], trace["plan"]["procedure"]);
}

#[tokio::test]
async fn an_outline_stands_behind_the_message_that_asks_and_is_charged_to_the_turn() {
    let (upstream, api) = (upstream().await, Server::scripted(|_, received| api(received)).await);
    let proxy = office(&upstream, &api, "").await;
    proxy.client().chat(&said("Book a room for Jack at 9")).await.ok();
    proxy.metric_reaches("plans_total", &[("result", "complete")], 1.0).await;
    let proxy = learned(proxy, "procedures: always\nplan: off").await;

    upstream.take_received();
    let text = "Book a room for Jill at 11";
    proxy.client().chat(&said(text)).await.ok();
    let asked = upstream.take_received();
    let kinds: Vec<String> = asked
        .iter()
        .map(|received| received.messages()[0]["content"].as_str().unwrap().chars().take(10).collect())
        .collect();
    assert_eq!(kinds, ["Say how to", "Find out w", "Answer `qu", "`steps` ar", "Review `st", "Book a roo"]);
    let shown = asked[5].messages()[0]["content"].as_str().unwrap().to_owned();
    assert!(shown.starts_with(text) && shown.ends_with("\n1. Find the person, then book"), "{shown}");

    // It stays where it is, and is not made again for the same message.
    let next = json!([{"role": "user", "content": text}, {"role": "assistant", "content": "It is booked."}, {"role": "user", "content": "Thanks!"}]);
    proxy.client().chat(&ask(&next)).await.ok();
    let later = upstream.take_received().pop().unwrap();
    assert_eq!(later.messages()[0]["content"], shown.as_str());

    let traces = proxy.traces_after_stop().await;
    let is_outlined = |trace: &&Value| trace["memory"]["procedures"][0]["id"].is_string() && trace["plan"].is_null();
    let trace = traces.iter().find(is_outlined).unwrap();
    let purposes: Vec<&str> =
        trace["attempts"].as_array().unwrap().iter().map(|attempt| attempt["purpose"].as_str().unwrap()).collect();
    assert_eq!(purposes, ["procedure", "procedure", "procedure", "procedure", "procedure", "first"]);
}

#[tokio::test]
async fn nothing_is_asked_where_nothing_was_learned_or_policy_wants_none() {
    let (upstream, api) = (upstream().await, Server::scripted(|_, received| api(received)).await);
    let proxy = office(&upstream, &api, "procedures: always\nplan: off").await;
    proxy.client().chat(&said("Book a room for Jack at 9")).await.ok();
    assert_eq!(upstream.take_received().len(), 1);
    drop(proxy);
    let proxy = office(&upstream, &api, "").await;
    proxy.client().chat(&said("Book a room for Jack at 9")).await.ok();
    proxy.metric_reaches("plans_total", &[("result", "complete")], 1.0).await;
    let proxy = learned(proxy, "procedures: off").await;
    upstream.take_received();
    proxy.client().chat(&said("Book a room for Jill at 11")).await.ok();
    assert_eq!(planning::split(&upstream).0.len(), 5, "a plan is drawn as ever");
}
