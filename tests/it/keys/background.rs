//! Responses in the background: budgets, and policies that keys are bound to.

use reqwest::Method;
use serde_json::{Value, json};

use super::{JSON, Key, configuration, draft, usage};
use crate::support::{Answer, GUARD, POLL, Proxy, Reply, Server};

/// Tokens that are reserved for the answer of a request.
const RESERVED: u64 = 4_000;

/// Prices at which a reservation costs a bit more than 4.
const PRICES: &str = "[prices.gpt-test]\nprompt = 1000.0\ncompletion = 1000.0\n";

/// Creates a provider whose responses in the background have ended when they are fetched. A stream breaks off before its end
/// unless `is_whole`.
async fn provider(is_whole: bool) -> Server {
    Server::scripted(move |number, received| {
        let response = |id: &str, status: &str, tokens: Option<u64>| {
            let usage = tokens.map(|tokens| json!({"input_tokens": 0, "output_tokens": tokens, "total_tokens": tokens}));
            json!({"id": id, "object": "response", "status": status, "background": true, "model": "gpt-test", "output": [],
                "usage": usage})
        };
        if received.method == "GET" {
            let id = received.target.rsplit('/').next().unwrap();
            return Reply::json(200, &response(id, "completed", Some(100)));
        }
        let id = format!("resp_{number}");
        if received.json()["stream"] != true {
            return Reply::json(200, &response(&id, "queued", None));
        }
        let event = |number: u64, kind: &str, response: Value| {
            json!({"type": kind, "sequence_number": number, "response": response})
        };
        let begun = Reply::stream().event(&event(0, "response.created", response(&id, "queued", None)));
        let whole = event(1, "response.completed", response(&id, "completed", Some(100)));
        if is_whole { begun.event(&whole).end() } else { begun.end() }
    })
    .await
}

fn request(is_stream: bool) -> Value {
    json!({"model": "gpt-test", "input": "hi", "background": true, "stream": is_stream, "max_output_tokens": RESERVED})
}

async fn send(proxy: &Proxy, key: &Key, is_stream: bool) -> Answer {
    proxy.client().send(Method::POST, "/v1/responses", &[JSON, key.field()], request(is_stream).to_string()).await
}

async fn fetch(proxy: &Proxy, key: &Key, id: &str) -> Value {
    let path = format!("/v1/responses/{id}");
    proxy.client().send(Method::GET, &path, &[key.field()], "").await.ok()
}

async fn tokens(proxy: &Proxy) -> u64 {
    usage(proxy, "ada").await["month"]["tokens"].as_u64().unwrap()
}

#[tokio::test]
async fn a_background_response_costs_its_reservation_until_fetched() {
    for is_stream in [false, true] {
        let upstream = provider(false).await;
        let proxy = Proxy::start(configuration(&upstream, "", PRICES)).await;
        let members = json!({"budget": 9.0, "pass_through": ["responses"]});
        let key = Key::create(&proxy, draft("ada", members)).await;
        let mut accepted = Vec::new();
        for number in 1..=20 {
            let answer = send(&proxy, &key, is_stream).await;
            if answer.status != 200 {
                assert_eq!(answer.error(429)["code"], "insufficient_quota", "{number}");
                continue;
            }
            accepted.push(answer.text().split("resp_").nth(1).unwrap().split('"').next().unwrap().to_owned());
            proxy.metric_reaches("key_tokens_total", &[], (RESERVED * accepted.len() as u64) as f64).await;
        }
        assert_eq!(accepted.len(), 3, "as long as anything is left: 4, 8 and 12 of 9");
        let charged = tokens(&proxy).await;
        assert!((3 * RESERVED..4 * RESERVED).contains(&charged), "{charged}");
        let each = charged / 3;
        for (number, id) in (1..).zip(&accepted) {
            // Fetched again, it counts no more.
            for _ in 0..2 {
                fetch(&proxy, &key, &format!("resp_{id}")).await;
                let expected = charged - number * (each - 100);
                let settled = async {
                    while tokens(&proxy).await != expected {
                        tokio::time::sleep(POLL).await;
                    }
                };
                let is_settled = tokio::time::timeout(GUARD, settled).await.is_ok();
                assert!(is_settled, "{} instead of {expected}", tokens(&proxy).await);
            }
        }
        assert_eq!(tokens(&proxy).await, 300);
        assert_eq!(send(&proxy, &key, is_stream).await.status, 200, "the budget has room again");
    }
}

#[tokio::test]
async fn a_stream_that_ends_with_its_usage_is_charged_at_once() {
    let upstream = provider(true).await;
    let proxy = Proxy::start(configuration(&upstream, "", PRICES)).await;
    let key = Key::create(&proxy, draft("ada", json!({"budget": 9.0, "pass_through": ["responses"]}))).await;
    assert_eq!(send(&proxy, &key, true).await.status, 200);
    proxy.metric_reaches("key_tokens_total", &[], 100.0).await;
    fetch(&proxy, &key, "resp_0").await;
    assert_eq!(tokens(&proxy).await, 100);
}

#[tokio::test]
async fn no_member_of_a_body_takes_a_key_out_of_its_policy() {
    let upstream = provider(true).await;
    let policies = "[policies]\ndirectory = \"policies\"\n";
    let files = [
        ("policies/default.yaml", "name: default\n"),
        ("policies/open.yaml", "name: open\nbackground: unguarded\n"),
        ("policies/closed.yaml", "name: closed\nmatch: {models: [closed]}\nbackground: refuse\n"),
        ("policies/shadow.yaml", "name: shadow\nmode: shadow\nbackground: refuse\n"),
    ];
    let proxy = Proxy::start_with_files(configuration(&upstream, "", policies), &files).await;
    for (name, policy, model, status) in [
        ("unbound", "", "gpt-test", 200),
        ("bound", "default", "gpt-test", 400),
        ("open", "open", "gpt-test", 200),
        ("closed", "", "closed", 400),
        ("shadow", "shadow", "gpt-test", 200),
    ] {
        let key = Key::create(&proxy, draft(name, json!({"policy": policy}))).await;
        for is_stream in [false, true] {
            upstream.take_received();
            let mut body = request(is_stream);
            body["model"] = model.into();
            let answer =
                proxy.client().send(Method::POST, "/v1/responses", &[JSON, key.field()], body.to_string()).await;
            assert_eq!(answer.status.as_u16(), status, "{name}: {}", answer.text());
            assert_eq!(upstream.received().len(), usize::from(status == 200), "{name}");
            if status == 400 {
                let error = answer.error(400);
                assert_eq!((&error["code"], &error["param"]), (&json!("background_not_allowed"), &json!("background")));
            }
        }
    }
}
