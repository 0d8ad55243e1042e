//! `callwright plan` as called by a script: toolsets and requests as input, candidates or plans as output, and messages
//! about unusable input.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says why it passes by"
)]

use std::path::{Path, PathBuf};

use crate::support::answer;
use crate::support::reply::Reply;
use crate::support::server::{Received, Server};
use crate::support::verb::{Folder, Said, gunzip, gzip, json_lines, to_lines};
use callwright_test_macros::requires;
use serde_json::{Value, json};

fn rooms() -> Value {
    let text = json!({"type": "string"});
    let takes = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    json!({"id": "rooms", "unknown": 1, "tools": [
        {"name": "book_room", "description": "Books a meeting room for a person.",
            "parameters": takes(json!({"room_id": text, "person_id": text, "start": text}), &["room_id", "person_id"]),
            "output": {"booking_id": text}},
        {"name": "list_rooms", "description": "Lists the free meeting rooms.", "parameters": takes(json!({}), &[]),
            "output": {"type": "array", "items": {"type": "object", "title": "Room", "properties": {"id": text}}}},
        {"name": "find_person", "description": "Finds a person by name.", "parameters": takes(json!({"name": text}), &["name"]),
            "output": {"person_id": {"type": "string", "description": "The id of the person."}, "mail": text}},
        {"name": "bare"},
    ]})
}

fn folder() -> Folder {
    Folder::with(&[("tools.jsonl", &to_lines(&[rooms()]))])
}

fn plan(lines: &[u8], options: &[&str]) -> Said {
    folder().run(&[&["plan", "--candidates", "--tools", "tools.jsonl"], options].concat(), lines)
}

fn asked(id: &str, calls: Option<Value>) -> Value {
    let mut record = json!({"id": id, "query": "Book a meeting room for Jack from 9 to 10", "toolset": "rooms", "gold": ["never read"]});
    if let Some(calls) = calls {
        record["calls"] = calls;
    }
    record
}

#[test]
fn each_record_has_its_line_with_every_arguments_candidates() {
    let said = plan(&to_lines(&[asked("a", None), asked("b", None)]), &["--embedding", "none"]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let [line, other] = said.lines().try_into().unwrap();
    assert_eq!(line.as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "candidates"]);
    assert_eq!((&line["id"], &other["id"], &line["candidates"]), (&json!("a"), &json!("b"), &other["candidates"]));
    let candidates = line["candidates"].as_object().unwrap();
    let keys: Vec<&String> = candidates.keys().collect();
    assert_eq!(keys, ["book_room.room_id", "book_room.person_id", "book_room.start", "find_person.name"]);
    assert_eq!(candidates["book_room.room_id"][0], "list_rooms");
    assert_eq!(candidates["book_room.person_id"][0], "find_person");
    assert!(said.stderr.contains("1 toolsets with 4 tools") && said.stderr.contains("2 requests"), "{}", said.stderr);
}

#[test]
fn known_calls_narrow_the_report_and_unknown_ones_are_counted() {
    let said = plan(&to_lines(&[asked("a", Some(json!(["find_person", "no_such_tool"])))]), &["-k", "1"]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let [line] = said.lines().try_into().unwrap();
    let candidates = line["candidates"].as_object().unwrap();
    assert_eq!(candidates.keys().collect::<Vec<_>>(), ["find_person.name"]);
    assert!(candidates["find_person.name"].as_array().unwrap().len() <= 1);
    assert!(said.stderr.contains("1 calls skipped: their toolset has no tool of that name"), "{}", said.stderr);
}

#[test]
fn details_say_where_the_value_stands_and_why() {
    let said = plan(&to_lines(&[asked("a", None)]), &["--details"]);
    let [line] = said.lines().try_into().unwrap();
    let why = &line["why"]["book_room.room_id"][0];
    assert_eq!((&why["tool"], &why["output"], &why["in_list"]), (&json!("list_rooms"), &json!("/0/id"), &json!(true)));
    let sum: f64 = why["reasons"].as_object().unwrap().values().map(|weight| weight.as_f64().unwrap()).sum();
    assert!((sum - why["score"].as_f64().unwrap()).abs() < 1e-3, "{why}");
}

#[test]
fn an_operators_file_confirms_forbids_and_reports_its_mistakes() {
    let folder = folder();
    let run = |edges: &str| {
        std::fs::write(folder.path("edges.yaml"), edges).unwrap();
        let arguments = ["plan", "--candidates", "--tools", "tools.jsonl", "--edges", "edges.yaml"];
        folder.run(&arguments, &to_lines(&[asked("a", None)]))
    };
    let said = run(
        "confirmed:\n- {from: bare, to: book_room, argument: room_id}\nforbidden:\n- {from: list_rooms, to: book_room}\n",
    );
    let candidates = &said.lines()[0]["candidates"];
    assert_eq!(candidates["book_room.room_id"][0], "bare");
    for argument in ["room_id", "person_id", "start"] {
        let found = candidates[format!("book_room.{argument}")].to_string();
        assert!(!found.contains("list_rooms"), "{argument}: {found}");
    }
    let said = run("confirmed:\n- {from: bare, to: book_room}\n");
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("edges.yaml:2:") && said.stderr.contains("`argument` is missing"), "{}", said.stderr);
}

#[test]
fn lines_and_tools_that_cannot_be_used_are_named_and_left_out() {
    let folder = folder();
    let broken = json!({"id": "broken", "tools": [{"description": "x"}, 7, {"name": "good", "parameters": {"properties": {"a": 1}}}]});
    let tools = [
        to_lines(&[rooms(), broken, rooms(), json!({"tools": []}), json!({"id": "x"}), json!(["x"])]),
        b"no json\n".to_vec(),
    ];
    std::fs::write(folder.path("tools.jsonl"), tools.concat()).unwrap();
    let records = [
        to_lines(&[
            asked("good", None),
            json!({"id": 7, "query": "x", "toolset": "broken"}),
            json!({"query": "x", "toolset": "rooms"}),
            json!({"id": "a", "toolset": "rooms"}),
            json!({"id": "a", "query": "x"}),
            json!({"id": "a", "query": "x", "toolset": "none"}),
            json!({"id": "a", "query": "x", "toolset": "rooms", "calls": "all"}),
        ]),
        b"{\n\xff\n".to_vec(),
    ];
    let said = folder.run(&["plan", "--candidates", "--tools", "tools.jsonl"], &records.concat());
    assert_eq!(said.status, Some(1));
    let lines = said.lines();
    assert_eq!(lines.iter().map(|line| &line["id"]).collect::<Vec<_>>(), [&json!("good"), &json!(7)]);
    assert!(lines[1]["candidates"].as_object().unwrap().contains_key("good.a"), "{}", lines[1]);
    for message in [
        "tools.jsonl:2: /tools/0: there is no `name`",
        "tools.jsonl:2: /tools/1: this is not a tool",
        "tools.jsonl:3: the toolset `rooms` is already defined in an earlier line",
        "tools.jsonl:4: there is no `id`",
        "tools.jsonl:5: there are no `tools`",
        "tools.jsonl:6: the line is not a toolset",
        "tools.jsonl:7: the line is not valid JSON",
        "standard input:3: there is no `id`",
        "standard input:4: there is no `query`",
        "standard input:5: there is no `toolset`",
        "standard input:6: there is no toolset `none`",
        "standard input:7: the line is not a record",
        "standard input:8: the line is not valid JSON",
        "standard input:9: the line is not UTF-8",
        "lines could not be used",
    ] {
        assert!(said.stderr.contains(message), "{message} is missing in:\n{}", said.stderr);
    }
}

#[test]
fn what_makes_no_sense_is_said_with_a_way_out() {
    let folder = folder();
    std::fs::write(folder.path("none.jsonl"), "\n").unwrap();
    for (arguments, status, told) in [
        (&["--candidates", "--tools", "none.jsonl"] as &[&str], 1, "the file contains no toolset"),
        (&["--candidates", "--tools", "missing.jsonl"], 1, "missing.jsonl"),
        (&["--candidates", "--tools", "-"], 1, "standard input cannot be both"),
        (&["--candidates", "--tools", "tools.jsonl", "-k", "0"], 2, "0"),
        (&["--candidates", "--tools", "tools.jsonl", "--edges", "missing.yaml"], 1, "missing.yaml"),
        (&["--candidates", "--tools", "tools.jsonl", "--out", "tools.jsonl"], 1, "would be overwritten"),
    ] {
        let said = folder.run(&[&["plan"], arguments].concat(), b"");
        assert_eq!(said.status, Some(status), "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains(told), "{arguments:?}: {}", said.stderr);
    }
}

#[test]
fn files_may_be_compressed_and_order_is_free_of_threads() {
    let folder = folder();
    let records: Vec<Value> = (0..300).map(|at| asked(&at.to_string(), None)).collect();
    std::fs::write(folder.path("in.jsonl.gz"), gzip(&to_lines(&records))).unwrap();
    let arguments = ["plan", "--candidates", "--tools", "tools.jsonl", "--in", "in.jsonl.gz", "--out", "out.jsonl.gz"];
    let said = folder.run(&arguments, b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let lines = json_lines(&gunzip(&folder.read("out.jsonl.gz")));
    let ids: Vec<&str> = lines.iter().filter_map(|line| line["id"].as_str()).collect();
    assert_eq!(ids, (0..300).map(|at| at.to_string()).collect::<Vec<_>>());
}

/// bench/plans/run measures the published recall; this test detects regressions.
#[requires("data/plans")]
#[test]
fn shared_data_candidates_are_right_often_enough() {
    let shared = std::env::var_os("CALLWRIGHT_SHARED_DATA").map(PathBuf::from);
    let data = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared")).join("data/plans");
    let read = |name: &str| json_lines(&std::fs::read(data.join(name)).unwrap());
    let records = read("nestful.dev.jsonl");
    let asked: Vec<Value> = records
        .iter()
        .map(|record| json!({"id": record["id"], "query": record["query"], "toolset": record["toolset"]}))
        .step_by(4)
        .collect();
    let tools = data.join("nestful.tools.jsonl");
    let said = folder()
        .run(&["plan", "--candidates", "--embedding", "none", "--tools", tools.to_str().unwrap()], &to_lines(&asked));
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let (mut all, mut first, mut among) = (0, 0, 0);
    for (record, line) in records.iter().step_by(4).zip(said.lines()) {
        let gold = record["gold"].as_array().unwrap();
        for call in gold {
            for (argument, value) in call["arguments"].as_object().unwrap() {
                let wanted: Vec<&Value> =
                    gold.iter().filter(|other| refers_to(value, &other["label"])).map(|other| &other["name"]).collect();
                if wanted.is_empty() {
                    continue;
                }
                let key = format!("{}.{argument}", call["name"].as_str().unwrap());
                let found = line["candidates"][&key].as_array().cloned().unwrap_or_default();
                assert!(found.len() <= 5);
                all += 1;
                first += usize::from(found.first().is_some_and(|name| wanted.contains(&name)));
                among += usize::from(found.iter().any(|name| wanted.contains(&name)));
            }
        }
    }
    assert!(all > 20 && first * 100 >= all * 60 && among * 100 >= all * 85, "{first} and {among} of {all}");
}

/// Whether a value refers to the call with this label, as in `$var1.id$`.
fn refers_to(value: &Value, label: &Value) -> bool {
    let label = label.as_str().unwrap_or_default();
    let text = value.to_string();
    !label.is_empty() && [".", "[", "$"].iter().any(|end| text.contains(&format!("${label}{end}")))
}

/// A model that books a room for a known person, at a provider without structured outputs.
fn planner(request: &Received) -> Reply {
    if request.json().get("response_format").is_some() {
        return Reply::json(400, &json!({"error": {"message": "response_format is not supported"}}));
    }
    let data: Value = serde_json::from_str(request.messages()[1]["content"].as_str().unwrap()).unwrap();
    let value = |name: &str, value: &str| json!({"name": name, "source": "value", "value": value, "words": value});
    let taken = |name: &str, call: &str, output: &str| json!({"name": name, "source": "tool", "outputs": [{"call": call, "output": output}]});
    let said = match data["wanted"]["tool"].as_str() {
        None => json!({"goals": [{"tool": "book_room", "task": "book it"}]}),
        Some("book_room") => json!({
            "calls": [{"call": "r", "tool": "list_rooms", "task": "free rooms"}, {"call": "p", "tool": "find_person", "task": "Jack"}],
            "arguments": [taken("room_id", "r", "/0/id"), taken("person_id", "p", "/person_id"), value("start", "9")],
        }),
        Some(_) => json!({"arguments": [{"name": "name", "source": "ask", "question": "Which Jack?"}]}),
    };
    answer::text(&said.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_draws_the_plan_of_each_record() {
    let upstream = Server::scripted(|_, request| planner(request)).await;
    let folder = folder();
    let config = format!("{}api_key = \"sk-secret\"\n", crate::support::config(&upstream.url("/v1")));
    std::fs::write(folder.path("callwright.toml"), config).unwrap();
    let said = tokio::task::spawn_blocking(move || {
        let options = [
            "plan", "--model", "gpt-test", "--tools", "tools.jsonl", "--embedding", "none", "--details", "--jobs", "1",
        ];
        folder.run(&options, &to_lines(&[asked("a", None), json!({"id": "b"})]))
    });
    let said = said.await.unwrap();
    assert_eq!(said.status, Some(1), "{}", said.stderr);
    let [line] = said.lines().try_into().unwrap_or_else(|lines| panic!("{lines:?} {}", said.stderr));
    assert_eq!(
        line["plan"],
        json!([
            {"name": "list_rooms", "arguments": {}, "label": "call1"},
            {"name": "find_person", "arguments": {}, "label": "call2"},
            {"name": "book_room", "arguments": {"room_id": "$call1[?].id$", "person_id": "$call2.person_id$", "start": "9"}, "label": "call3"},
        ])
    );
    assert_eq!(line["missing"], json!([{"label": "call2", "argument": "name", "question": "Which Jack?"}]));
    assert_eq!(
        (&line["spent"]["selection"]["requests"], &line["spent"]["completion"]["requests"]),
        (&json!(2), &json!(2))
    );
    assert!(said.stderr.contains("1 plans with 3 calls, 1 of them with a question"), "{}", said.stderr);
    assert!(said.stderr.contains("there is no `query`") && !said.stderr.contains("sk-secret"), "{}", said.stderr);
    let asked = upstream.received();
    assert_eq!(asked.len(), 4, "a form that is refused is not sent again");
    assert!(asked.iter().all(|request| request.json()["temperature"] == json!(0.1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn tries_count_among_the_requests_of_a_plan() {
    let upstream = Server::scripted(|number, request| match number {
        0 => planner(request),
        1 => Reply::body(429, &[("retry-after", "0")], "{}"),
        _ => planner(request),
    });
    let upstream = upstream.await;
    let folder = folder();
    std::fs::write(folder.path("callwright.toml"), crate::support::config(&upstream.url("/v1"))).unwrap();
    let said = tokio::task::spawn_blocking(move || {
        std::fs::write(folder.path("policy.yaml"), "limits: {plan_requests: 2}").unwrap();
        let options = ["plan", "--model", "gpt-test", "--tools", "tools.jsonl", "--policy", "policy.yaml"];
        folder.run(&options, &to_lines(&[asked("a", None)]))
    });
    let said = said.await.unwrap();
    assert_eq!((said.status, upstream.received().len()), (Some(1), 2), "{}", said.stderr);
    assert!(said.stderr.contains("no answer within the remaining 2 requests"), "{}", said.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_are_asked_for_one_by_one_where_that_is_wanted() {
    let upstream = Server::scripted(|_, request| planner(request)).await;
    let folder = folder();
    std::fs::write(folder.path("callwright.toml"), crate::support::config(&upstream.url("/v1"))).unwrap();
    let said = tokio::task::spawn_blocking(move || {
        let options = ["plan", "--model", "gpt-test", "--tools", "tools.jsonl", "--embedding", "none", "--completion"];
        folder.run(&[&options[..], &["one-by-one"]].concat(), &to_lines(&[asked("a", None)]))
    });
    said.await.unwrap();
    let wanted = upstream.received().into_iter().filter_map(|request| {
        let data: Value = serde_json::from_str(request.messages()[1]["content"].as_str()?).ok()?;
        let names = data["wanted"]["arguments"].as_array()?.iter().map(|argument| argument["name"].clone());
        Some((data["wanted"]["tool"].clone(), names.collect::<Vec<_>>()))
    });
    let mut wanted: Vec<_> = wanted.map(|(tool, names)| (tool.to_string(), Value::from(names).to_string())).collect();
    wanted.dedup();
    let expected =
        [("book_room", "room_id"), ("book_room", "person_id"), ("book_room", "start"), ("find_person", "name")];
    assert_eq!(wanted, expected.map(|(tool, name)| (format!("\"{tool}\""), format!("[\"{name}\"]"))));
}

#[test]
fn without_candidates_a_model_has_to_be_named() {
    let said = folder().run(&["plan", "--tools", "tools.jsonl"], b"");
    assert_eq!(said.status, Some(2), "{}", said.stderr);
    assert!(said.stderr.contains("--candidates") || said.stderr.contains("--model"), "{}", said.stderr);
}

#[test]
fn whether_a_plan_is_needed_is_told_with_its_reason() {
    let record = |id: &str, query: &str| json!({"id": id, "query": query, "toolset": "rooms"});
    let given = "Book the room with the room_id r_17 for the person_id p_3";
    let lines = [
        record("needed", "Book the room for Jack from 9 to 10"),
        record("given", given),
        record("none", "Which rooms are free?"),
    ];
    let said = folder().run(&["plan", "--auto", "--embedding", "none", "--tools", "tools.jsonl"], &to_lines(&lines));
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    let [needed, given, none] = said.lines().try_into().unwrap();
    assert_eq!((&needed["plan_needed"], &needed["why"]["tool"]), (&json!(true), &json!("book_room")), "{needed}");
    assert!(needed["why"]["producer"]["reasons"].is_object(), "{needed}");
    assert_eq!(given, json!({"id": "given", "plan_needed": false}));
    assert_eq!(none, json!({"id": "none", "plan_needed": false}));
    assert!(said.stderr.contains("1 of them need a plan"), "{}", said.stderr);
}
