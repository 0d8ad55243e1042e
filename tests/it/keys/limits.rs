//! Limits of keys.

use reqwest::Method;
use serde_json::{Value, json};

use super::{JSON, Key, configuration, draft, post, usage};
use crate::support::answer::{one_call, text, text_chunks};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Answer, Gate, POLL, Proxy, Reply, Server, guarded};

/// Cost of a response at these prices: 20 request tokens and 5 response tokens.
const PRICES: &str = "[prices.gpt-test]\nprompt = 10000.0\ncompletion = 20000.0\n";
const COST: f64 = 0.3;

fn seconds(answer: &Answer) -> u64 {
    answer.header("retry-after").unwrap_or_else(|| panic!("no retry-after: {}", answer.text())).parse().unwrap()
}

fn limited(answer: &Answer, kind: &str, code: &str) -> String {
    let error = answer.error(429);
    assert_eq!((error["type"].as_str().unwrap(), error["code"].as_str().unwrap()), (kind, code), "{error}");
    error["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn requests_per_minute_are_limited_and_the_rest_is_reported() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let key = Key::create(&proxy, draft("ada", json!({"requests_per_minute": 3}))).await;
    for left in ["2", "1"] {
        let answer = key.chat(&proxy).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("x-ratelimit-limit-requests"), Some("3"));
        assert_eq!(answer.header("x-ratelimit-remaining-requests"), Some(left));
        let reset = answer.header("x-ratelimit-reset-requests").unwrap();
        assert!(reset == "1m0s" || reset.ends_with('s'), "{reset}");
        assert_eq!(answer.header("x-ratelimit-limit-tokens"), None, "tokens are not limited");
    }
    // All requests count, including streams.
    let mut stream = proxy.client().chat_stream_with(&streamed(plain("Hello")), &[key.field()]).await;
    assert_eq!(stream.header("x-ratelimit-remaining-requests"), Some("0"));
    stream.rest().await;
    for (method, path, body) in [
        (Method::POST, "/v1/chat/completions", plain("Hello")),
        (Method::GET, "/v1/models", Value::Null),
        (Method::POST, "/v1/embeddings", json!({})),
    ] {
        let answer = proxy.client().send(method, path, &[JSON, key.field()], body.to_string()).await;
        let message = limited(&answer, "requests", "rate_limit_exceeded");
        assert!(message.contains("the key `ada`: 3 requests per minute"), "{message}");
        assert!((1..=60).contains(&seconds(&answer)), "{}", seconds(&answer));
        assert_eq!(answer.header("x-ratelimit-remaining-requests"), Some("0"));
        let (id, log) = (answer.header("x-callwright-trace").unwrap(), proxy.log());
        let line = log.lines().find(|line| line.contains(id)).unwrap_or_else(|| panic!("{id}: {log}"));
        assert!(line.contains("WARN") && line.contains("rate_limit_exceeded") && line.contains("429"), "{line}");
    }
    assert_eq!(upstream.received().len(), 3, "what is refused is not sent");
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("key_requests_total", &[("result", "limited_requests")]), 3.0);
    assert_eq!(metrics.sum("key_requests_total", &[("result", "admitted")]), 3.0);
}

#[tokio::test]
async fn a_group_is_limited_as_a_whole() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "[keys.groups.search]\nrequests_per_minute = 2\n", "")).await;
    let ada = Key::create(&proxy, draft("ada", json!({"group": "search", "requests_per_minute": 100}))).await;
    let bob = Key::create(&proxy, draft("bob", json!({"group": "search"}))).await;
    let eve = Key::create(&proxy, draft("eve", json!({"group": "other"}))).await;
    assert_eq!(ada.chat(&proxy).await.header("x-ratelimit-remaining-requests"), Some("1"), "the group's");
    assert_eq!(bob.chat(&proxy).await.header("x-ratelimit-remaining-requests"), Some("0"));
    for key in [&ada, &bob] {
        let message = limited(&key.chat(&proxy).await, "requests", "rate_limit_exceeded");
        assert!(message.contains("the group `search`"), "{message}");
    }
    assert_eq!(eve.chat(&proxy).await.status, 200);
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("key_requests_total", &[("group", "search"), ("result", "limited_requests")]), 2.0);
    assert_eq!(metrics.sum("key_tokens_total", &[("group", "search"), ("kind", "prompt")]), 40.0);
}

#[tokio::test]
async fn tokens_within_a_minute_are_limited() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let key = Key::create(&proxy, draft("ada", json!({"tokens_per_minute": 40}))).await;
    assert_eq!(key.chat(&proxy).await.header("x-ratelimit-limit-tokens"), Some("40"));
    proxy.metric_reaches("key_tokens_total", &[], 25.0).await;
    assert_eq!(usage(&proxy, "ada").await["day"], json!({"requests": 1, "tokens": 25, "cost": 0.0}));
    let second = key.chat(&proxy).await;
    assert_eq!(second.status, 200, "there was something left");
    proxy.metric_reaches("key_tokens_total", &[], 50.0).await;
    let third = key.chat(&proxy).await;
    assert!(limited(&third, "tokens", "rate_limit_exceeded").contains("40 tokens per minute"));
    assert_eq!(third.header("x-ratelimit-remaining-tokens"), Some("0"));
    assert!((1..=60).contains(&seconds(&third)));
}

#[tokio::test]
async fn a_stream_whose_tokens_nobody_tells_is_charged_by_its_length() {
    let words = "word ".repeat(100);
    let upstream = Server::always(Reply::events(&text_chunks(&words))).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let key = Key::create(&proxy, draft("ada", json!({"tokens_per_minute": 100}))).await;
    proxy.client().chat_stream_with(&streamed(plain("Hello")), &[key.field()]).await.assemble().await;
    proxy.metric_reaches("key_tokens_total", &[("kind", "completion")], 100.0).await;
    limited(&key.chat(&proxy).await, "tokens", "rate_limit_exceeded");
    let trace = proxy.traces_after_stop().await.remove(0);
    let attempt = &trace["attempts"][0];
    assert!(attempt["estimate"]["completion_tokens"].as_u64().unwrap() >= 100, "{attempt}");
    assert_eq!(attempt["usage"]["total_tokens"], 0, "what the upstream told: {attempt}");
    assert_eq!(attempt["model"], "gpt-test");
}

#[tokio::test]
async fn a_turn_is_charged_for_all_its_attempts() {
    let replies = [one_call("get_weather", r#"{"town": "Oslo"}"#), one_call("get_weather", r#"{"city": "Oslo"}"#)];
    let upstream = Server::replying(replies).await;
    let proxy = Proxy::start(configuration(&upstream, "", PRICES)).await;
    let key = Key::create(&proxy, draft("ada", json!({}))).await;
    let answer = proxy.client().chat_with(&with_tools("What is the weather in Oslo?"), &[key.field()]).await;
    assert_eq!(answer.verdict(), "corrected");
    assert_eq!(answer.ok()["usage"]["total_tokens"], 25, "the client is told what its answer cost");
    proxy.metric_reaches("key_tokens_total", &[], 50.0).await;
    let used = usage(&proxy, "ada").await["month"].clone();
    assert_eq!((&used["requests"], &used["tokens"]), (&json!(1), &json!(50)));
    assert!((used["cost"].as_f64().unwrap() - 2.0 * COST).abs() < 1e-9, "{used}");
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_is_charged_for_what_came() {
    let words: Vec<Value> = text_chunks(&"word ".repeat(100));
    let stream = words.iter().fold(Reply::stream(), Reply::event).then_silence();
    let upstream = Server::always(stream).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let key = Key::create(&proxy, draft("ada", json!({"tokens_per_minute": 60}))).await;
    let mut left = proxy.client().chat_stream_with(&streamed(plain("Hello")), &[key.field()]).await;
    left.await_raw("word").await;
    while left.next_chunk().await["choices"][0]["finish_reason"].is_null() {}
    drop(left);
    upstream.hangup().await;
    proxy.metric_reaches("key_tokens_total", &[("kind", "completion")], 100.0).await;
    limited(&key.chat(&proxy).await, "tokens", "rate_limit_exceeded");
}

#[tokio::test]
async fn concurrent_requests_are_limited_and_a_client_exit_frees_one() {
    let gate = Gate::closed();
    let upstream = Server::always(text("hi").after(&gate)).await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let key = Key::create(&proxy, draft("ada", json!({"concurrent_requests": 1}))).await;
    let waiting = proxy.client().begin_chat_with(&plain("Hello"), &[key.field()]).await;
    upstream.arrival_of(1).await;
    assert_eq!(usage(&proxy, "ada").await["under_way"], 1);
    let second = key.chat(&proxy).await;
    assert!(limited(&second, "requests", "rate_limit_exceeded").contains("1 concurrent requests"));
    assert_eq!(seconds(&second), 1);
    waiting.leave().await;
    guarded("the place is free", async {
        while usage(&proxy, "ada").await["under_way"] != 0 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    gate.open();
    assert_eq!(key.chat(&proxy).await.status, 200);
    // A passed-through request occupies its slot until its last byte.
    let held = Gate::closed();
    let slow = Server::always(Reply::stream().event(&json!({"a": 1})).wait(&held).done()).await;
    let proxy = Proxy::start(configuration(&slow, "pass_through = [\"completions\"]", "")).await;
    let key = Key::create(&proxy, draft("ada", json!({"concurrent_requests": 1}))).await;
    let fields = [JSON, key.field()];
    let passed = proxy.client().send(Method::POST, "/v1/completions", &fields, "{}");
    let refused = async {
        slow.arrival_of(1).await;
        key.chat(&proxy).await.error(429);
        held.open();
    };
    let (passed, ()) = tokio::join!(passed, refused);
    assert_eq!(passed.status, 200);
    assert_eq!(usage(&proxy, "ada").await["under_way"], 0);
}

#[tokio::test]
async fn a_budget_outlives_a_restart_and_requires_prices() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(configuration(&upstream, "", PRICES)).await;
    let key = Key::create(&proxy, draft("ada", json!({"budget": 2.0 * COST, "budget_period": "month"}))).await;
    key.chat(&proxy).await.ok();
    proxy.metric_reaches("key_cost_total", &[], COST).await;
    let proxy = proxy.stop().await.start_again().await;
    let spent = usage(&proxy, "ada").await["month"]["cost"].as_f64().unwrap();
    assert!((spent - COST).abs() < 1e-9, "{spent}");
    key.chat(&proxy).await.ok();
    proxy.metric_reaches("key_cost_total", &[], COST).await;
    let over = key.chat(&proxy).await;
    let message = limited(&over, "insufficient_quota", "insufficient_quota");
    assert!(message.contains("budget of 0.6 for this month"), "{message}");
    assert_eq!(over.header("x-should-retry"), Some("false"), "clients need not try again");
    assert!(seconds(&over) >= 1);
    let mut unpriced = plain("Hello");
    unpriced["model"] = json!("other");
    let error = proxy.client().chat_with(&unpriced, &[key.field()]).await.error(403);
    assert_eq!(error["code"], "model_without_price");
    assert!(error["message"].as_str().unwrap().contains("[prices.\"other\"]"), "{error}");
    // With a larger budget, requests are accepted again.
    let more = json!({"budget": 100.0}).to_string();
    proxy.operator().send(Method::PATCH, "/admin/keys/ada", &[JSON], more).await.ok();
    key.chat(&proxy).await.ok();
}

#[tokio::test]
async fn uncounted_requests_that_would_evade_a_limit_are_refused() {
    let upstream = Server::always(Reply::json(200, &json!({"data": []}))).await;
    let proxy = Proxy::start(configuration(&upstream, "", PRICES)).await;
    let embed = async |proxy: &Proxy, key: &Key| {
        proxy.client().send(Method::POST, "/v1/embeddings", &[JSON, key.field()], "{}").await
    };
    let free = Key::create(&proxy, draft("free", json!({"requests_per_minute": 5}))).await;
    let passed = embed(&proxy, &free).await;
    assert_eq!((passed.status.as_u16(), passed.header("x-ratelimit-remaining-requests")), (200, Some("4")));
    for (name, limit) in [
        ("money", json!({"budget": 1.0})),
        ("tokens", json!({"tokens_per_minute": 1})),
        ("models", json!({"models": ["a"]})),
    ] {
        let key = Key::create(&proxy, draft(name, limit)).await;
        assert_eq!(embed(&proxy, &key).await.error(403)["code"], "unmetered_not_allowed", "{name}");
        let looked_up = proxy.client().send(Method::GET, "/v1/images/1", &[key.field()], "").await;
        assert_eq!(looked_up.status, 200, "what uses no model is passed through");
    }
    let stopped = proxy.stop().await;
    let config = configuration(&upstream, "unmetered = \"allow\"", PRICES);
    let proxy = stopped.start_again_as(config).await;
    let rotated = Key::of(&post(&proxy, "/admin/keys/money/rotate", json!({})).await.ok());
    assert_eq!(embed(&proxy, &rotated).await.status, 200);
}
