//! `callwright learn procedures` and `callwright procedures`: learning from recorded turns, kept in the configured
//! store.

use crate::support::verb::{Folder, Said};
use serde_json::{Value, json};

const CONFIG: &[u8] = b"[store]\nurl = 'sqlite:memory.sqlite3'\n";

/// Returns a turn that called `tool` for a person; `backing` is its verification.
fn turn(id: &str, tool: &str, backing: &Value, returned: &Value) -> String {
    let argument = |name: &str, source: Value| json!({"name": name, "source": source});
    let output = json!({"output": {"node": "step1", "output": "/id", "item": "whole"}});
    let node = |label: &str, tool: &str, argument: Value| json!({"label": label, "tool": tool, "task": "", "arguments": [argument]});
    let plan = json!({"nodes": [
        node("step1", "find_person", argument("name", json!({"missing": {"question": "name"}}))),
        node("step2", tool, argument("person_id", output))], "finals": ["step2"]});
    let workflow = json!({"toolsets": ["rooms"], "client_tools": [], "input": [{"name": "name", "description": "Whom."}], "output": format!("What {tool} gives\u{1b}[2J"),
        "steps": ["find_person: name given", format!("{tool}: person_id from step 1's /id")], "plan": plan, "backing": backing});
    json!({"id": id, "tenant": "jill", "session": "s", "started_at": "2026-01-01T00:00:00Z", "endpoint": "", "model": "", "upstream": "", "policy": "",
        "mode": "guard", "stream": false, "status": 200, "verdict": "clean", "tools_offered": [], "attempts": [], "executions": [],
        "record": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, "duration_ms": 0.0, "overhead_ms": 0.0,
        "memory": {"scope": "group:a", "workflow": workflow, "returned": returned}})
    .to_string()
}

fn folder(turns: &[String]) -> Folder {
    Folder::with(&[("callwright.toml", CONFIG), ("traces.jsonl", turns.join("\n").as_bytes())])
}

fn learn(folder: &Folder, more: &[&str]) -> Said {
    folder.run(&[["learn", "procedures", "--traces", "traces.jsonl"].as_slice(), more].concat(), b"")
}

fn listed(folder: &Folder, more: &[&str]) -> Vec<Value> {
    let said = folder.run(&[["procedures", "list", "--format", "json"].as_slice(), more].concat(), b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    said.lines()
}

#[test]
fn verified_turns_become_procedures_to_list_show_and_remove() {
    let (seen, verdict, awaits) = (json!("seen"), json!("verdict"), json!({"awaits": ["c1"]}));
    let back = json!([{"call": "c1", "tool": "book_room"}]);
    let folder = folder(&[
        turn("t1", "book_room", &seen, &json!([])),
        turn("t2", "cancel_room", &verdict, &json!([])),
        turn("t3", "move_room", &awaits, &json!([])),
        turn("t4", "book_room", &seen, &back),
    ]);
    let said = learn(&folder, &[]);
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("4 turns, 4 with several connected calls, 1 of them not verified"), "{}", said.stderr);
    assert!(said.stderr.contains("2 new procedures, 0 known procedures changed"), "{}", said.stderr);

    let all = listed(&folder, &[]);
    assert_eq!(all.len(), 2);
    let booking = listed(&folder, &["--tool", "book_room", "--scope", "group:a", "--status", "active"]);
    assert_eq!(booking[0]["evidence"].as_array().unwrap().len(), 2, "learned twice, it rests on two turns");
    assert!(listed(&folder, &["--scope", "group:b"]).is_empty());

    let id = booking[0]["id"].as_str().unwrap();
    let shown = folder.run(&["procedures", "show", id], b"");
    let text = String::from_utf8(shown.stdout).unwrap();
    for expected in [
        "needs     name: Whom.",
        "step 2    book_room: person_id from step 1's /id",
        "evidence  mended",
        "withheld from 0 turns",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(!text.contains('\u{1b}'), "nothing acts on the terminal");
    let table = folder.run(&["procedures", "list"], b"");
    assert!(String::from_utf8(table.stdout).unwrap().contains("What book_room gives"));

    let removed = folder.run(&["procedures", "rm", id], b"");
    assert_eq!((removed.status, removed.stdout), (Some(0), b"1 removed\n".to_vec()));
    assert_eq!(listed(&folder, &[]).len(), 1);
    let gone = folder.run(&["procedures", "show", id], b"");
    assert!(gone.status == Some(1) && gone.stderr.contains("there is no procedure"), "{}", gone.stderr);
    let again = folder.run(&["procedures", "rm", id], b"");
    assert!(again.status == Some(1) && again.stderr.contains("1 of 1 procedures do not exist"), "{}", again.stderr);
}

#[test]
fn document_workflows_become_procedures_with_that_evidence() {
    let document = json!({
        "openapi": "3.0.3", "info": {"title": "Rooms", "version": "1"}, "servers": [{"url": "https://rooms.example"}],
        "paths": {
            "/rooms": {"get": {"operationId": "listRooms", "description": "Lists the rooms.", "parameters": [
                {"name": "day", "in": "query", "required": true, "schema": {"type": "string"}}],
                "responses": {"200": {"description": "All.", "content": {"application/json": {"schema": {"type": "object",
                    "properties": {"rooms": {"type": "array", "items": {"type": "object",
                        "properties": {"id": {"type": "string"}}}}}}}}}}}},
            "/rooms/{room}": {"post": {"operationId": "bookRoom", "description": "Books a room.", "parameters": [
                {"name": "room", "in": "path", "required": true, "schema": {"type": "string"}}]}}
        }
    })
    .to_string();
    let runbook = b"# Book a free room\n\n1. `GET /rooms` for the `day`\n2. `bookRoom` with `room = step 1 /rooms/0/id`\n\n# Other\n\n1. `dropRooms`\n2. `listRooms`\n";
    let config = b"[store]\nurl = 'sqlite:memory.sqlite3'\n[toolsets.rooms]\ndocument = 'rooms.json'\n";
    let files: [(&str, &[u8]); 3] =
        [("callwright.toml", config), ("rooms.json", document.as_bytes()), ("book.md", runbook)];
    let folder = Folder::with(&files);
    let import = |more: &[&str]| {
        folder.run(&[["procedures", "import", "book.md", "--scope", "group:a"].as_slice(), more].concat(), b"")
    };
    let dry = import(&["--dry-run"]);
    assert!(dry.stderr.contains("1 workflows read, 1 new procedures"), "{}", dry.stderr);
    assert!(listed(&folder, &[]).is_empty());
    let said = import(&[]);
    assert_eq!(said.status, Some(1), "one workflow names an unknown operation");
    assert!(said.stderr.contains("book.md#Other: step `step1` names the operation `dropRooms`"), "{}", said.stderr);
    let all = listed(&folder, &["--scope", "group:a"]);
    assert_eq!((all.len(), &all[0]["output"]), (1, &json!("Book a free room")));
    assert_eq!(all[0]["evidence"][0]["source"], "book.md#Book a free room");
    assert_eq!(all[0]["input"][0]["name"], "day");
    assert!(import(&[]).stderr.contains("0 new procedures, 0 known procedures changed"));
    assert_eq!(folder.run(&["procedures", "import", "book.md", "--scope", "a"], b"").status, Some(2));
}

#[test]
fn what_is_learned_again_is_known_and_a_dry_run_keeps_nothing() {
    let folder = folder(&[turn("t1", "book_room", &json!("seen"), &json!([]))]);
    let dry = learn(&folder, &["--dry-run"]);
    assert!(dry.stderr.contains("1 new procedures"), "{}", dry.stderr);
    assert!(listed(&folder, &[]).is_empty());
    learn(&folder, &[]);
    let again = learn(&folder, &[]);
    assert!(again.stderr.contains("0 new procedures, 0 known procedures changed"), "{}", again.stderr);
    assert_eq!(listed(&folder, &[]).len(), 1);
}

#[test]
fn whoever_vouches_for_turns_verifies_them() {
    let folder = folder(&[turn("t1", "book_room", &json!("verdict"), &json!([]))]);
    learn(&folder, &[]);
    assert!(listed(&folder, &[]).is_empty());
    assert_eq!(learn(&folder, &["--vouched"]).status, Some(0));
    assert_eq!(listed(&folder, &[])[0]["evidence"][0]["kind"], "operator");
}

/// A draft of an earlier version does not record which tools are a client's own, and quotes their texts.
#[test]
fn an_earlier_draft_is_learned_if_the_proxy_ran_all_its_tools() {
    let execution = |tool: &str| {
        json!({"call": {"id": "c1", "name": tool, "arguments": "{}"}, "toolset": "rooms", "operation": "GET /", "outcome": "success",
            "status": 200, "started_ms": 0.0, "duration_ms": 1.0})
    };
    for (ran, expected) in [(vec![], 0), (vec!["find_person"], 0), (vec!["find_person", "book_room"], 1)] {
        let mut turn: Value = serde_json::from_str(&turn("t1", "book_room", &json!("seen"), &json!([]))).unwrap();
        turn["memory"]["workflow"].as_object_mut().unwrap().remove("client_tools");
        turn["executions"] = ran.into_iter().map(execution).collect();
        let folder = folder(&[turn.to_string()]);
        for more in [&[][..], &["--vouched"]] {
            assert_eq!(learn(&folder, more).status, Some(0));
            assert_eq!(listed(&folder, &[]).len(), expected, "{turn}");
        }
    }
}

#[test]
fn lines_that_cannot_be_used_are_named_and_the_others_learned() {
    let folder = folder(&["{\"attempts\": []}".to_owned(), turn("t1", "book_room", &json!("seen"), &json!([]))]);
    let said = learn(&folder, &[]);
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("traces.jsonl:1") && said.stderr.contains("1 of 2 lines"), "{}", said.stderr);
    assert_eq!(listed(&folder, &[]).len(), 1);
}

#[test]
fn without_a_store_it_is_said_what_to_do() {
    let folder = Folder::with(&[("callwright.toml", b"[store]\nurl = ''\n")]);
    for verb in [["procedures", "list"].as_slice(), &["learn", "procedures"]] {
        let said = folder.run(verb, b"");
        assert!(said.status == Some(1) && said.stderr.contains("`store.url`"), "{}", said.stderr);
    }
}

#[test]
fn an_empty_store_teaches_nothing() {
    let folder = Folder::with(&[("callwright.toml", CONFIG)]);
    let said = folder.run(&["learn", "procedures"], b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("0 turns"), "{}", said.stderr);
    assert_eq!(folder.run(&["procedures", "list"], b"").stdout, b"no procedures\n");
}
