//! Full transcripts of traces.

use serde_json::{Value, json};

use super::{TranscriptPage, ending_lines, turn_lines};
use callwright_types::plan::{Argument, Item, Node, Reference, Source};
use callwright_types::{Plan, Trace};

/// Creates a trace with these attempts, executions, rounds and limit.
fn trace(attempts: &Value, executions: &Value, record: &Value, exhausted: Option<&str>) -> Trace {
    serde_json::from_value(json!({
        "id": "0af7651916cd43dd8448eb211c80319c", "started_at": "2026-06-02T10:00:00Z", "endpoint": "/v1/chat/completions",
        "model": "travel", "upstream": "default", "policy": "demo", "mode": "guard", "stream": false, "status": 200,
        "verdict": "corrected", "tools_offered": ["planRoute"], "attempts": attempts, "executions": executions,
        "record": record, "exhausted": exhausted, "usage": {}, "duration_ms": 12.34, "overhead_ms": 0.56
    }))
    .unwrap()
}

fn attempt(purpose: &str, call: &Value, diagnoses: &Value, repairs: &Value) -> Value {
    json!({
        "purpose": purpose, "upstream": "default", "outcome": "success", "calls": call, "diagnoses": diagnoses,
        "repairs": repairs, "usage": {}, "duration_ms": 1.0
    })
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!([{ "id": id, "name": name, "arguments": arguments }])
}

fn transcript(trace: &Trace) -> String {
    transcript_after(trace, None)
}

fn transcript_after(trace: &Trace, before: Option<&Trace>) -> String {
    let mut out = Vec::new();
    let mut page = TranscriptPage::new(&mut out);
    let lines = [turn_lines(trace, "Here you are.", before), ending_lines(trace)].concat();
    lines.iter().try_for_each(|line| page.line(line)).unwrap();
    anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string()
}

#[test]
fn an_explained_error_is_printed_in_the_order_of_events() {
    let renamed = json!([{ "kind": "tool_renamed", "call": 0, "path": "", "from": "plan_route", "to": "planRoute" }]);
    let attempts = json!([
        attempt("first", &call("a", "plan_route", r#"{"origin":"34.9,135.7"}"#), &json!([]), &renamed),
        attempt("dynamic_feedback", &call("b", "planRoute", r#"{"origin":"135.7,34.9"}"#), &json!([]), &json!([])),
        attempt("tool_results", &json!([]), &json!([]), &json!([])),
    ]);
    let execution = |id: &str, status: u16, outcome: &str, body: &str, explanation: Value| {
        json!({
            "call": { "id": id, "name": "planRoute", "arguments": "{}" }, "toolset": "route-planner",
            "operation": "GET /route", "outcome": outcome, "status": status, "body": body, "explanation": explanation,
            "duration_ms": 1.0
        })
    };
    let passage = json!({ "text": "20000: the longitude precedes the latitude.", "source": "route-planner.yaml#/paths", "score": 3.5 });
    let executions = json!([
        execution("a", 400, "client_error", r#"{"info_code":"20000"}"#, json!({ "passages": [passage] })),
        execution("b", 200, "success", r#"{"routes":[]}"#, Value::Null),
    ]);
    let record = json!([{
        "kind": "dynamic", "action": "planRoute {}", "observation": "It failed.\nThe documentation says why.",
        "thought": "I swap them.", "new_action": "planRoute {}"
    }]);
    insta::assert_snapshot!(transcript(&trace(&attempts, &executions, &record, None)), @r#"
    model      calls plan_route {"origin":"34.9,135.7"}
    found      E2.2 tool_name_literal at the call
    repaired   tool_renamed: "plan_route" → "planRoute"
    api        GET /route → 400 {"info_code":"20000"}
    explained  “20000: the longitude precedes the latitude.”
               (route-planner.yaml#/paths)
    sent back  It failed.
               The documentation says why.
    model      “I swap them.”
    model      calls planRoute {"origin":"135.7,34.9"}
    api        GET /route → 200 {"routes":[]}
    verdict    corrected; 3 requests to the model; 12.3 ms (overhead 0.6 ms)
               trace 0af7651916cd43dd8448eb211c80319c
    "#);
}

#[test]
fn a_used_up_limit_is_printed_with_its_record() {
    let diagnosis = json!([{
        "code": "E4.2", "call": 0, "path": "/mode", "message": "`helicopter` is none of the allowed values", "facts": {}
    }]);
    let insisting =
        |purpose| attempt(purpose, &call("a", "planRoute", r#"{"mode":"helicopter"}"#), &diagnosis, &json!([]));
    let round =
        json!({ "kind": "static", "action": "planRoute {}", "observation": "Choose another mode.\nCall again." });
    let attempts = json!([insisting("first"), insisting("static_feedback")]);
    let text = transcript(&trace(&attempts, &json!([]), &json!([round, round]), Some("static_feedback")));
    insta::assert_snapshot!(text, @r#"
    model      calls planRoute {"mode":"helicopter"}
    found      E4.2 constraint at /mode: `helicopter` is none of the allowed values
    sent back  Choose another mode.
               Call again.
    model      calls planRoute {"mode":"helicopter"}
    found      E4.2 constraint at /mode: `helicopter` is none of the allowed values
    sent back  the same message again
    record     attempts, for the person who takes over
    record     1 to 2. planRoute {}
                  Choose another mode.
    verdict    corrected; 2 requests to the model; 12.3 ms (overhead 0.6 ms)
               trace 0af7651916cd43dd8448eb211c80319c
    "#);
}

/// Creates a plan in which one call finds a room and another books it.
fn plan() -> Plan {
    let room = Reference { node: "call1".to_owned(), output: "/rooms/0/id".into(), item: Item::Chosen };
    let node = |label: &str, tool: &str, name: &str, source| Node {
        label: label.to_owned(),
        tool: tool.to_owned(),
        task: String::new(),
        arguments: vec![Argument { name: name.to_owned(), source }],
    };
    let start = Source::Value { value: json!("09:00"), words: "from 9".to_owned() };
    let nodes =
        vec![node("call1", "findRooms", "start", start), node("call2", "bookRoom", "room_id", Source::Output(room))];
    Plan::new(nodes, vec!["call2".to_owned()]).unwrap()
}

#[test]
fn a_plan_is_printed_once_with_its_calls_choices_and_costs() {
    let step = |id: &str, tool: &str, arguments: &str| json!({ "calls": call(id, tool, arguments) });
    let execution = |id: &str, operation: &str, body: &str| {
        json!({
            "call": { "id": id, "name": "x", "arguments": "{}" }, "toolset": "rooms", "operation": operation,
            "outcome": "success", "status": 200, "body": body, "duration_ms": 1.0
        })
    };
    let attempts = json!([
        attempt("plan", &json!([]), &json!([]), &json!([])),
        attempt("plan", &json!([]), &json!([]), &json!([])),
        attempt("tool_results", &json!([]), &json!([]), &json!([])),
    ]);
    let executions = json!([
        execution("a", "GET /rooms", r#"{"rooms":[{"id":"r-1"},{"id":"r-2"}]}"#),
        execution("b", "POST /bookings", r#"{"id":"b-1"}"#),
    ]);
    let note = json!({
        "result": "complete", "reason": "`room_id` of bookRoom is missing, and findRooms supplies it", "plan": plan(),
        "made": ["call1", "call2"],
        "steps": [step("a", "findRooms", r#"{"start":"09:00"}"#), step("b", "bookRoom", r#"{"room_id":"r-2"}"#)],
        "choices": [{ "call": "call2", "from": "call1", "items": 2, "taken": 1, "by": "model" }],
        "cost": { "requests": 2, "prompt_tokens": 300, "completion_tokens": 20 }
    });
    let mut planned = trace(&attempts, &executions, &json!([]), None);
    planned.plan = Some(serde_json::from_value(note).unwrap());
    insta::assert_snapshot!(transcript(&planned), @r#"
    plan       is drawn: `room_id` of bookRoom is missing, and findRooms supplies it
               call1: findRooms
                 start = "09:00" ("from 9")
               call2: bookRoom (goal)
                 room_id = $call1.rooms[?].id$
    plan       calls findRooms {"start":"09:00"}
    api        GET /rooms → 200 {"rooms":[{"id":"r-1"},{"id":"r-2"}]}
    plan       takes item 2 of 2 of findRooms's answer for bookRoom: the model chose it
    plan       calls bookRoom {"room_id":"r-2"}
    api        POST /bookings → 200 {"id":"b-1"}
    verdict    corrected; 1 request to the model, 2 requests for the plan (320 tokens); 12.3 ms
               (overhead 0.6 ms)
               trace 0af7651916cd43dd8448eb211c80319c
    "#);
    let again = transcript_after(&planned, Some(&planned));
    assert!(again.contains("continues: 2 of 2 calls are done") && !again.contains("is drawn"), "{again}");
    let mut before = planned.clone();
    if let Some(plan) = &mut before.plan {
        plan.plan = Some(Plan::default());
    }
    assert!(transcript_after(&planned, Some(&before)).contains("is drawn again"));
}
