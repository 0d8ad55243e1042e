//! Delays: for `Retry-After` of the API, and for a permit of its host.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderMap, Response};
use http_body_util::Full;
use tokio::time::Instant;

use super::server::Server;
use super::*;
use crate::address::SystemLookup;
use crate::client::ApiClient;
use crate::redirect::RedirectRule;
use crate::request::ApiRequest;

/// Starts a server that returns `status` this number of times, with this `Retry-After`, and then succeeds.
async fn busy(times: usize, status: u16, after: &'static str) -> Server {
    let count = Arc::new(AtomicUsize::new(0));
    Server::http(move |_| {
        if count.fetch_add(1, Ordering::SeqCst) < times {
            return Response::builder().status(status).header("retry-after", after).body(Full::default()).unwrap();
        }
        Response::new(Full::from("{}"))
    })
    .await
}

async fn status_of(method: Method, server: &Server, settings: &Settings) -> (u16, usize) {
    let operation = operation(method, &server.url(), "/r", Vec::new());
    let status = answer(run(&executor(settings), &operation, &toolset(), json!({})).await).status;
    (status, server.requests().len())
}

#[tokio::test]
async fn a_requested_retry_happens_only_without_further_effects() {
    let settings = Settings { timeout_seconds: 20, ..local() };
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        for status in [429, 503] {
            assert_eq!(status_of(method.clone(), &busy(2, status, "0").await, &settings).await, (200, 3), "{method}");
        }
    }
    for method in [Method::POST, Method::PATCH] {
        assert_eq!(status_of(method.clone(), &busy(2, 429, "0").await, &settings).await, (429, 1), "{method}");
    }
    let past = "Sun, 06 Nov 1994 08:49:37 GMT";
    assert_eq!(status_of(Method::GET, &busy(1, 503, past).await, &settings).await, (200, 2));
    assert_eq!(
        status_of(Method::GET, &busy(1, 500, "0").await, &settings).await,
        (500, 1),
        "it may have done something"
    );
}

#[tokio::test]
async fn repetitions_and_waits_are_bounded() {
    let settings = Settings { timeout_seconds: 20, retry_after_tries: 3, retry_after_max_seconds: 5, ..local() };
    assert_eq!(status_of(Method::GET, &busy(100, 429, "0").await, &settings).await, (429, 4));
    assert_eq!(status_of(Method::GET, &busy(1, 429, "6").await, &settings).await, (429, 1), "longer than is waited");
    let short = Settings { timeout_seconds: 4, ..settings.clone() };
    assert_eq!(status_of(Method::GET, &busy(1, 429, "5").await, &short).await, (429, 1), "no time for it");
    let never = Settings { retry_after_tries: 0, ..settings };
    assert_eq!(status_of(Method::GET, &busy(1, 429, "0").await, &never).await, (429, 1));
}

#[tokio::test]
async fn a_host_gets_no_more_requests_at_a_time_than_allowed() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inside, peak) = (Arc::clone(&now), Arc::clone(&most));
    let server = Server::raw(move |mut stream| {
        let (inside, peak) = (Arc::clone(&inside), Arc::clone(&peak));
        async move {
            use tokio::io::AsyncWriteExt;
            peak.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(20)).await;
            inside.fetch_sub(1, Ordering::SeqCst);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}").await;
        }
    })
    .await;
    let settings = Settings { max_requests_per_host: 3, timeout_seconds: 20, ..local() };
    let executor = executor(&settings);
    let operation = operation(Method::GET, &server.url(), "/r", Vec::new());
    let set = toolset();
    let outcomes = futures_util::future::join_all((0..12).map(|_| run(&executor, &operation, &set, json!({})))).await;
    assert!(outcomes.iter().all(|outcome| outcome.status() == Some(200)), "{outcomes:?}");
    assert!(most.load(Ordering::SeqCst) <= 3, "{most:?}");
}

#[tokio::test]
async fn a_request_without_a_permit_in_time_is_not_sent() {
    let server = Server::silent().await;
    let settings = Settings { max_requests_per_host: 1, ..local() };
    let client = Arc::new(ApiClient::build(&settings, Arc::new(SystemLookup)).unwrap());
    let url: Url = server.url().parse().unwrap();
    let request = ApiRequest { method: Method::POST, url, headers: HeaderMap::new(), body: None };
    let (first, sent) = (Arc::clone(&client), request.clone());
    let waiting = tokio::spawn(async move {
        let _ = first.exchange(&sent, RedirectRule::ReadsOnly, 0, 100, Instant::now() + Duration::from_secs(60)).await;
    });
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let failed =
        client.exchange(&request, RedirectRule::ReadsOnly, 0, 100, Instant::now() + Duration::from_millis(20)).await;
    let failed = failed.err().unwrap();
    let outcome = failed.outcome("host", Duration::from_secs(1));
    assert!(
        matches!(&outcome, Outcome::Unreachable { reason } if reason.contains("max_requests_per_host")),
        "{outcome:?}"
    );
    assert_eq!(server.requests().len(), 1);
    waiting.abort();
}
