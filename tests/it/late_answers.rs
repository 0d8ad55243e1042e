//! Streams with a slow upstream: the time limit for reporting failures by status, and later reports as events.

use crate::support::answer::{self, text_chunks};
use crate::support::request::{plain, streamed};
use crate::support::{Event, Gate, Proxy, Reply, Server, config};
use serde_json::json;

fn busy(fields: &[(&str, &str)]) -> Reply {
    let body = json!({"error": {"message": "slow down", "type": "requests", "param": null, "code": null}});
    Reply::body(429, &[&[("content-type", "application/json")], fields].concat(), body.to_string())
}

async fn proxy_of(upstream: &Server, pipeline: &str) -> Proxy {
    Proxy::start(config(&upstream.url("/v1")) + "[pipeline]\n" + pipeline).await
}

#[tokio::test]
async fn a_failure_behind_the_head_says_its_status_and_code() {
    let gate = Gate::closed();
    let upstream = Server::always(busy(&[("retry-after", "900")]).after(&gate)).await;
    let proxy = proxy_of(&upstream, "hold_head_seconds = 1\nkeep_alive_seconds = 1\n").await;
    let mut stream = proxy.client().chat_stream(&streamed(plain("Hello"))).await;
    stream.await_raw(": ping\n").await;
    gate.open();
    let events = stream.rest().await;
    let [Event::Json(event), ..] = events.as_slice() else { panic!("{events:?}") };
    let expected = json!({"message": "slow down", "type": "requests", "param": null, "code": "rate_limit_exceeded", "status": 429, "retry_after": 900});
    assert_eq!(event["error"], expected);
}

#[tokio::test]
async fn an_unreachable_upstream_is_reported_behind_the_head_too() {
    let gate = Gate::closed();
    let upstream = Server::always(Reply::reset().after(&gate)).await;
    let proxy = proxy_of(&upstream, "hold_head_seconds = 1\n").await;
    let mut stream = proxy.client().chat_stream(&streamed(plain("Hello"))).await;
    stream.await_raw(": ping\n").await;
    gate.open();
    let events = stream.rest().await;
    let [Event::Json(event), ..] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((&event["error"]["status"], &event["error"]["type"]), (&json!(502), &json!("upstream_error")));
    assert!(event["error"]["code"].is_string());
}

#[tokio::test]
async fn a_wait_that_would_outlast_the_head_is_not_begun() {
    let upstream = Server::replying([busy(&[("retry-after", "4")]), Reply::events(&text_chunks("Late."))]).await;
    let proxy = proxy_of(&upstream, "hold_head_seconds = 2\n").await;
    let refused = proxy.client().chat(&streamed(plain("Hello"))).await;
    assert_eq!(refused.error(429)["message"], "slow down");
    assert_eq!(refused.header("retry-after"), Some("4"));
    assert_eq!(refused.header("x-should-retry"), None, "nothing was retried: the client may");
    assert_eq!(upstream.received().len(), 1);
}

#[tokio::test]
async fn client_and_proxy_do_not_retry_each_others_retries() {
    let upstream = Server::always(busy(&[("retry-after-ms", "1")])).await;
    let proxy = proxy_of(&upstream, "").await;
    for stream in [false, true] {
        let request = if stream { streamed(plain("Hello")) } else { plain("Hello") };
        let refused = proxy.client().chat_with(&request, &[("x-stainless-retry-count", "0")]).await;
        refused.error(429);
        assert_eq!(refused.header("x-should-retry"), Some("false"));
        assert_eq!(upstream.take_received().len(), 3);
        let refused = proxy.client().chat_with(&request, &[("x-stainless-retry-count", "1")]).await;
        refused.error(429);
        assert_eq!((refused.header("x-should-retry"), upstream.take_received().len()), (None, 1));
    }
}

#[tokio::test]
async fn stream_tokens_are_requested_once_the_upstream_reports_them() {
    let usage = |chunks: Vec<serde_json::Value>| {
        let mut usage = answer::chunk_of(json!([]));
        usage["usage"] = json!({"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25});
        [chunks, vec![usage]].concat()
    };
    let upstream = Server::scripted(move |_, received| {
        let chunks = text_chunks("Hello.");
        let is_asked = received.json()["stream_options"]["include_usage"] == true;
        Reply::events(&if is_asked { usage(chunks) } else { chunks })
    })
    .await;
    let proxy = proxy_of(&upstream, "").await;
    let client = proxy.client();
    let plain_stream = || streamed(plain("Hello"));
    let mut wanted = plain_stream();
    wanted["stream_options"] = json!({"include_usage": true});
    let before = client.chat_stream(&plain_stream()).await.assemble().await;
    let told = client.chat_stream(&wanted).await.assemble().await;
    let after = client.chat_stream(&plain_stream()).await.rest().await;
    assert!(before.usage.is_none() && told.usage.is_some());
    assert!(!after.iter().any(|event| matches!(event, Event::Json(chunk) if chunk["usage"].is_object())), "{after:?}");
    let asked: Vec<bool> =
        upstream.received().iter().map(|request| request.json()["stream_options"]["include_usage"] == true).collect();
    assert_eq!(asked, [false, true, true]);
    let traces = proxy.traces_after_stop().await;
    let counted = traces.iter().filter(|trace| trace["usage"]["total_tokens"] == json!(25));
    assert_eq!(counted.count(), 2, "{traces:?}");
}

#[tokio::test]
async fn an_upstream_that_refuses_stream_options_is_asked_without() {
    let upstream = Server::scripted(|_, received| match received.json().get("stream_options") {
        Some(_) => Reply::json(400, &json!({"error": {"message": "unknown field stream_options", "type": "x"}})),
        None => Reply::events(&text_chunks("Hello.")),
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "stream_usage = \"on\"\n").await;
    for _ in 0..2 {
        let answer = proxy.client().chat_stream(&streamed(plain("Hello"))).await.assemble().await;
        assert_eq!(answer.choice().content, "Hello.");
    }
    assert_eq!(upstream.received().len(), 3, "it is asked once");
}
