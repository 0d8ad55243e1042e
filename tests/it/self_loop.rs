//! An upstream whose address leads back to the proxy: refused at start where the address is a listener's, and answered
//! with 508 where it is not recognisable.

use std::net::TcpListener as StdListener;
use std::sync::{Arc, OnceLock};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::support::config::config;
use crate::support::request::{plain, streamed};
use crate::support::verb::Folder;
use crate::support::{Proxy, Server, answer};
use serde_json::{Value, json};

/// A forwarder whose target is known only after it listens, as with a load balancer or a published port.
struct Forwarder {
    port: u16,
    target: Arc<OnceLock<u16>>,
}

impl Forwarder {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let forwarder = Self { port: listener.local_addr().unwrap().port(), target: Arc::default() };
        let target = Arc::clone(&forwarder.target);
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let port = *target.get().unwrap();
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                    // Either side may end the connection.
                    let _ = copy_bidirectional(&mut near, &mut far).await;
                });
            }
        });
        forwarder
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    fn forward_to(&self, proxy: &Proxy) {
        let url: reqwest::Url = proxy.client().url("/").parse().unwrap();
        self.target.set(url.port().unwrap()).unwrap();
    }
}

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

#[tokio::test]
async fn the_first_nested_request_gets_508_and_the_fix_everywhere() {
    let forwarder = Forwarder::start().await;
    let proxy = Proxy::start(config(&forwarder.url())).await;
    forwarder.forward_to(&proxy);
    let input = json!({"model": "m", "input": "Hello"});
    let message = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]});
    for (method, path, body) in [
        ("POST", "/v1/chat/completions", plain("Hello")),
        ("POST", "/v1/chat/completions", streamed(plain("Hello"))),
        ("POST", "/v1/responses", input.clone()),
        ("POST", "/v1/messages", message),
        ("POST", "/v1/embeddings", input),
        ("GET", "/v1/files", Value::Null),
    ] {
        let method: reqwest::Method = method.parse().unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = proxy.client().send(method, path, &JSON, body).await;
        let text = answer.text();
        assert_eq!(answer.status.as_u16(), 508, "{path}: {text}");
        assert!(text.contains("CALLWRIGHT_UPSTREAM_URL") && text.contains("base_url"), "{path}: {text}");
        assert_eq!(answer.header("x-should-retry"), Some("false"), "{path}");
    }
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("requests_refused_total", &[("listener", "client"), ("reason", "loop")]), 6.0);
    assert_eq!(proxy.traces_after_stop().await.len(), 4, "one trace for each turn, and none for nested requests");
}

#[tokio::test]
async fn proxies_in_front_of_one_another_are_no_loop() {
    let upstream = Server::replying([answer::text("Hello."), answer::text("Hello again.")]).await;
    let inner = Proxy::start(config(&upstream.url("/v1"))).await;
    let outer = Proxy::start(config(&inner.client().url("/v1"))).await;
    let outermost = Proxy::start(config(&outer.client().url("/v1"))).await;
    let via = [("via", "1.1 gateway (nginx)")];
    for text in ["Hello.", "Hello again."] {
        assert_eq!(outermost.client().chat_with(&plain("Hi"), &via).await.message()["content"], text);
    }
    let received = upstream.received();
    let fields: Vec<&str> =
        received[0].headers.iter().filter(|(name, _)| name == "via").map(|(_, value)| value.as_str()).collect();
    let fields = fields.join(", ");
    assert!(fields.starts_with("1.1 gateway (nginx), 1.1 callwright-"), "{fields}");
    let mut pseudonyms: Vec<&str> = fields.split(", 1.1 callwright-").skip(1).collect();
    pseudonyms.sort_unstable();
    pseudonyms.dedup();
    assert_eq!(pseudonyms.len(), 3, "each proxy has its own: {fields}");
}

#[tokio::test]
async fn an_upstream_that_is_a_listener_fails_at_start_and_in_doctor() {
    let free = || StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (client, operator) = (free(), free());
    for (host, port) in [("127.0.0.1", client), ("localhost", client), ("0.0.0.0", client), ("127.0.0.1", operator)] {
        let url = format!("http://{host}:{port}/v1");
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:{client}\"\noperator_listen = \"127.0.0.1:{operator}\"\n[store]\nurl = \"\"\n\
             [upstreams.default]\nbase_url = \"{url}\"\n"
        );
        let refusal = Proxy::refusal(&config).await;
        for part in ["upstreams.default.base_url", url.as_str(), "own listener", "CALLWRIGHT_UPSTREAM_URL"] {
            assert!(refusal.contains(part), "{part}: {refusal}");
        }
        let said = Folder::with(&[("callwright.toml", config.as_bytes())]).run(&["doctor", "--format", "json"], b"");
        let findings = said.lines();
        let found = findings.iter().find(|finding| finding["check"] == "upstream default").unwrap();
        assert!(found["status"] == "fail" && found["message"].to_string().contains("own listener"), "{found}");
    }
}
