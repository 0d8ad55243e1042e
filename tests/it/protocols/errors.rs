//! Errors: the upstream's pass as they came, the proxy's own have the form of the protocol.

use http::Method;
use serde_json::{Value, json};

use super::api::{APIS, Api, FIELDS, text};
use super::sse;
use crate::support::{Proxy, Reply, Server, config};

/// Returns an error body of the provider, in a form that no serialiser would write.
fn error_body(api: Api, status: u16) -> String {
    match api {
        Api::Responses => format!(
            "{{ \"error\": {{\"message\":\"no {status}\",\"type\":\"t\",\"param\":null,\"code\":\"c\",\"x\":1.0}}}}"
        ),
        Api::Messages => format!(
            "{{ \"type\":\"error\", \"error\": {{\"type\":\"t\",\"message\":\"no {status}\",\"x\":1.0}},\"request_id\":\"req_e\"}}"
        ),
    }
}

#[tokio::test]
async fn errors_of_the_upstream_reach_the_client_unchanged() {
    for api in APIS {
        let upstream = Server::scripted(move |_, received| {
            let status = u16::try_from(received.json()["x_status"].as_u64().unwrap()).unwrap();
            let fields = [("content-type", "application/json"), ("retry-after", "7"), ("request-id", "req_e")];
            Reply::body(status, &fields, error_body(api, status))
        })
        .await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for status in [400_u16, 401, 403, 404, 413, 429, 500, 529] {
            for is_stream in [false, true] {
                let mut request = api.with_tools("Hello");
                (request["x_status"], request["stream"]) = (json!(status), json!(is_stream));
                let answer = api.send(&proxy, &request).await;
                assert_eq!((answer.status.as_u16(), answer.text()), (status, error_body(api, status)), "{api:?}");
                assert_eq!((answer.header("retry-after"), answer.header("request-id")), (Some("7"), Some("req_e")));
                assert!(answer.header("x-callwright-trace").is_some());
            }
        }
    }
}

#[tokio::test]
async fn a_temporary_error_is_retried() {
    for api in APIS {
        let upstream = Server::scripted(move |number, received| match number % 2 {
            0 => Reply::body(429, &[("retry-after-ms", "1")], error_body(api, 429)),
            _ => api.reply(received, &[text("Hello.")]),
        })
        .await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        for answer in api.both(&proxy, &api.plain("Hello")).await {
            assert_eq!(api.outline(&answer), ["text Hello."]);
        }
        assert_eq!(upstream.received().len(), 4);
    }
}

#[tokio::test]
async fn an_unreadable_request_is_an_error_in_the_protocols_form() {
    let upstream = Server::replying([]).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")).replace("[store]", "body_limit_bytes = 2000\n[store]")).await;
    for api in APIS {
        let send = async |fields: &[(&str, &str)], body: String| {
            proxy.client().send(Method::POST, api.path(), fields, body).await
        };
        for body in ["", "{", "[]", "null"] {
            api.error(&send(&FIELDS, body.to_owned()).await, 400);
        }
        let mut wrong = api.plain("Hello");
        wrong["tools"] = json!("none");
        let error = api.error(&send(&FIELDS, wrong.to_string()).await, 400);
        assert!(error["message"].as_str().unwrap().contains("tools"), "{error}");
        let html = [("content-type", "text/plain"), FIELDS[1]];
        api.error(&send(&html, api.plain("Hello").to_string()).await, 415);
        let error = api.error(&send(&FIELDS, api.plain(&"x".repeat(3000)).to_string()).await, 413);
        if api == Api::Messages {
            assert_eq!(error["type"], "request_too_large");
        }
        let error = api.error(
            &proxy
                .client()
                .send(Method::POST, api.path(), &[&FIELDS[..], &[("host", "evil.example")]].concat(), "{}")
                .await,
            421,
        );
        assert!(error["message"].as_str().unwrap().contains("evil.example"), "{error}");
    }
    assert!(upstream.received().is_empty());
}

#[tokio::test]
async fn a_request_without_a_valid_key_is_a_401() {
    let upstream = Server::replying([]).await;
    let tables = "api_key = \"sk-upstream\"\n[keys]\nmode = \"required\"\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + tables).await;
    for api in APIS {
        for fields in [&FIELDS[..], &FIELDS[..1]] {
            let answer = proxy.client().send(Method::POST, api.path(), fields, api.plain("Hello").to_string()).await;
            let error = api.error(&answer, 401);
            if api == Api::Messages {
                assert_eq!(error["type"], "authentication_error");
            }
        }
    }
    let answer = proxy.client().send(Method::POST, "/v1/messages/count_tokens", &FIELDS, "{}").await;
    Api::Messages.error(&answer, 401);
    assert!(upstream.received().is_empty());
}

#[tokio::test]
async fn a_silent_upstream_is_an_error_in_the_protocols_form() {
    for api in APIS {
        let refusing = Server::refusing();
        let proxy = Proxy::start(config(&format!("http://{refusing}/v1")) + "connect_retries = 0\n").await;
        for is_stream in [false, true] {
            let mut request = api.plain("Hello");
            request["stream"] = json!(is_stream);
            let error = api.error(&api.send(&proxy, &request).await, 502);
            assert_eq!(error["code"], "connect");
        }
        for reply in
            [Reply::json(200, &json!({"x": 1})), Reply::body(200, &[], "<html>"), Reply::json(200, &json!(null))]
        {
            let upstream = Server::always(reply).await;
            let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
            let error = api.error(&api.send(&proxy, &api.plain("Hello")).await, 502);
            assert_eq!(error["code"], "malformed", "{api:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_failed_with_a_success_status_is_an_error() {
    let mut failed = Api::Responses.answer(&[]);
    (failed["status"], failed["error"]) = (json!("failed"), json!({"code": "server_error", "message": "no"}));
    let bodies = [
        (Api::Responses, failed),
        (Api::Messages, json!({"type": "error", "error": {"type": "api_error", "message": "no"}})),
    ];
    for (api, body) in bodies {
        let upstream = Server::always(Reply::json(200, &body)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let answer = api.send(&proxy, &api.with_tools("Weather?")).await;
        api.error(&answer, 502);
    }
}

#[tokio::test]
async fn an_upstream_that_does_not_serve_the_protocol_is_named() {
    let upstream = Server::replying([]).await;
    let tables = "protocols = [\"chat\"]\n[upstreams.other]\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + tables).await;
    for api in APIS {
        let error = api.error(&api.send(&proxy, &api.plain("Hello")).await, 400);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("`scripted`") && message.contains("protocols"), "{message}");
        assert_eq!(error["code"], "protocol_not_served");
    }
}

/// Returns an error event of the provider.
fn error_event(api: Api, number: usize) -> Value {
    match api {
        Api::Responses => {
            json!({"type": "error", "sequence_number": number, "code": "server_error", "message": "overloaded", "param": null})
        }
        Api::Messages => {
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"})
        }
    }
}

#[tokio::test]
async fn an_error_in_the_upstreams_stream_ends_the_clients() {
    for api in APIS {
        let whole = api.events(&[text("It is raining in Paris.")]);
        let begun = &whole[..whole.len() - 6];
        let error = error_event(api, begun.len());
        let reply = sse::begun(begun).piece(sse::event(&error)).end();
        let upstream = Server::always(reply).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let events = api.stream_events(&proxy, &api.with_tools("Weather?")).await;
        assert_eq!(events.last(), Some(&error), "{api:?}: {events:#?}");
        assert_eq!(events[..events.len() - 1], *begun, "{api:?}");
        assert_eq!(api.assembled(&events), error);
        let traces = proxy.traces_after_stop().await;
        assert!(traces[0]["error"].is_string(), "{:#}", traces[0]);
    }
}

#[tokio::test]
async fn a_failed_response_ends_the_stream_as_it_came() {
    let api = Api::Responses;
    let mut events = api.events(&[text("It rains.")]);
    let number = events.len() - 1;
    let mut response = super::responses_api::response("failed", Vec::new());
    response["error"] = json!({"code": "server_error", "message": "no"});
    events[number] = json!({"type": "response.failed", "response": response, "sequence_number": number});
    let upstream = Server::always(sse::reply(&events)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let got = api.stream_events(&proxy, &api.with_tools("Weather?")).await;
    assert_eq!(got.last(), events.last(), "{got:#?}");
}

#[tokio::test]
async fn a_stream_that_breaks_off_ends_with_an_error_of_the_proxy() {
    for api in APIS {
        let whole = api.events(&[text("It is raining in Paris.")]);
        let begun = &whole[..whole.len() - 6];
        for (reply, code) in [(sse::begun(begun).end(), "truncated"), (sse::begun(begun).then_reset(), "reset")] {
            let upstream = Server::always(reply).await;
            let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
            let events = api.stream_events(&proxy, &api.with_tools("Weather?")).await;
            let error = api.assembled(&events);
            assert_eq!(error["type"], "error", "{api:?}: {events:#?}");
            let found = if api == Api::Responses { &error["code"] } else { &error["error"]["code"] };
            assert_eq!(found, code, "{api:?}: {error}");
            assert_eq!(events[..events.len() - 1], *begun, "{api:?}: no text is lost");
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_cancels_the_upstreams_answer() {
    for api in APIS {
        let events = api.events(&[text("It is raining in Paris.")]);
        let upstream = Server::always(sse::begun(&events[..8]).then_silence()).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
        stream.await_raw("delta").await;
        drop(stream);
        upstream.hangup().await;
        let silent = Server::always(Reply::silence()).await;
        let proxy = Proxy::start(config(&silent.url("/v1"))).await;
        let connection = proxy.client().begin(api.path(), &api.with_tools("Weather?"), &FIELDS).await;
        silent.arrival_of(1).await;
        connection.leave().await;
        silent.hangup().await;
    }
}

#[tokio::test]
async fn an_error_behind_a_late_streams_head_has_its_event_form() {
    for api in APIS {
        let gate = crate::support::Gate::closed();
        let body = error_body(api, 400);
        let upstream =
            Server::always(Reply::body(400, &[("content-type", "application/json")], body).after(&gate)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1")) + "[pipeline]\nhold_head_seconds = 1\n").await;
        let mut stream = api.stream(&proxy, &api.with_tools("Weather?")).await;
        assert_eq!(stream.status, 200);
        gate.open();
        stream.rest().await;
        let mut events = sse::events_of(&stream.raw());
        events.retain(|event| event["type"] != "ping");
        assert_eq!(events.len(), 1, "{events:#?}");
        assert_eq!(events[0]["type"], "error");
        assert!(events[0].to_string().contains("no 400"), "{events:#?}");
    }
}
