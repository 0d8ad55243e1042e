//! The process is killed at any moment while it answers, and started again on the same store: the traces of all turns that were answered a
//! while before are there, and none twice.
//!
//! `CALLWRIGHT_KILLS` sets the number of kills.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use fastrand::Rng;
use sqlx::ConnectOptions;
use support::answer;
use support::config::config_with_store_keys;
use support::postgres::Postgres;
use support::request::plain;
use support::{Proxy, Server, guarded};

/// Kills, unless the environment says otherwise.
const KILLS: usize = 6;

/// Clients that ask side by side.
const CLIENTS: usize = 4;

/// What was answered this long before the kill must be stored.
const PROMISED: Duration = Duration::from_secs(1);

/// A process lives so long at the most, in milliseconds beyond [`PROMISED`].
const LIFE: u64 = 600;

/// The moments of the kills are drawn from this.
const SEED: u64 = 20_261;

fn kills() -> usize {
    std::env::var("CALLWRIGHT_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS)
}

/// Asks one thing after the other until the proxy is gone; gives the ids of the turns and when they were answered.
async fn ask_on(base: String) -> Vec<(String, Instant)> {
    let client = reqwest::Client::builder().no_proxy().timeout(support::GUARD).build().unwrap();
    let mut answered = Vec::new();
    loop {
        let sent = client.post(format!("{base}/v1/chat/completions")).json(&plain("Hello")).send().await;
        let Ok(response) = sent else { return answered };
        let Some(trace) = response.headers().get("x-callwright-trace") else { return answered };
        let trace = trace.to_str().unwrap().to_owned();
        if response.bytes().await.is_err() {
            return answered;
        }
        answered.push((trace, Instant::now()));
    }
}

/// Kills the proxy at a random moment under load; gives what must be stored, and what is left of the proxy.
async fn kill(mut proxy: Proxy, moments: &mut Rng) -> (Vec<String>, support::proxy::Stopped) {
    let base = proxy.client().url("");
    let clients: Vec<_> = (0..CLIENTS).map(|_| tokio::spawn(ask_on(base.clone()))).collect();
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
        let (answered, stopped) = kill(proxy, &mut moments).await;
        promised.extend(answered);
        proxy = stopped.start_again().await;
        assert_eq!(proxy.operator().get("/readyz").await.json()["degraded"], serde_json::json!([]));
    }
    let stopped = proxy.stop().await;
    let stored = in_file(stopped.directory()).await;
    assert_once(&stored, &promised);
    anstream::println!("{} kills: {} traces promised, {} stored", kills(), promised.len(), stored.len());
}

/// The database goes away and comes back too, so that traces wait on disk when the process is killed, or are just being written back.
#[tokio::test(flavor = "multi_thread")]
async fn traces_outlive_the_process_while_the_database_comes_and_goes() {
    let Some(mut server) = Postgres::start() else { return };
    let upstream = Server::always(answer::text("hi")).await;
    let url = server.database();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let config = config_with_store_keys(&upstream.url("/v1"), &url, "retry_seconds = 1");
    let (mut proxy, mut moments) = (Proxy::start(config).await, Rng::with_seed(SEED));
    let (mut promised, mut is_up) = (BTreeSet::new(), true);
    for _ in 0..kills() {
        let killing = kill(proxy, &mut moments);
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
            tokio::time::sleep(support::POLL).await;
        }
    })
    .await;
    proxy.stop().await;
    let stored = stored();
    assert_once(&stored, &promised);
    anstream::println!("{} kills: {} traces promised, {} stored", kills(), promised.len(), stored.len());
}
