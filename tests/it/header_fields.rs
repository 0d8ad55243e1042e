//! Header fields that are forwarded or removed, and the network route of requests.

use crate::support::answer::{self, call, completion, one_call};
use crate::support::request::{plain, with_tools};
use crate::support::tls::TlsFront;
use crate::support::{Proxy, Reply, Server, config};
use http::Method;
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;

async fn proxy_of(upstream: &Server) -> Proxy {
    Proxy::start(config(&upstream.url("/v1"))).await
}

fn to_helper(mut request: Value) -> Value {
    request["model"] = json!("helper");
    request
}

const CREDENTIALS: [(&str, &str); 4] = [
    ("authorization", "Bearer sk-client"),
    ("api-key", "azure-client"),
    ("openai-organization", "org-client"),
    ("openai-project", "proj-client"),
];

/// Returns the fields of a JSON request with all credentials.
fn with_credentials() -> Vec<(&'static str, &'static str)> {
    CREDENTIALS.into_iter().chain([("content-type", "application/json")]).collect()
}

#[tokio::test]
async fn client_credentials_go_to_a_default_upstream_without_its_own() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = proxy_of(&upstream).await;
    for path in ["/v1/chat/completions", "/v1/embeddings"] {
        proxy.client().send(Method::POST, path, &with_credentials(), plain("Hello").to_string()).await.ok();
        let received = upstream.received().pop().unwrap();
        for (name, value) in CREDENTIALS {
            assert_eq!(received.header(name), Some(value), "{path}");
        }
    }
}

#[tokio::test]
async fn a_configured_key_replaces_the_clients_credentials() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy =
        Proxy::start(config(&upstream.url("/v1")) + "api_key = \"sk-operator\"\norganization = \"org-operator\"\n")
            .await;
    for path in ["/v1/chat/completions", "/v1/embeddings"] {
        proxy.client().send(Method::POST, path, &with_credentials(), plain("Hello").to_string()).await.ok();
        let received = upstream.received().pop().unwrap();
        assert_eq!(received.header("authorization"), Some("Bearer sk-operator"));
        assert_eq!(received.header("openai-organization"), Some("org-operator"));
        assert!(received.headers.iter().all(|(_, value)| !value.contains("client")), "{path}: {:?}", received.headers);
    }
}

#[tokio::test]
async fn a_configured_key_lets_only_listed_client_fields_pass() {
    let upstream = Server::always(answer::text("hi")).await;
    let key = "api_key = \"sk-operator\"\nforward_headers = [\"x-team\"]\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + key).await;
    let forwarded = [
        ("user-agent", "claude-cli/2.0"),
        ("anthropic-beta", "b"),
        ("x-app", "cli"),
        ("x-stainless-lang", "js"),
        ("session_id", "s"),
        ("originator", "codex_cli_rs"),
        ("idempotency-key", "k"),
        ("traceparent", "00-1-1-00"),
        ("x-team", "blue"),
    ];
    let removed = [
        ("anthropic-workspace-id", "w"),
        ("x-amz-security-token", "t"),
        ("x-forwarded-for", "10.0.0.1"),
        ("content_length", "1"),
        ("cookie", "c"),
        ("chatgpt-account-id", "a"),
        ("x-unknown", "1"),
    ];
    for path in ["/v1/chat/completions", "/v1/embeddings"] {
        let fields: Vec<_> = forwarded.into_iter().chain(removed).chain(with_credentials()).collect();
        proxy.client().send(Method::POST, path, &fields, plain("Hello").to_string()).await.ok();
        let received = upstream.received().pop().unwrap();
        for (name, value) in forwarded {
            assert_eq!(received.header(name), Some(value), "{path}: {name}");
        }
        for (name, _) in removed {
            assert_eq!(received.header(name), None, "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn bytes_on_an_idle_connection_to_an_upstream_are_logged() {
    let gate = crate::support::Gate::closed();
    let body = completion(json!({"role": "assistant", "content": "hi"}), "stop").to_string();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let reply = Reply::raw(head + &body).wait(&gate).piece("HTTP/1.1 200 OK\r\nsecret: value\r\n\r\n");
    let upstream = Server::always(reply.then_silence()).await;
    let proxy = proxy_of(&upstream).await;
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "hi");
    gate.open();
    let text = "an upstream sent bytes on a connection without a request";
    crate::support::guarded("waiting for the log line", async {
        while !proxy.log().contains(text) {
            tokio::time::sleep(crate::support::POLL).await;
        }
    })
    .await;
    let log = proxy.log();
    assert!(log.contains(upstream.url("").trim_start_matches("http://")) && !log.contains("secret"), "{log}");
    assert_eq!(log.matches(text).count(), 1, "{log}");
}

#[tokio::test]
async fn the_clients_credentials_never_go_to_another_upstream() {
    let (first, other) = (Server::always(answer::text("hi")).await, Server::always(answer::text("hi")).await);
    let config = config(&first.url("/v1"))
        + &format!("[upstreams.other]\nbase_url = \"{}\"\n[aliases.helper]\nupstream = \"other\"\n", other.url("/v1"));
    let proxy = Proxy::start(config).await;
    let body = to_helper(plain("Hello")).to_string();
    proxy.client().send(Method::POST, "/v1/chat/completions", &with_credentials(), body).await.ok();
    let received = other.only_request();
    for (name, _) in CREDENTIALS {
        assert_eq!(received.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn hop_by_hop_fields_end_at_the_proxy() {
    let body = completion(json!({"role": "assistant", "content": "hi"}), "stop").to_string();
    let fields = [
        ("content-type", "application/json"),
        ("connection", "keep-alive, x-hop-back"),
        ("keep-alive", "timeout=5"),
        ("x-hop-back", "1"),
        ("proxy-authenticate", "Basic"),
    ];
    let upstream = Server::always(Reply::body(200, &fields, body)).await;
    let proxy = proxy_of(&upstream).await;
    let request = plain("Hello").to_string();
    for path in ["/v1/chat/completions", "/v1/embeddings"] {
        let bytes = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n\
             Keep-Alive: timeout=9\r\nTE: trailers\r\nProxy-Authorization: Basic eA==\r\nUpgrade: h2c\r\nX-Kept: 1\r\n\r\n{request}",
            request.len()
        );
        let answer = proxy.client().raw(bytes.as_bytes()).await.to_ascii_lowercase();
        assert!(answer.starts_with("http/1.1 200"), "{answer}");
        for field in ["x-hop-back", "keep-alive:", "proxy-authenticate"] {
            assert!(!answer.contains(field), "{path}: {field} in {answer}");
        }
        let received = upstream.received().pop().unwrap();
        for field in ["x-hop", "keep-alive", "te", "proxy-authorization", "upgrade"] {
            assert_eq!(received.header(field), None, "{path}: {field}");
        }
        assert_eq!(received.header("x-kept"), Some("1"), "{path}");
        assert_eq!(received.header("host"), Some(upstream.url("").trim_start_matches("http://")), "{path}");
    }
}

#[tokio::test]
async fn identity_encoding_is_asked_for_where_answers_are_judged() {
    let upstream = Server::always(one_call("get_weather", PARIS)).await;
    let proxy = proxy_of(&upstream).await;
    proxy.client().chat_with(&with_tools("Weather?"), &[("accept-encoding", "gzip, br")]).await.ok();
    let received = upstream.only_request();
    assert!(matches!(received.header("accept-encoding"), None | Some("identity")), "{:?}", received.headers);
}

#[tokio::test]
async fn lengths_and_encodings_of_changed_bodies_are_right() {
    let upstream = Server::always(one_call("getWeather", PARIS)).await;
    let proxy =
        Proxy::start(config(&upstream.url("/v1")) + "[aliases.helper]\nmodel = \"a-longer-name-than-the-alias\"\n")
            .await;
    let answer = proxy.client().chat(&to_helper(with_tools("Weather?"))).await;
    assert_eq!(answer.header("content-length").map(str::parse), Some(Ok(answer.body.len())));
    assert_eq!(answer.header("content-encoding"), None);
    assert_eq!(answer.header("transfer-encoding"), None);
}

#[tokio::test]
async fn an_encoding_that_was_not_requested_is_understood_anyway() {
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call("a", "getWeather", PARIS)]});
    let upstream = Server::always(Reply::gzipped_json(&completion(message, "tool_calls"))).await;
    let proxy = proxy_of(&upstream).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.header("content-encoding"), None);
    assert_eq!(answer.message()["tool_calls"][0]["function"]["name"], "get_weather");
}

#[tokio::test]
async fn no_cross_origin_access_is_granted() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = proxy_of(&upstream).await;
    let answer = proxy.client().chat_with(&plain("Hello"), &[("origin", "https://evil.example")]).await;
    assert_eq!(answer.error(403)["code"], "origin_not_allowed");
    assert_eq!(answer.header("access-control-allow-origin"), None);
    let fields = [("origin", "https://evil.example"), ("access-control-request-method", "POST")];
    let answer = proxy.client().send(Method::OPTIONS, "/v1/chat/completions", &fields, "").await;
    assert_eq!((answer.status.as_u16(), answer.header("access-control-allow-origin")), (403, None));
    assert!(upstream.received().is_empty());
}

#[tokio::test]
async fn the_surroundings_http_proxy_is_honoured() {
    let relay = Server::always(answer::text("by the relay")).await;
    let variables = [("HTTP_PROXY", relay.url("")), ("http_proxy", relay.url(""))];
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    let proxy = Proxy::start_with_environment(config("http://model.invalid/v1"), &variables).await;
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "by the relay");
    assert_eq!(relay.only_request().target, "http://model.invalid/v1/chat/completions");
}

#[tokio::test]
async fn the_surroundings_https_proxy_and_no_proxy_are_honoured() {
    let relay = Server::always(Reply::body(403, &[], "")).await;
    let address = relay.url("");
    let proxy = Proxy::start_with_environment(config("https://model.invalid/v1"), &[("HTTPS_PROXY", &address)]).await;
    proxy.client().chat(&plain("Hello")).await.error(502);
    let received = relay.received().remove(0);
    assert_eq!((received.method.as_str(), received.target.as_str()), ("CONNECT", "model.invalid:443"));
    let upstream = Server::always(answer::text("directly")).await;
    let variables = [("HTTP_PROXY", address.as_str()), ("NO_PROXY", "127.0.0.1")];
    let proxy = Proxy::start_with_environment(config(&upstream.url("/v1")), &variables).await;
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "directly");
}

#[tokio::test]
async fn a_custom_authority_is_trusted_only_where_ca_file_names_it() {
    let upstream = Server::always(answer::text("in secret")).await;
    let front = TlsFront::start(&upstream).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, &front.authority).unwrap();
    let trusting = config(&front.url("/v1")) + &format!("ca_file = {file:?}\n");
    let proxy = Proxy::start(trusting).await;
    assert_eq!(proxy.client().chat(&plain("Hello")).await.message()["content"], "in secret");
    let proxy = Proxy::start(config(&front.url("/v1")) + "connect_retries = 0\n").await;
    assert_eq!(proxy.client().chat(&plain("Hello")).await.error(502)["code"], "connect");
    assert_eq!(upstream.received().len(), 1);
}
