//! Paths beside the endpoints of turns, spellings of these, and upstreams that do not serve a protocol.

use http::Method;
use serde_json::json;

use super::api::{APIS, Api, FIELDS, call, text};
use super::sse;
use crate::support::{Proxy, Reply, Server, config};

#[tokio::test]
async fn other_paths_below_the_endpoints_pass_through() {
    let upstream = Server::scripted(|_, received| {
        Reply::body(
            200,
            &[("content-type", "application/json")],
            format!("{{ \"from\":\"{} {}\"}}", received.method, received.target),
        )
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for (method, path) in [
        (Method::GET, "/v1/responses/resp_1?include[]=x"),
        (Method::DELETE, "/v1/responses/resp_1"),
        (Method::POST, "/v1/responses/resp_1/cancel"),
        (Method::GET, "/v1/responses/resp_1/input_items?limit=2"),
        (Method::POST, "/v1/responses/input_tokens"),
        (Method::POST, "/v1/responses/compact"),
        (Method::POST, "/v1/messages/count_tokens"),
        (Method::POST, "/v1/messages/batches"),
        (Method::GET, "/v1/messages/batches"),
        (Method::GET, "/v1/messages/batches/msgbatch_1/results"),
        (Method::POST, "/v1/messages/batches/msgbatch_1/cancel"),
        (Method::POST, "/v1/conversations"),
        (Method::POST, "/v1/threads/thread_1/messages"),
    ] {
        let body = if method == Method::POST { "{ \"messages\" : [ ]}" } else { "" };
        let answer = proxy.client().send(method.clone(), path, &FIELDS, body).await;
        assert_eq!(answer.text(), format!("{{ \"from\":\"{method} {path}\"}}"), "{path}");
        assert_eq!(answer.verdict(), "unguarded", "{path}");
        assert_eq!(upstream.last_request().text(), body, "{path}");
    }
    assert_eq!(proxy.metrics().await.sum("unguarded_requests_total", &[]), 0.0);
}

/// CLIProxyAPI issue 3326: a provider without `count_tokens` must not count as broken.
#[tokio::test]
async fn failing_token_counts_never_open_the_circuit() {
    let upstream = Server::scripted(|_, received| match received.target.as_str() {
        "/v1/messages" => Api::Messages.reply(received, &[text("Hello.")]),
        _ => Reply::json(500, &json!({"type": "error", "error": {"type": "api_error", "message": "no"}})),
    })
    .await;
    let tables = "circuit_failures = 2\ncircuit_failure_percent = 1\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + tables).await;
    for _ in 0..10 {
        let answer = proxy.client().send(Method::POST, "/v1/messages/count_tokens", &FIELDS, "{}").await;
        assert_eq!(answer.status, 500, "{}", answer.text());
    }
    let answer = Api::Messages.send(&proxy, &Api::Messages.plain("Hello")).await;
    assert_eq!(Api::Messages.outline(&answer.ok()), ["text Hello."]);
    assert_eq!(upstream.received().len(), 11, "nothing was refused by the proxy");
}

#[tokio::test]
async fn tokens_of_an_alias_are_counted_for_its_model() {
    let upstream = Server::always(Reply::json(200, &json!({"input_tokens": 42}))).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "[aliases.helper]\nmodel = \"gpt-real\"\n").await;
    for path in ["/v1/messages/count_tokens", "/v1/responses/input_tokens"] {
        let body = r#"{ "model":"helper", "x": 1.50}"#;
        let answer = proxy.client().send(Method::POST, path, &FIELDS, body).await;
        assert_eq!(answer.ok(), json!({"input_tokens": 42}));
        assert_eq!(upstream.last_request().json(), json!({"model": "gpt-real", "x": 1.5}));
    }
}

#[tokio::test]
async fn failing_turns_open_the_circuit() {
    for api in APIS {
        let upstream = Server::always(Reply::json(
            500,
            &json!({"error": {"message": "no", "type": "t", "param": null, "code": null}}),
        ))
        .await;
        let proxy =
            Proxy::start(config(&upstream.url("/v1")) + "circuit_failures = 2\ncircuit_open_seconds = 600\n").await;
        for _ in 0..2 {
            assert_eq!(api.send(&proxy, &api.plain("Hello")).await.status, 500);
        }
        let answer = api.send(&proxy, &api.plain("Hello")).await;
        assert_eq!(api.error(&answer, 503)["code"], "circuit_open");
        assert!(answer.header("retry-after").is_some());
    }
}

#[tokio::test]
async fn an_unserved_protocol_passes_through_with_one_warning() {
    for api in APIS {
        let upstream =
            Server::scripted(move |_, received| api.reply(received, &[call("a", "getWeather", r#"{"city":"Paris"}"#)]))
                .await;
        let proxy = Proxy::start(config(&upstream.url("/v1")) + "protocols = [\"chat\"]\n").await;
        let request = api.with_tools("Weather?");
        for _ in 0..2 {
            let answer = api.send(&proxy, &request).await;
            assert_eq!(answer.verdict(), "unguarded");
            assert_eq!(answer.ok(), api.answer(&[call("a", "getWeather", r#"{"city":"Paris"}"#)]));
        }
        let events = api.stream_events(&proxy, &request).await;
        assert_eq!(events, api.events(&[call("a", "getWeather", r#"{"city":"Paris"}"#)]));
        assert_eq!(proxy.metrics().await.sum("unguarded_requests_total", &[("protocol", api.label())]), 3.0);
        let log = proxy.log();
        assert_eq!(log.matches("passes through unguarded").count(), 1, "{log}");
        let path = api.path().strip_prefix("/v1").unwrap();
        assert!(log.contains(path), "{log}");
    }
}

#[tokio::test]
async fn a_turn_fails_over_only_to_upstreams_of_its_protocol() {
    for api in APIS {
        let serving = Server::scripted(move |_, received| api.reply(received, &[text("Hello.")])).await;
        let chat_only = Server::replying([]).await;
        let tables = format!(
            "protocols = [\"chat\"]\n[upstreams.other]\nbase_url = \"{}\"\n[aliases.helper]\nmodel = \"gpt-test\"\nfallbacks = [{{upstream = \"other\", model = \"gpt-test\"}}]\n",
            serving.url("/v1")
        );
        let proxy = Proxy::start(config(&chat_only.url("/v1")) + &tables).await;
        let mut request = api.plain("Hello");
        request["model"] = json!("helper");
        for answer in api.both(&proxy, &request).await {
            assert_eq!(api.outline(&answer), ["text Hello."], "{api:?}");
        }
        assert!(chat_only.received().is_empty());
    }
}

#[tokio::test]
async fn aliases_serve_every_protocol_and_are_listed() {
    let upstream = Server::scripted(|_, received| {
        if received.method == "GET" {
            return Reply::json(200, &json!({"object": "list", "data": [{"id": "gpt-test", "object": "model", "created": 1, "owned_by": "v"}]}));
        }
        let api = if received.target == "/v1/responses" { Api::Responses } else { Api::Messages };
        api.reply(received, &[text("Hello.")])
    })
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "[aliases.helper]\nmodel = \"gpt-real\"\n").await;
    let models = proxy.client().get("/v1/models").await.ok();
    let ids: Vec<&str> = models["data"].as_array().unwrap().iter().filter_map(|model| model["id"].as_str()).collect();
    assert!(ids.contains(&"helper") && ids.contains(&"gpt-test"), "{ids:?}");
    for api in APIS {
        let mut request = api.plain("Hello");
        request["model"] = json!("helper");
        api.both(&proxy, &request).await;
        let sent = upstream.last_request().json();
        assert_eq!(sent["model"], "gpt-real");
        request["model"] = json!("gpt-real");
        request["stream"] = json!(true);
        assert_eq!(sent, request, "{api:?}: nothing else is changed");
    }
}

#[tokio::test]
async fn spellings_of_an_endpoint_are_guarded() {
    for (api, spellings) in [
        (Api::Responses, ["/v1//responses", "/v1/%72esponses", "/v1/responses/", "/openai/v1/responses", "/responses"]),
        (Api::Messages, ["/v1//messages", "/v1/%6dessages", "/v1/messages/", "/v1/./messages", "/messages"]),
    ] {
        let upstream =
            Server::scripted(move |_, received| api.reply(received, &[call("a", "getWeather", r#"{"city":"Paris"}"#)]))
                .await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for path in spellings {
            let answer = send_raw(&proxy, api, path).await;
            assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("get_weather"), "{path}: {answer}");
            assert_eq!(upstream.last_request().target, api.path(), "{path}");
        }
    }
}

#[tokio::test]
async fn disguises_of_an_endpoint_are_refused_with_a_hint() {
    for (api, disguises) in [
        (
            Api::Responses,
            ["/v1/Responses", "/v1/responses;x", "/v1/responses%20", "/v1/RESPONSES/", "/v1/%ef%bd%92esponses"],
        ),
        (Api::Messages, ["/v1/Messages", "/v1/messages;x", "/v1/messages;x=1", "/v1/messages.", "/v1/MESSAGES"]),
    ] {
        let upstream = Server::replying([]).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for path in disguises {
            let answer = send_raw(&proxy, api, path).await;
            assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
            assert!(answer.contains(&format!("did you mean `{}`?", api.path())), "{path}: {answer}");
        }
        assert!(upstream.received().is_empty());
    }
}

/// Sends a turn to a path exactly as written.
async fn send_raw(proxy: &Proxy, api: Api, path: &str) -> String {
    let body = api.with_tools("Weather?").to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    proxy.client().raw(request.as_bytes()).await
}

#[tokio::test]
async fn a_base_url_without_version_gets_a_hint_in_protocol_form() {
    let upstream = Server::replying([]).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let answer = proxy.client().send(Method::POST, "/messages/batches", &FIELDS, "{}").await;
    let error = Api::Messages.error(&answer, 404);
    assert!(error["message"].as_str().unwrap().contains("`/v1/messages/batches`"), "{error}");
    let answer = proxy.client().send(Method::POST, "/responses/compact", &FIELDS, "{}").await;
    assert!(answer.error(404)["message"].as_str().unwrap().contains("`/v1/responses/compact`"));
}

#[tokio::test]
async fn the_stream_of_a_protocol_lacks_the_chat_completions_end() {
    for api in APIS {
        let upstream =
            Server::scripted(move |_, received| api.reply(received, &[call("a", "getWeather", r#"{"city":"Paris"}"#)]))
                .await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
        stream.rest().await;
        assert!(!stream.raw().contains("[DONE]"), "{api:?}");
        assert!(!sse::events_of(&stream.raw()).is_empty());
    }
}

/// SDKs select beta features with `?beta=true`.
#[tokio::test]
async fn the_query_of_an_endpoint_goes_upstream() {
    for api in APIS {
        let upstream = Server::scripted(move |_, received| api.reply(received, &[text("Hello.")])).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let target = format!("{}?beta=true&x=%20", api.path());
        let body = api.plain("Hello").to_string();
        proxy.client().send(Method::POST, &target, &FIELDS, body).await.ok();
        assert_eq!(upstream.last_request().target, target);
    }
}
