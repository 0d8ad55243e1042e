//! Notifications of approvals: server-sent events for the console, and the signed webhook.

use crate::support::answer::{one_call, text};
use crate::support::{Proxy, Received, Reply, Server, policy, rooms};
use futures_util::StreamExt;
use http::Method;
use ring::hmac;
use serde_json::{Value, json};

const SECRET: &str = "webhook-canary-0123456789";
const JSON: (&str, &str) = ("content-type", "application/json");

fn model(_: usize, request: &Received) -> Reply {
    match request.messages().iter().filter(|message| message["role"] == "tool").count() {
        0 => one_call("bookRoom", r#"{"room": "blue", "from": "2026-03-01T09:00:00Z", "hours": 2}"#),
        _ => text("It is booked."),
    }
}

/// Starts a proxy that requires approval for bookings.
async fn proxy_with(upstream: &Server, api: &Server, tables: &str) -> Proxy {
    let rules = "execute:\n  rules:\n    - {methods: [POST], permission: approve}\n  approval: {mode: wait, timeout_seconds: 120}\n";
    let file = policy::file("office", rules);
    let config = rooms::config_of(upstream, api) + &policy::table("office") + tables;
    Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/office.yaml", &file)]).await
}

async fn booked() -> Server {
    Server::always(Reply::json(201, &json!({"booked": true}))).await
}

/// Reads the data of the next event.
async fn next(stream: &mut (impl StreamExt<Item = reqwest::Result<bytes::Bytes>> + Unpin), text: &mut String) -> Value {
    loop {
        while let Some((event, rest)) = text.clone().split_once("\n\n") {
            *text = rest.to_owned();
            if let Some(data) = event.strip_prefix("event: approvals\ndata: ") {
                return serde_json::from_str(data).unwrap();
            }
        }
        text.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stream_reports_each_change_and_ends_at_shutdown() {
    let (upstream, api) = (Server::scripted(model).await, booked().await);
    let proxy = proxy_with(&upstream, &api, "").await;
    let answer = reqwest::get(proxy.operator().url("/admin/approvals/events")).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let (mut stream, mut text) = (answer.bytes_stream(), String::new());
    assert_eq!(next(&mut stream, &mut text).await, json!({"pending": 0, "approvals": []}));
    let request = rooms::ask("Book the blue room");
    let operator = async {
        let event = next(&mut stream, &mut text).await;
        let approval = &event["approvals"][0];
        assert_eq!((&event["pending"], &approval["tool"]), (&json!(1), &json!("bookRoom")));
        assert_eq!(approval.get("arguments"), None);
        let path = format!("/admin/approvals/{}/approve", approval["id"].as_str().unwrap());
        proxy.operator().send(Method::POST, &path, &[JSON], "{}").await.ok();
        assert_eq!(next(&mut stream, &mut text).await["pending"], 0);
    };
    let (answer, ()) = tokio::join!(proxy.client().chat(&request), operator);
    answer.ok();
    let stopped = tokio::spawn(proxy.stop());
    while let Some(Ok(_)) = stream.next().await {}
    stopped.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhook_gets_signed_events_and_is_tried_again() {
    let (upstream, api) = (Server::scripted(model).await, booked().await);
    let receiver = Server::scripted(|number, _| Reply::json(if number == 0 { 503 } else { 200 }, &json!({}))).await;
    let url = receiver.url("/hook?token=canary");
    let tables = format!("[approvals.webhook]\nurl = \"{url}\"\nsecret = \"{SECRET}\"\n");
    let proxy = proxy_with(&upstream, &api, &tables).await;
    let request = rooms::ask("Book the blue room");
    let operator = async {
        proxy.metric_reaches("approval_webhooks_total", &[("result", "delivered")], 1.0).await;
        let answer = proxy.operator().get("/admin/approvals?status=pending").await;
        let pending: Value = serde_json::from_str(&answer.text()).unwrap();
        let id = pending["approvals"][0]["id"].as_str().unwrap().to_owned();
        let deny = format!("/admin/approvals/{id}/deny");
        proxy.operator().send(Method::POST, &deny, &[JSON], r#"{"by": "Ada"}"#).await.ok();
        proxy.metric_reaches("approval_webhooks_total", &[("result", "delivered")], 2.0).await;
        id
    };
    let (answer, id) = tokio::join!(proxy.client().chat(&request), operator);
    answer.ok();
    let received = receiver.received();
    assert_eq!(received.len(), 3);
    let deliveries: Vec<_> = received.iter().map(|request| request.header("x-callwright-delivery").unwrap()).collect();
    assert!(deliveries[0] == deliveries[1] && deliveries[1] != deliveries[2], "{deliveries:?}");
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    for (request, event) in received.iter().zip(["approval.requested", "approval.requested", "approval.decided"]) {
        assert_eq!(request.target, "/hook?token=canary");
        assert_eq!(request.header("x-callwright-event"), Some(event));
        let body = request.json();
        let approval = &body["approval"];
        assert_eq!((&body["event"], &approval["id"]), (&json!(event), &json!(id)));
        assert_eq!((&approval["target"], approval.get("arguments")), (&Value::Null, None));
        let signature = request.header("x-callwright-signature").unwrap().strip_prefix("v1=").unwrap();
        let digits = (0..signature.len()).step_by(2).map(|at| u8::from_str_radix(&signature[at..at + 2], 16).unwrap());
        let tag: Vec<u8> = digits.collect();
        let timestamp = request.header("x-callwright-timestamp").unwrap();
        let signed = [timestamp.as_bytes(), b".", &request.body].concat();
        hmac::verify(&key, &signed, &tag).unwrap();
    }
    assert!(!proxy.log().contains("canary"), "{}", proxy.log());
}

#[tokio::test]
async fn a_webhook_without_a_secret_is_refused() {
    let tables = "[approvals.webhook]\nurl = \"https://example.com/hook\"\n";
    let printed = Proxy::refusal(&(crate::support::config::config("http://127.0.0.1:1/v1") + tables)).await;
    assert!(printed.contains("`approvals.webhook.secret` has fewer than 16 characters"), "{printed}");
}
