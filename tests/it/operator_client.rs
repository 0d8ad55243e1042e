//! Verbs that talk to the operator side of a running proxy: `traces`, `approvals`, `lessons`.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::Output;

use crate::support::answer::{self, one_call};
use crate::support::config::config_with_server;
use crate::support::request::plain;
use crate::support::verb::{command, json_lines};
use crate::support::{Proxy, Server, guarded, policy, rooms};
use serde_json::{Value, json};

const TOKEN: &str = "operator-canary";
const BOOKING: &str = r#"{"room":"Amber","from":"2026-03-01T09:00:00Z","hours":2}"#;

/// Runs a verb for a proxy while it responds.
async fn run(proxy: &Proxy, arguments: &[&str]) -> Output {
    let operator = proxy.operator().url("").trim_start_matches("http://").to_owned();
    let (directory, mut all): (PathBuf, Vec<String>) =
        (proxy.directory().to_owned(), arguments.iter().map(|text| (*text).to_owned()).collect());
    all.extend(["--operator".to_owned(), operator, "--config".to_owned(), "callwright.toml".to_owned()]);
    let run = move || command(&directory, &all.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap();
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// Returns the standard output of a verb that succeeds.
async fn told(proxy: &Proxy, arguments: &[&str]) -> String {
    let said = run(proxy, arguments).await;
    assert!(said.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

async fn lines(proxy: &Proxy, arguments: &[&str]) -> Vec<Value> {
    json_lines(told(proxy, &[arguments, &["--format", "json"]].concat()).await.as_bytes())
}

/// A proxy with an operator token that has stored these turns.
async fn proxy_with_turns(questions: &[&str]) -> (Server, Proxy) {
    let upstream = Server::always(answer::text("hi")).await;
    let server = format!("operator_token = \"{TOKEN}\"");
    let proxy = Proxy::start(config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", &server)).await;
    for question in questions {
        proxy.client().chat(&plain(question)).await.ok();
    }
    // All traces are stored at the end.
    let proxy = proxy.stop().await.start_again().await;
    (upstream, proxy)
}

#[tokio::test]
async fn traces_are_listed_shown_and_exported() {
    let (_upstream, proxy) = proxy_with_turns(&["one", "two", "three"]).await;
    let listed = lines(&proxy, &["traces", "list"]).await;
    assert_eq!(listed.len(), 3);
    assert_eq!(lines(&proxy, &["traces", "list", "--limit", "2"]).await, listed[..2]);
    assert_eq!(lines(&proxy, &["traces", "list", "--verdict", "text", "--since", "-1h"]).await.len(), 3);
    assert_eq!(lines(&proxy, &["traces", "list", "--until", "-1h"]).await.len(), 0);
    let table = told(&proxy, &["traces", "list"]).await;
    let mut rows = table.lines();
    assert!(rows.next().unwrap().starts_with("TIME "), "{table}");
    let id = listed[0]["id"].as_str().unwrap();
    assert!(rows.next().unwrap().contains(id) && rows.count() == 2, "{table}");
    assert_eq!(told(&proxy, &["traces", "list", "--tool", "none"]).await, "no traces\n");

    let shown: Value = serde_json::from_str(&told(&proxy, &["traces", "show", id, "--format", "json"]).await).unwrap();
    assert_eq!((&shown["id"], &shown["verdict"]), (&json!(id), &json!("text")));
    assert!(told(&proxy, &["traces", "show", id]).await.contains(id));
    for (id, word) in [("unknown", "no trace `unknown`"), ("../approvals", "path is refused")] {
        let said = run(&proxy, &["traces", "show", id]).await;
        let errors = String::from_utf8(said.stderr).unwrap();
        assert!(said.status.code() == Some(1) && errors.contains(word), "{errors}");
    }

    let exported = json_lines(told(&proxy, &["traces", "export"]).await.as_bytes());
    assert!(exported.len() == 3 && exported.iter().all(|trace| trace["attempts"].is_array()), "{exported:#?}");
    told(&proxy, &["traces", "export", "--out", "out.jsonl", "--limit", "1"]).await;
    let file = std::fs::read(proxy.directory().join("out.jsonl")).unwrap();
    assert_eq!(json_lines(&file), exported[..1]);
}

#[tokio::test]
async fn the_token_of_the_configuration_or_of_a_file_is_needed() {
    let (_upstream, proxy) = proxy_with_turns(&[]).await;
    let operator = proxy.operator().url("").trim_start_matches("http://").to_owned();
    let directory = proxy.directory().to_owned();
    std::fs::write(directory.join("token"), format!("{TOKEN}\n")).unwrap();
    std::fs::write(directory.join("wrong"), "another\n").unwrap();
    let told = tokio::task::spawn_blocking(move || {
        let ask = |more: &[&str]| {
            let arguments = [&["lessons", "list", "--operator", operator.as_str()], more].concat();
            let said = command(&directory, &arguments).output().unwrap();
            (said.status.code(), String::from_utf8(said.stderr).unwrap())
        };
        [&[][..], &["--token-file", "wrong"], &["--token-file", "token"], &["--token-file", "absent"]].map(ask)
    })
    .await
    .unwrap();
    for (status, errors) in &told[..2] {
        assert!(*status == Some(1) && errors.contains("server.operator_token"), "{errors}");
    }
    assert_eq!(told[2].0, Some(0), "{}", told[2].1);
    assert!(told[3].1.contains("--token-file: absent"), "{}", told[3].1);
    assert!(told.iter().all(|(_, errors)| !errors.contains("canary")));
}

#[tokio::test]
async fn tail_prints_each_trace_once_and_stops_with_its_reader() {
    let (_upstream, proxy) = proxy_with_turns(&["old"]).await;
    let operator = proxy.operator().url("").trim_start_matches("http://").to_owned();
    let arguments = ["traces", "tail", "--format", "json", "--operator", &operator, "--config", "callwright.toml"];
    let mut tail = command(proxy.directory(), &arguments).spawn().unwrap();
    let mut out = BufReader::new(tail.stdout.take().unwrap());
    let (old, mut out) = tokio::task::spawn_blocking(move || (line(&mut out), out)).await.unwrap();
    let ids: Vec<String> = {
        let mut ids = vec![old];
        for question in ["new", "newer"] {
            proxy.client().chat(&plain(question)).await.ok();
            let (new, rest) = tokio::task::spawn_blocking(move || (line(&mut out), out)).await.unwrap();
            ids.push(new);
            out = rest;
        }
        ids
    };
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
    drop(out);
    proxy.client().chat(&plain("unread")).await.ok();
    let ended = guarded("tail ends", tokio::task::spawn_blocking(move || tail.wait_with_output().unwrap()));
    let ended = ended.await.unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// Reads a line and returns the trace's id.
fn line(out: &mut impl BufRead) -> String {
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    serde_json::from_str::<Value>(&line).unwrap()["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn approvals_are_listed_and_decided() {
    let upstream = Server::scripted(|_, received| {
        let last = received.last_message();
        match last["role"].as_str() {
            Some("tool") => answer::text(last["content"].as_str().unwrap()),
            _ => one_call("bookRoom", BOOKING),
        }
    })
    .await;
    let api = Server::always(crate::support::Reply::json(201, &json!({"receipt": 7}))).await;
    let rules = "execute:\n  rules:\n    - {methods: [POST], permission: approve}\n  approval: {mode: notice}\n";
    let file = policy::file("asking", rules);
    let config = rooms::config_of(&upstream, &api) + &policy::table("asking");
    let proxy = Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/asking.yaml", &file)]).await;
    assert_eq!(told(&proxy, &["approvals", "list"]).await, "no calls wait for a decision\n");
    for session in ["a", "b"] {
        let mut request = plain("Book it.");
        request["model"] = json!("helper");
        proxy.client().chat_with(&request, &[("x-callwright-session", session)]).await.ok();
    }
    let pending = lines(&proxy, &["approvals", "list"]).await;
    assert_eq!(pending.len(), 2, "{pending:#?}");
    let table = told(&proxy, &["approvals", "list"]).await;
    assert!(table.starts_with("ID ") && table.contains("bookRoom"), "{table}");
    let [first, second] = [0, 1].map(|index| pending[index]["id"].as_str().unwrap());
    assert!(told(&proxy, &["approvals", "show", first]).await.contains("Amber"));
    let approved = told(&proxy, &["approvals", "approve", first, "--by", "Ada", "--comment", "fine"]).await;
    assert_eq!(approved, format!("{first} (bookRoom) is approved\n"));
    let denied = told(&proxy, &["approvals", "deny", second]).await;
    assert_eq!(denied, format!("{second} (bookRoom) is denied\n"));
    let again = run(&proxy, &["approvals", "approve", second]).await;
    assert!(String::from_utf8(again.stderr).unwrap().contains("already denied") && again.status.code() == Some(1));
    let any = lines(&proxy, &["approvals", "list", "--status", "any"]).await;
    assert_eq!(any.iter().filter(|approval| approval["decided_by"] == "Ada").count(), 1, "{any:#?}");
}

#[tokio::test]
async fn lessons_are_listed_shown_and_retired() {
    let (_upstream, proxy) = proxy_with_turns(&[]).await;
    assert_eq!(told(&proxy, &["lessons", "list"]).await, "no lessons\n");
    let time = "2026-01-01T00:00:00Z";
    let lesson = json!({
        "id": "les_1", "scope": "group:team", "toolset": "weather", "tools": ["get_weather"], "polarity": "negative",
        "key": "the weather", "value": "Name the city.", "author": "composed",
        "evidence": [{"kind": "operator", "at": time}], "created_at": time, "updated_at": time,
    });
    let line = json!({"lesson": lesson}).to_string();
    let stopped = proxy.stop().await;
    let mut import = command(stopped.directory(), &["store", "import"]).spawn().unwrap();
    std::io::Write::write_all(&mut import.stdin.take().unwrap(), line.as_bytes()).unwrap();
    let said = import.wait_with_output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let proxy = stopped.start_again().await;
    let listed = lines(&proxy, &["lessons", "list", "--tool", "get_weather"]).await;
    assert_eq!(listed[0]["id"], "les_1", "{listed:#?}");
    let table = told(&proxy, &["lessons", "list"]).await;
    assert!(table.starts_with("ID ") && table.contains("Name the city."), "{table}");
    assert!(told(&proxy, &["lessons", "show", "les_1"]).await.contains("group:team"));
    assert_eq!(told(&proxy, &["lessons", "retire", "les_1", "--reason", "wrong"]).await, "les_1 is retired\n");
    assert_eq!(lines(&proxy, &["lessons", "list", "--status", "active"]).await.len(), 0);
    assert!(told(&proxy, &["lessons", "show", "les_1"]).await.contains("by an operator: wrong"));
    let unknown = run(&proxy, &["lessons", "show", "les_2"]).await;
    assert!(String::from_utf8(unknown.stderr).unwrap().contains("there is no lesson `les_2`"));
}

/// `callwright policy check | head -1`: the reader goes before the verb writes.
#[test]
fn a_closed_pipe_is_silent() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["policy", "check"][..], &["config", "check"], &["demo"], &["completions", "bash"], &["--help"]]
    {
        let mut child = command(folder.path(), arguments).spawn().unwrap();
        drop(child.stdout.take());
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let status = child.wait().unwrap();
        assert!(errors.is_empty() && status.success(), "{arguments:?}: {status} {errors}");
    }
}

/// Another error of standard output is none of the reader's.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let said = command(folder.path(), &["policy", "check"]).stdout(full).output().unwrap();
    let errors = String::from_utf8(said.stderr).unwrap();
    assert!(said.status.code() == Some(1) && errors.contains("standard output: "), "{errors}");
}
