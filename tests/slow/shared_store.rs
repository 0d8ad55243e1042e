//! Several proxies share one PostgreSQL database, which becomes unavailable and recovers while they work.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::answer;
use crate::support::config::config_with_store_keys;
use crate::support::postgres::{self, PASSWORD, Postgres};
use crate::support::request::plain;
use crate::support::{POLL, Proxy, Server, guarded};
use callwright_test_macros::requires;

/// Number of clients per proxy.
const CLIENTS: usize = 4;

/// Store keys besides the URL, with shorter waits than in production.
const KEYS: &str = "retry_seconds = 1";

async fn proxy(upstream: &Server, url: &str) -> Proxy {
    Proxy::start(config_with_store_keys(&upstream.url("/v1"), url, KEYS)).await
}

/// Sends requests until `ends` is set. Returns the ids of the turns.
async fn ask_on(proxy: &Proxy, ends: &AtomicBool) -> Vec<String> {
    let mut traces = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let answer = proxy.client().chat(&plain("Hello")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        traces.push(answer.header("x-callwright-trace").unwrap().to_owned());
    }
    traces
}

fn stored(server: &Postgres, database: &str) -> Vec<String> {
    server.ask(database, "SELECT id FROM traces ORDER BY id").lines().map(str::to_owned).collect()
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_the_database_costs_no_answer_and_no_trace() {
    let mut server = Postgres::start();
    let upstream = Server::always(answer::text("hi")).await;
    let url = server.database();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let proxies = [proxy(&upstream, &url).await, proxy(&upstream, &url).await];
    let ends = AtomicBool::new(false);
    let load = proxies.iter().flat_map(|proxy| (0..CLIENTS).map(|_| ask_on(proxy, &ends)));
    let restarts = async {
        for crashes in [false, true, false] {
            tokio::time::sleep(Duration::from_millis(700)).await;
            if crashes {
                server.crash()
            } else {
                server.stop()
            };
            tokio::time::sleep(Duration::from_millis(700)).await;
            server.start_again();
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
        ends.store(true, Ordering::Relaxed);
        server
    };
    let (answered, server) = tokio::join!(futures_util::future::join_all(load), restarts);
    let answered: BTreeSet<String> = answered.into_iter().flatten().collect();
    guarded("all traces are written", async {
        while stored(&server, &database).len() < answered.len() {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    let stored = stored(&server, &database);
    let distinct: BTreeSet<String> = stored.iter().cloned().collect();
    assert_eq!(stored.len(), distinct.len(), "a trace is there twice");
    assert_eq!(distinct, answered);
    for proxy in proxies {
        let metrics = proxy.metrics().await;
        assert_eq!(metrics.sum("traces_dropped_total", &[]), 0.0);
        assert_eq!(metrics.sum("traces_on_disk_bytes", &[]), 0.0);
        // A request that still used a closed connection may have opened the circuit after the last trace was stored.
        proxy.metric_reaches("store_up", &[], 1.0).await;
        let stopped = proxy.stop().await;
        assert!(!stopped.log().contains(PASSWORD), "the password is in the log");
    }
    anstream::println!("{} turns answered over three restarts, each stored once", answered.len());
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn the_next_process_stores_answers_of_a_database_outage() {
    let mut server = Postgres::start();
    let upstream = Server::always(answer::text("hi")).await;
    let url = server.database();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let mut proxy = proxy(&upstream, &url).await;
    server.stop();
    let mut answered = BTreeSet::new();
    for _ in 0..20 {
        let answer = proxy.client().chat(&plain("Hello")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answered.insert(answer.header("x-callwright-trace").unwrap().to_owned());
    }
    guarded("traces go to disk", async {
        while proxy.metrics_now().await.sum("traces_waiting", &[]) > 0.0 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    assert!(proxy.metrics().await.sum("traces_on_disk_bytes", &[]) > 0.0);
    proxy.kill();
    let stopped = proxy.ended().await;
    server.start_again();
    let proxy = stopped.start_again().await;
    guarded("all traces are written", async {
        while stored(&server, &database).len() < answered.len() {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    assert_eq!(stored(&server, &database).into_iter().collect::<BTreeSet<_>>(), answered);
    proxy.stop().await;
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_starts_without_the_database_and_uses_it_later() {
    let mut server = Postgres::start();
    let upstream = Server::always(answer::text("hi")).await;
    let url = server.database();
    server.stop();
    let proxy = proxy(&upstream, &url).await;
    proxy.client().chat(&plain("Hello")).await.ok();
    let ready = proxy.operator().get("/readyz").await.json();
    assert_eq!(ready["degraded"][0]["part"], "store", "{ready}");
    assert!(!ready.to_string().contains(PASSWORD));
    server.start_again();
    guarded("the store is open", async {
        loop {
            let list = proxy.operator().get("/admin/traces").await;
            if list.status == 200 && list.json()["traces"].as_array().is_some_and(|traces| traces.len() == 1) {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    proxy.stop().await;
}

#[requires(postgres)]
#[tokio::test]
async fn a_trace_of_one_replica_is_shown_by_the_other() {
    let url = postgres::database();
    let upstream = Server::always(answer::text("hi")).await;
    let (one, other) = (proxy(&upstream, &url).await, proxy(&upstream, &url).await);
    let answer = one.client().chat(&plain("Hello")).await;
    let path = format!("/admin/traces/{}", answer.header("x-callwright-trace").unwrap());
    guarded("the trace is written", async {
        while other.operator().get(&path).await.status != 200 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}
