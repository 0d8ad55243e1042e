//! A request that requires no change is passed on byte for byte, as is its response. Content outside the proxy's scope
//! is not changed.

use crate::support::answer::{self, completion, one_call, text_chunks};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Event, Gate, Proxy, Reply, Server, config};
use http::Method;
use serde_json::json;

/// A request that no serialiser would write in this form: unusual white space, a number beyond double precision,
/// escapes, unknown members.
const ODD_REQUEST: &str = "{ \"model\" : \"gpt-test\",\n \"seed\": 123456789012345678901234567890, \"temperature\":1.10,\
    \"messages\":[{\"role\":\"user\",\"content\":\"caf\\u00e9 \\/ ☕\",\"x_unknown\":null,\"name\":\"\"}],\"x_vendor\":{\"b\":1,\"a\":[ ]}}";

/// A response in such a form.
const ODD_ANSWER: &str = "{\"x_first\":1.50, \"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\n\
    \"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"\\u00e9\",\"reasoning_content\":\"r\",\"x\":[1e2]},\
    \"finish_reason\":\"stop\",\"logprobs\":null,\"x_more\":{ }}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\
    \"total_tokens\":2,\"x_cached\":123456789012345678901}}";

const JSON: [(&str, &str); 2] = [("content-type", "application/json"), ("authorization", "Bearer sk-client")];

async fn proxy_of(upstream: &Server) -> Proxy {
    Proxy::start(config(&upstream.url("/v1"))).await
}

#[tokio::test]
async fn request_and_answer_keep_every_byte() {
    let upstream = Server::always(Reply::body(200, &[("content-type", "application/json")], ODD_ANSWER)).await;
    let proxy = proxy_of(&upstream).await;
    let answer = proxy.client().send(Method::POST, "/v1/chat/completions", &JSON, ODD_REQUEST).await;
    assert_eq!(answer.text(), ODD_ANSWER);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let received = upstream.only_request();
    assert_eq!((received.method.as_str(), received.target.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(received.text(), ODD_REQUEST);
}

#[tokio::test]
async fn a_clean_call_keeps_every_byte_of_the_answer_and_its_request() {
    let body = completion(
        json!({"role": "assistant", "content": null, "reasoning": "think", "tool_calls": [
            {"id": "call_1", "type": "function", "x_signature": "abc", "function": {"name": "get_weather", "arguments": "{ \"days\" : 2.0,\"city\":\"Li\\u00e8ge\"}"}}
        ]}),
        "tool_calls",
    )
    .to_string()
    .replace("2.0", "2");
    let upstream = Server::always(Reply::body(200, &[("content-type", "application/json")], body.clone())).await;
    let proxy = proxy_of(&upstream).await;
    let request = with_tools("Weather in Liège?");
    let answer = proxy.client().chat(&request).await;
    assert_eq!(answer.verdict(), "clean");
    assert_eq!(answer.text(), body);
    assert_eq!(upstream.only_request().text(), request.to_string());
}

#[tokio::test]
async fn a_stream_keeps_every_byte() {
    for (request, chunks) in [
        (plain("Hello"), text_chunks("Hello to you too")),
        (with_tools("Hello"), text_chunks("Hello to you too")),
        (with_tools("Weather?"), answer::call_chunks(&[("call_1", "get_weather", r#"{"city":"Paris","days":3}"#)])),
    ] {
        let sent: String =
            chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>() + "data: [DONE]\n\n";
        let upstream = Server::always(Reply::events(&chunks)).await;
        let proxy = proxy_of(&upstream).await;
        let mut stream = proxy.client().chat_stream(&streamed(request)).await;
        assert_eq!(stream.status, 200);
        assert!(stream.header("content-type").is_some_and(|value| value.starts_with("text/event-stream")));
        stream.assemble().await;
        assert_eq!(stream.raw(), sent);
    }
}

#[tokio::test]
async fn answers_carry_the_upstreams_fields_and_ours() {
    let fields = [
        ("content-type", "application/json"),
        ("x-request-id", "req_42"),
        ("x-ratelimit-remaining-requests", "9"),
        ("openai-processing-ms", "12"),
        ("x-vendor", "kept"),
    ];
    let body = completion(json!({"role": "assistant", "content": "hi"}), "stop").to_string();
    let upstream = Server::always(Reply::body(200, &fields, body)).await;
    let proxy = proxy_of(&upstream).await;
    let answer = proxy.client().chat(&plain("Hello")).await;
    for (name, value) in fields {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let trace = answer.header("x-callwright-trace").unwrap();
    assert!(trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit()), "{trace}");
    assert_eq!(answer.verdict(), "text");
    assert_eq!(answer.header("x-callwright-attempts"), Some("1"));
    assert!(answer.header("x-callwright-overhead-ms").unwrap().parse::<f64>().unwrap() >= 0.0);
    let again = proxy.client().chat(&plain("Hello")).await;
    assert_ne!(again.header("x-callwright-trace"), Some(trace));
}

#[tokio::test]
async fn errors_of_the_upstream_reach_the_client_unchanged() {
    let proxy_upstream = Server::scripted(|_, received| {
        let status = received.json()["status"].as_u64().unwrap();
        let body = format!(
            "{{ \"error\": {{\"message\":\"no {status}\",\"type\":\"t\",\"param\":null,\"code\":\"c\",\"x\":1.0}}}}"
        );
        let fields = [
            ("content-type", "application/json"),
            ("retry-after", "7"),
            ("x-ratelimit-reset-tokens", "6m0s"),
            ("x-request-id", "req_e"),
        ];
        Reply::body(u16::try_from(status).unwrap(), &fields, body)
    })
    .await;
    let proxy = proxy_of(&proxy_upstream).await;
    for status in [400_u16, 401, 403, 404, 409, 422, 429, 500, 503] {
        for stream in [false, true] {
            let mut request = with_tools("Hello");
            request["status"] = json!(status);
            request["stream"] = json!(stream);
            let answer = proxy.client().chat(&request).await;
            assert_eq!(answer.status, status);
            assert_eq!(
                answer.text(),
                format!(
                    "{{ \"error\": {{\"message\":\"no {status}\",\"type\":\"t\",\"param\":null,\"code\":\"c\",\"x\":1.0}}}}"
                )
            );
            assert_eq!(answer.header("retry-after"), Some("7"));
            assert_eq!(answer.header("x-ratelimit-reset-tokens"), Some("6m0s"));
            assert_eq!(answer.header("x-request-id"), Some("req_e"));
        }
    }
}

#[tokio::test]
async fn an_upstreams_error_page_without_json_passes_unchanged() {
    let upstream = Server::always(Reply::body(502, &[("content-type", "text/html")], "<h1>Bad gateway</h1>")).await;
    let proxy = proxy_of(&upstream).await;
    let answer = proxy.client().chat(&with_tools("Hello")).await;
    assert_eq!((answer.status.as_u16(), answer.text().as_str()), (502, "<h1>Bad gateway</h1>"));
    assert_eq!(answer.header("content-type"), Some("text/html"));
}

#[tokio::test]
async fn every_other_path_below_v1_is_untouched() {
    let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let sent_back = bytes.clone();
    let upstream = Server::scripted(move |_, _| {
        let fields = [
            ("content-type", "application/octet-stream"),
            ("content-encoding", "gzip"),
            ("etag", "\"e\""),
            ("x-request-id", "req_1"),
        ];
        Reply::body(201, &fields, sent_back.clone())
    })
    .await;
    let proxy = proxy_of(&upstream).await;
    let fields = [
        ("content-type", "multipart/form-data; boundary=x"),
        ("authorization", "Bearer sk-client"),
        ("accept-encoding", "gzip, br"),
    ];
    for (method, path) in [
        (Method::POST, "/v1/embeddings"),
        (Method::POST, "/v1/completions"),
        (Method::POST, "/v1/audio/transcriptions"),
        (Method::PUT, "/v1/uploads/part%201?x=%20a+b%2f&y=&y=2"),
        (Method::PATCH, "/v1/things/1"),
    ] {
        let before = upstream.received().len();
        let answer = proxy.client().send(method.clone(), path, &fields, bytes.clone()).await;
        assert_eq!(answer.status, 201, "{path}: {}", answer.text());
        assert_eq!(answer.body, bytes, "{path}");
        assert_eq!(answer.header("content-encoding"), Some("gzip"), "{path}");
        assert_eq!(answer.header("etag"), Some("\"e\""), "{path}");
        assert_eq!(answer.verdict(), "unguarded", "{path}");
        let received = upstream.received().remove(before);
        assert_eq!((received.method.as_str(), received.target.as_str()), (method.as_str(), path));
        assert_eq!(received.body, bytes, "{path}");
        assert_eq!(received.header("content-length"), Some("70000"), "{path}: {:?}", received.headers);
        for (name, value) in fields {
            assert_eq!(received.header(name), Some(value), "{path}");
        }
    }
}

#[tokio::test]
async fn stored_completions_pass_through_although_they_share_the_path() {
    let upstream = Server::always(Reply::json(200, &json!({"object": "list", "data": []}))).await;
    let proxy = proxy_of(&upstream).await;
    for (method, path) in [
        (Method::GET, "/v1/chat/completions?limit=1"),
        (Method::GET, "/v1/chat/completions/chatcmpl-1"),
        (Method::DELETE, "/v1/chat/completions/chatcmpl-1"),
        (Method::GET, "/v1/models/gpt-test"),
        (Method::GET, "/v1/models/meta-llama%2FLlama-3"),
    ] {
        let answer = proxy.client().send(method.clone(), path, &[], "").await;
        assert_eq!(answer.ok()["object"], "list", "{path}");
        let received = upstream.received().pop().unwrap();
        assert_eq!(received.header("transfer-encoding"), None, "{path}: {:?}", received.headers);
        assert_eq!((received.method.as_str(), received.target.as_str()), (method.as_str(), path));
    }
}

#[tokio::test]
async fn a_passed_through_stream_is_not_buffered() {
    let gate = Gate::closed();
    let reply = Reply::stream()
        .event(&json!({"type": "response.created"}))
        .wait(&gate)
        .event(&json!({"type": "response.done"}))
        .end();
    let upstream = Server::always(reply).await;
    let proxy = proxy_of(&upstream).await;
    let mut request =
        reqwest::Client::new().post(proxy.client().url("/v1/completions")).body("{}").send().await.unwrap();
    let first = crate::support::guarded("the first event", request.chunk()).await.unwrap().unwrap();
    assert!(first.starts_with(b"data: {\"type\":\"response.created\"}"));
    gate.open();
    let rest = crate::support::guarded("the rest", request.bytes()).await.unwrap();
    assert!(rest.ends_with(b"data: {\"type\":\"response.done\"}\n\n"));
}

#[tokio::test]
async fn models_are_the_upstreams_and_the_aliases() {
    let list = json!({"object": "list", "x": 1, "data": [{"id": "gpt-test", "object": "model", "created": 5, "owned_by": "vendor", "x_context": 8192}]});
    let upstream = Server::always(Reply::json(200, &list)).await;
    let aliases = "[aliases.helper]\nmodel = \"gpt-test\"\n";
    let proxy = Proxy::start(config(&upstream.url("/v1")) + aliases).await;
    let answer = proxy.client().get("/v1/models").await.ok();
    assert_eq!(answer["object"], "list");
    let models = answer["data"].as_array().unwrap();
    assert!(models.contains(&list["data"][0]), "{answer}");
    let helper = models.iter().find(|model| model["id"] == "helper").unwrap();
    assert_eq!(helper["object"], "model");
    let page = proxy.client().get("/v1/models?limit=1&after_id=gpt-test").await.ok();
    assert_eq!(page["data"], list["data"], "the first page has the aliases");
    assert_eq!(upstream.received().pop().unwrap().target, "/v1/models?limit=1&after_id=gpt-test");
    assert!(helper["created"].is_i64() && helper["owned_by"].is_string(), "{helper}");
}

#[tokio::test]
async fn aliases_are_listed_while_the_upstream_has_no_list() {
    let upstream = Server::always(Reply::json(
        404,
        &json!({"error": {"message": "no", "type": "t", "param": null, "code": null}}),
    ))
    .await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "[aliases.helper]\nmodel = \"gpt-test\"\n").await;
    let answer = proxy.client().get("/v1/models").await.ok();
    assert_eq!(answer["data"].as_array().unwrap().len(), 1, "{answer}");
    assert_eq!(answer["data"][0]["id"], "helper");
}

#[tokio::test]
async fn an_alias_changes_the_models_name_and_no_other_byte() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + "[aliases.helper]\nmodel = \"vendor/large\"\n").await;
    let request = ODD_REQUEST.replace("\"gpt-test\"", "\"helper\"");
    proxy.client().send(Method::POST, "/v1/chat/completions", &JSON, request.clone()).await.ok();
    let received = upstream.only_request();
    assert_eq!(received.json()["model"], "vendor/large");
    for value in ["123456789012345678901234567890", "1.10", "\"caf\\u00e9 \\/ ☕\"", "\"x_vendor\":{\"b\":1,\"a\":[ ]}"]
    {
        assert!(received.text().contains(value), "{value} in {}", received.text());
    }
}

#[tokio::test]
async fn malformed_requests_get_an_error_without_the_upstream() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = proxy_of(&upstream).await;
    let bodies: [&[u8]; 10] = [
        b"",
        b"{",
        b"[]",
        b"\"text\"",
        b"\0",
        b"{\"model\":\"m\",\"messages\":[]} x",
        b"{\"model\":5,\"messages\":[]}",
        b"{\"model\":\"m\",\"messages\":{}}",
        b"{\"model\":\"m\",\"messages\":[],\"stream\":\"yes\"}",
        b"{\"model\":\"\xff\"}",
    ];
    for body in bodies {
        let answer = proxy.client().send(Method::POST, "/v1/chat/completions", &JSON, body.to_vec()).await;
        assert_eq!(answer.error(400)["type"], "invalid_request_error", "{}", String::from_utf8_lossy(body));
    }
    assert!(upstream.received().is_empty());
}

#[tokio::test]
async fn what_a_request_lacks_is_the_upstreams_to_judge() {
    let refusal = json!({"error": {"message": "you must provide a model parameter", "type": "invalid_request_error", "param": null, "code": null}});
    let upstream = Server::always(Reply::json(400, &refusal)).await;
    let proxy = proxy_of(&upstream).await;
    for body in ["{}", "{\"messages\":[]}", "{\"model\":null}", "{\"model\":\"m\",\"messages\":[5],\"tools\":[{}]}"] {
        let answer = proxy.client().send(Method::POST, "/v1/chat/completions", &JSON, body).await;
        assert_eq!((answer.status.as_u16(), answer.json()), (400, refusal.clone()), "{body}");
        assert_eq!(upstream.received().pop().unwrap().text(), body);
    }
}

#[tokio::test]
async fn a_request_beyond_the_limit_is_refused() {
    let upstream = Server::always(answer::text("hi")).await;
    let limited =
        crate::support::config::config_with_server(&upstream.url("/v1"), "sqlite::memory:", "body_limit_bytes = 1000");
    let proxy = Proxy::start(limited).await;
    proxy.client().chat(&plain(&"x".repeat(2_000))).await.error(413);
    proxy.client().chat(&plain("short")).await.ok();
}

#[tokio::test]
async fn paths_outside_v1_are_not_found() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = proxy_of(&upstream).await;
    for path in ["/", "/v2/models", "/metrics", "/admin/traces", "/v1"] {
        proxy.client().get(path).await.error(404);
    }
    assert!(upstream.received().is_empty());
}

#[tokio::test]
async fn the_first_plain_stream_event_does_not_wait_for_the_second() {
    let gate = Gate::closed();
    let chunks = text_chunks("Hello you");
    let mut reply = Reply::stream().event(&chunks[0]).event(&chunks[1]).wait(&gate);
    for chunk in &chunks[2..] {
        reply = reply.event(chunk);
    }
    let upstream = Server::always(reply.done()).await;
    let proxy = proxy_of(&upstream).await;
    let mut stream = proxy.client().chat_stream(&streamed(plain("Hello"))).await;
    assert_eq!(stream.next_chunk().await, chunks[0]);
    assert_eq!(stream.next_chunk().await, chunks[1]);
    gate.open();
    assert_eq!(stream.rest().await.last(), Some(&Event::Done));
}

#[tokio::test]
async fn a_call_without_offered_tools_is_the_clients_business() {
    let upstream = Server::always(one_call("anything", "no json")).await;
    let proxy = proxy_of(&upstream).await;
    let answer = proxy.client().chat(&plain("Hello")).await;
    assert_eq!(answer.message()["tool_calls"][0]["function"]["arguments"], "no json");
    assert_eq!(upstream.received().len(), 1);
}
