//! The process is killed at random moments while it responds, and restarted with the same store. The traces of all
//! turns that ended some time before the kill are stored exactly once.
//!
//! `CALLWRIGHT_KILLS` sets the number of kills.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::answer::{self, one_call, text};
use crate::support::config::config_with_store_keys;
use crate::support::postgres::Postgres;
use crate::support::request::plain;
use crate::support::{Proxy, Received, Reply, Server, guarded, rooms};
use callwright_test_macros::requires;
use fastrand::Rng;
use serde_json::{Value, json};
use sqlx::ConnectOptions;

/// Default number of kills.
const KILLS: usize = 6;

/// Number of concurrent clients.
const CLIENTS: usize = 4;

/// Turns that ended this long before the kill must be stored.
const PROMISED: Duration = Duration::from_secs(1);

/// Maximum lifetime of a process in milliseconds, in addition to [`PROMISED`].
const LIFE: u64 = 1_500;

/// Random seed of the moments of the kills.
const SEED: u64 = 20_261;

fn kills() -> usize {
    std::env::var("CALLWRIGHT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

/// Sequence of a client's requests.
type Requests = fn(usize) -> Value;

fn hello(_: usize) -> Value {
    plain("Hello")
}

/// Sends requests until the proxy is gone. Returns the ids of the turns and the times of their responses.
async fn ask_on(base: String, requests: Requests) -> Vec<(String, Instant)> {
    let client = reqwest::Client::builder().no_proxy().timeout(crate::support::GUARD).build().unwrap();
    let mut answered = Vec::new();
    for request in (0..).map(requests) {
        let sent = client.post(format!("{base}/v1/chat/completions")).json(&request).send().await;
        let Ok(response) = sent else { return answered };
        let Some(trace) = response.headers().get("x-callwright-trace") else { return answered };
        let trace = trace.to_str().unwrap().to_owned();
        if response.bytes().await.is_err() {
            return answered;
        }
        answered.push((trace, Instant::now()));
    }
    answered
}

/// Kills the proxy at a random moment under load. Returns the traces that must be stored, and the stopped proxy.
async fn kill(
    mut proxy: Proxy,
    requests: Requests,
    moments: &mut Rng,
) -> (Vec<String>, crate::support::proxy::Stopped) {
    let base = proxy.client().url("");
    let clients: Vec<_> = (0..CLIENTS).map(|_| tokio::spawn(ask_on(base.clone(), requests))).collect();
    tokio::time::sleep(PROMISED + Duration::from_micros(moments.u64(0..LIFE * 1_000))).await;
    proxy.kill();
    let killed = Instant::now();
    let stopped = proxy.ended().await;
    let answered = guarded("the clients of a killed proxy", futures_util::future::join_all(clients)).await;
    let promised =
        answered.into_iter().flat_map(Result::unwrap).filter(|(_, at)| killed.duration_since(*at) > PROMISED);
    (promised.map(|(trace, _)| trace).collect(), stopped)
}

fn assert_once(stored: &[String], promised: &BTreeSet<String>) {
    let distinct: BTreeSet<&String> = stored.iter().collect();
    assert_eq!(stored.len(), distinct.len(), "a trace is there twice");
    let missing: Vec<_> = promised.iter().filter(|trace| !distinct.contains(trace)).collect();
    assert!(missing.is_empty(), "{} of {} traces are not there: {missing:?}", missing.len(), promised.len());
    assert!(!promised.is_empty(), "the kills prove nothing");
}

async fn in_file(directory: &Path) -> Vec<String> {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(directory.join("traces.sqlite3"));
    let mut connection = options.connect().await.unwrap();
    sqlx::query_scalar("SELECT id FROM traces").fetch_all(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn traces_outlive_the_process_in_a_file() {
    let upstream = Server::always(answer::text("hi")).await;
    let config = config_with_store_keys(&upstream.url("/v1"), "sqlite:traces.sqlite3", "");
    let (mut proxy, mut moments) = (Proxy::start(config).await, Rng::with_seed(SEED));
    let mut promised = BTreeSet::new();
    for _ in 0..kills() {
        let (answered, stopped) = kill(proxy, hello, &mut moments).await;
        promised.extend(answered);
        proxy = stopped.start_again().await;
        assert_eq!(proxy.operator().get("/readyz").await.json()["degraded"], serde_json::json!([]));
    }
    let stopped = proxy.stop().await;
    let stored = in_file(stopped.directory()).await;
    assert_once(&stored, &promised);
    anstream::println!("{} kills: {} traces promised, {} stored", kills(), promised.len(), stored.len());
}

/// The database is also stopped and restarted, so that at the kill traces wait on disk or are being written back.
#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn traces_outlive_the_process_while_the_database_comes_and_goes() {
    let mut server = Postgres::start();
    let upstream = Server::always(answer::text("hi")).await;
    let url = server.database();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let config = config_with_store_keys(&upstream.url("/v1"), &url, "retry_seconds = 1");
    let (mut proxy, mut moments) = (Proxy::start(config).await, Rng::with_seed(SEED));
    let (mut promised, mut is_up) = (BTreeSet::new(), true);
    for _ in 0..kills() {
        let killing = kill(proxy, hello, &mut moments);
        let change = async {
            tokio::time::sleep(PROMISED / 4).await;
            if is_up {
                server.stop()
            } else {
                server.start_again()
            };
        };
        let ((answered, stopped), ()) = tokio::join!(killing, change);
        is_up = !is_up;
        promised.extend(answered);
        proxy = stopped.start_again().await;
    }
    if !is_up {
        server.start_again();
    }
    let stored =
        || -> Vec<String> { server.ask(&database, "SELECT id FROM traces").lines().map(str::to_owned).collect() };
    guarded("what is on disk is written back", async {
        while !promised.is_subset(&stored().into_iter().collect()) {
            tokio::time::sleep(crate::support::POLL).await;
        }
    })
    .await;
    proxy.stop().await;
    let stored = stored();
    assert_once(&stored, &promised);
    anstream::println!("{} kills: {} traces promised, {} stored", kills(), promised.len(), stored.len());
}

/// Returns requests for a model that omits an argument. In every second turn the corrected call fails too.
fn rooms_or_room(number: usize) -> Value {
    rooms::ask(if number.is_multiple_of(2) { "All rooms of a floor" } else { "The room that is gone" })
}

/// A model that omits an argument, adds it after the feedback, and then answers with text.
fn forgetful(_: usize, request: &Received) -> Reply {
    let messages = request.messages();
    let user = messages.iter().rposition(|message| message["role"] == "user").unwrap();
    let is_all = messages[user]["content"].as_str().unwrap().starts_with("All");
    let told = messages[user..].iter().filter(|message| message["role"] == "tool").count();
    match (is_all, told) {
        (true, 0) => one_call("listRooms", "{}"),
        (true, 1) => one_call("listRooms", r#"{"floor": 5}"#),
        (false, 0) => one_call("getRoom", "{}"),
        (false, 1) => one_call("getRoom", r#"{"room": "gone"}"#),
        _ => text("That is all."),
    }
}

/// The process is killed while it learns: nothing is learned from unverified turns, and every lesson is based on stored
/// turns.
#[tokio::test(flavor = "multi_thread")]
async fn lessons_outlive_the_process_and_rest_on_verified_turns_alone() {
    let upstream = Server::scripted(forgetful).await;
    let api = Server::scripted(|_, request| {
        let is_room = request.target.starts_with("/rooms/");
        Reply::json(if is_room { 404 } else { 200 }, &json!({"rooms": ["blue"]}))
    })
    .await;
    let mut moments = Rng::with_seed(SEED);
    let mut proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let mut promised = BTreeSet::new();
    for _ in 0..kills() {
        let (answered, stopped) = kill(proxy, rooms_or_room, &mut moments).await;
        promised.extend(answered);
        proxy = stopped.start_again().await;
    }
    proxy.metric_reaches("lessons", &[], 1.0).await;
    let stopped = proxy.stop().await;
    let stored = in_file(stopped.directory()).await;
    assert_once(&stored, &promised);
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(stopped.directory().join("traces.sqlite3"));
    let mut connection = options.connect().await.unwrap();
    let lessons: Vec<String> = sqlx::query_scalar("SELECT document FROM lessons WHERE document IS NOT NULL")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    let lessons: Vec<Value> = lessons.iter().map(|lesson| serde_json::from_str(lesson).unwrap()).collect();
    let evidence = lessons.iter().flat_map(|lesson| lesson["evidence"].as_array().unwrap());
    let mut events = BTreeSet::new();
    for event in evidence {
        let trace = event["trace"].as_str().unwrap();
        assert!(events.insert(trace), "{trace} counts twice");
        assert!(stored.iter().any(|stored| stored == trace), "{trace} is not stored");
    }
    assert!(lessons.iter().all(|lesson| lesson["tools"] == json!(["listRooms"])), "{lessons:?}");
    anstream::println!("{} kills: {} lessons, {} events", kills(), lessons.len(), events.len());
}
