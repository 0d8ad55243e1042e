//! Faults of the machine and the database: a full disk, clock changes, and a slow or silent database.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it left out"
)]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::answer::{one_call, text};
use crate::support::config::config_with_store_keys;
use crate::support::postgres::Postgres;
use crate::support::relay::{Line, Relay};
use crate::support::request::with_tools;
use crate::support::rooms::ask;
use crate::support::{GUARD, POLL, Proxy, Server, guarded, policy, rooms};
use callwright_test_macros::requires;
use serde_json::{Value, json};

/// Space for a new database and a few turns.
const SMALL_DISK: &str = "1500k";

/// Space for all turns.
const LARGE_DISK: &str = "64m";

/// Returns a command prefix that mounts a small private file system at `small`. A user namespace is sufficient if the
/// system allows it.
fn with_small_disk() -> Vec<String> {
    let script = format!("mount -t tmpfs -o size={SMALL_DISK} none small && exec \"$@\"");
    let ways: [&[&str]; 2] = [&["unshare", "--mount"], &["unshare", "--user", "--map-root-user", "--mount"]];
    let works = |way: &&&[&str]| {
        let tried = Command::new(way[0]).args(&way[1..]).args(["sh", "-c", "mount -t tmpfs none /mnt"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    let way = ways.iter().find(works).expect("permission to mount a file system");
    [way, &["sh", "-c", &script, "sh"][..]].concat().iter().map(|word| (*word).to_owned()).collect()
}

/// Enlarges the small disk of a running proxy.
fn grow_disk(proxy: &Proxy) {
    let id = proxy.id().to_string();
    let folder = proxy.directory().join("small");
    let mut command = Command::new("nsenter");
    command.args(["--target", &id, "--mount", "mount", "-o", &format!("remount,size={LARGE_DISK}")]).arg(folder);
    let grown = command.output().unwrap();
    assert!(grown.status.success(), "{}", String::from_utf8_lossy(&grown.stderr));
}

#[requires(mount)]
#[tokio::test]
async fn a_full_disk_costs_no_answer_and_room_mends_it() {
    let launcher = with_small_disk();
    let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
    let upstream = Server::scripted(|_, request| {
        let messages = request.messages();
        let last = messages.last().unwrap();
        let order = |hours: u32| {
            let arguments = json!({"room": "blue", "from": "2026-03-01T09:00:00Z", "hours": hours});
            one_call("bookRoom", &arguments.to_string())
        };
        match last["content"].as_str().filter(|_| last["role"] == "user") {
            Some("Book") => order(2),
            Some("Book longer") => order(3),
            _ => text("Done."),
        }
    })
    .await;
    let api = Server::always(crate::support::Reply::json(201, &json!({}))).await;
    let store = "[store]\nurl = \"sqlite:small/traces.sqlite3\"\nspill_dir = \"small/spill\"\nretry_seconds = 1\n";
    let tables = rooms::config_of(&upstream, &api).replace("[store]\nurl = \"sqlite:traces.sqlite3\"\n", store);
    assert!(tables.contains("small/spill"));
    let rules = "record:\n  bodies: true\nexecute:\n  rules:\n    - {methods: [POST], tools: [\"rooms/*\"], permission: allow}\n";
    let files = [rooms::FILES[0], ("small/.keep", ""), ("policies/office.yaml", &policy::file("office", rules))];
    let proxy = Proxy::start_through(&launcher, tables + &policy::table("office"), &files).await;
    proxy.client().chat(&ask("Book")).await.ok();
    assert_eq!(api.received().len(), 1, "there is room for an intent");
    let mut turns = 1;
    let long = "word ".repeat(8_000);
    let filled = async {
        while proxy.metrics_now().await.sum("store_up", &[]) == 1.0 {
            proxy.client().chat(&ask(&long)).await.ok();
            turns += 1;
        }
    };
    guarded("the disk is full", filled).await;
    let ready = proxy.operator().get("/readyz").await;
    assert_eq!(ready.status, 200, "turns are served");
    assert!(ready.text().contains("store"), "{}", ready.text());
    // Freed pages may have space for an intent; then the order may be placed.
    proxy.client().chat(&ask("Book")).await.ok();
    turns += 1;
    let placed = api.received().len();
    grow_disk(&proxy);
    proxy.metric_reaches("store_up", &[], 1.0).await;
    // Another order. If the first order was placed but its outcome could not be stored, the same order is refused,
    // because it may have been placed.
    proxy.client().chat(&ask("Book longer")).await.ok();
    turns += 1;
    assert_eq!(api.received().len(), placed + 1, "orders are placed again");
    let kept = async {
        let mut stored = 0;
        while stored < turns {
            tokio::time::sleep(POLL).await;
            let page = proxy.operator().get("/admin/traces?limit=1000").await.ok();
            stored = page["traces"].as_array().unwrap().len();
        }
        stored
    };
    assert_eq!(guarded("every trace is stored", kept).await, turns);
    assert_eq!(proxy.metrics().await.sum("traces_dropped_total", &[]), 0.0);
    let stopped = proxy.stop().await;
    assert!(!stopped.log().contains("panicked"), "{}", stopped.log());
}

/// Debian's package `faketime`.
const FAKETIME: [&str; 2] =
    ["/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1"];

#[requires(faketime)]
#[tokio::test]
async fn a_clock_that_jumps_costs_no_answer_and_stops_no_learning() {
    let library = FAKETIME.into_iter().find(|path| Path::new(path).exists()).expect("libfaketime");
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("clock");
    // Written atomically, as an editor would, so that the proxy never reads a partial file.
    let set = |offset: &str| {
        std::fs::write(folder.path().join("next"), offset).unwrap();
        std::fs::rename(folder.path().join("next"), &clock).unwrap();
    };
    set("+0d");
    let upstream = Server::scripted(rooms::forgetful).await;
    let api = Server::always(crate::support::Reply::json(200, &json!({"rooms": ["blue"]}))).await;
    let variables = [
        ("LD_PRELOAD", library),
        ("FAKETIME_TIMESTAMP_FILE", clock.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
        // Clock changes do not affect CLOCK_MONOTONIC (clock_gettime(2)).
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let tables = rooms::config_of(&upstream, &api) + "[experience]\nwithhold = 0.0\n";
    let proxy = Proxy::start_with_files_and_environment(tables, &rooms::FILES, &variables).await;
    let jumps = ["+0d", "+400d", "-400d", "+2d", "+0d"];
    for (number, offset) in jumps.into_iter().enumerate() {
        set(offset);
        for turn in 0..3 {
            let answer = proxy.client().chat(&ask(&format!("List the rooms of floor 5, {number} {turn}"))).await;
            assert_eq!(answer.message()["content"], "The blue one.", "at {offset}");
        }
        assert_eq!(proxy.operator().get("/readyz").await.status, 200);
        if number == 0 {
            proxy.metric_reaches("lessons", &[], 1.0).await;
        }
    }
    // Learning continues: new verdicts are counted.
    let listed = async {
        while proxy.operator().get("/admin/traces?limit=1000").await.ok()["traces"].as_array().unwrap().len() < 15 {
            tokio::time::sleep(POLL).await;
        }
    };
    guarded("the traces of all times", listed).await;
    let counted = async {
        loop {
            let lessons = proxy.operator().get("/admin/lessons").await.ok();
            let uses = lessons["items"][0]["tally"]["uses"].as_u64().unwrap_or_default();
            if uses >= 10 {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    };
    guarded("turns behind the jumps are counted", counted).await;
    for trace in proxy.traces().await {
        let took = trace["duration_ms"].as_f64().unwrap();
        assert!((0.0..GUARD.as_secs_f64() * 1000.0).contains(&took), "{took} ms: {}", trace["started_at"]);
    }
    let stopped = proxy.stop().await;
    assert!(!stopped.log().contains("panicked"), "{}", stopped.log());
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_slow_or_silent_holds_no_turn_up() {
    let server = Postgres::start();
    let url = server.database();
    let port: u16 = url.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
    let relay = Relay::to(port).await;
    let upstream = Server::always(one_call("getWeather", r#"{"city": "Oslo"}"#)).await;
    let url = url.replace(&format!(":{port}/"), &format!(":{}/", relay.port()));
    let proxy = Proxy::start(config_with_store_keys(&upstream.url("/v1"), &url, "retry_seconds = 1")).await;
    let mut traces: Vec<Value> = Vec::new();
    let lines = [
        Line::Open,
        Line::Slow(Duration::from_millis(100)),
        Line::Dead,
        Line::Slow(Duration::from_millis(20)),
        Line::Open,
    ];
    for line in lines {
        relay.set(line);
        for _ in 0..5 {
            let answer = proxy.client().chat(&with_tools("What is the weather in Oslo?")).await;
            assert_eq!((answer.status.as_u16(), answer.verdict()), (200, "repaired"), "{line:?}");
            traces.push(json!(answer.header("x-callwright-trace").unwrap()));
        }
        assert_eq!(proxy.operator().get("/readyz").await.status, 200, "{line:?}");
    }
    let database = url.rsplit('/').next().unwrap().to_owned();
    let stored = async {
        while server.ask(&database, "SELECT id FROM traces").lines().count() < traces.len() {
            tokio::time::sleep(POLL).await;
        }
    };
    guarded("every trace is stored", stored).await;
    assert_eq!(server.ask(&database, "SELECT id FROM traces").lines().count(), traces.len(), "each once");
    proxy.stop().await;
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_database_lets_no_order_be_placed_and_hangs_nobody() {
    let server = Postgres::start();
    let url = server.database();
    let port: u16 = url.rsplit(':').next().unwrap().split('/').next().unwrap().parse().unwrap();
    let relay = Relay::to(port).await;
    let upstream = Server::scripted(|_, request| match request.last_message()["role"] == "user" {
        true => one_call("bookRoom", r#"{"room": "blue", "from": "2026-03-01T09:00:00Z", "hours": 2}"#),
        false => text("Done."),
    })
    .await;
    let api = Server::always(crate::support::Reply::json(201, &json!({}))).await;
    let url = url.replace(&format!(":{port}/"), &format!(":{}/", relay.port()));
    let tables = rooms::config_of(&upstream, &api).replace("sqlite:traces.sqlite3", &url);
    let rules = "execute:\n  rules:\n    - {methods: [POST], tools: [\"rooms/*\"], permission: allow}\n";
    let files = [rooms::FILES[0], ("policies/office.yaml", &policy::file("office", rules))];
    let proxy = Proxy::start_with_files(tables + &policy::table("office"), &files).await;
    proxy.client().chat(&ask("Book")).await.ok();
    assert_eq!(api.received().len(), 1);
    relay.set(Line::Dead);
    let answer = guarded("a turn that needs the database", proxy.client().chat(&ask("Book"))).await;
    assert_eq!((answer.status.as_u16(), api.received().len()), (200, 1), "no intent, no order");
    relay.set(Line::Open);
    let placed = async {
        while api.received().len() < 2 {
            proxy.client().chat(&ask("Book")).await.ok();
        }
    };
    guarded("orders are placed again", placed).await;
    proxy.stop().await;
}
