//! Misbehaving upstreams: the client gets a response in OpenAI's format, and the proxy continues to serve.

use crate::support::answer::{self, call_begin, call_piece, completion, finish, role, text_chunk};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Answer, Assembled, Event, Proxy, Reply, Server, config};
use serde_json::{Value, json};

/// Short timeouts and small limits, so that silence and endless responses end soon.
const IMPATIENT: &str = "connect_timeout_seconds = 2\nfirst_byte_timeout_seconds = 1\nidle_timeout_seconds = 1\n\
                         max_answer_bytes = 100000\nmax_event_bytes = 20000\n";

/// Starts an upstream whose first response is `reply` and whose later responses are valid.
async fn broken_once(reply: Reply) -> (Server, Proxy) {
    let upstream =
        Server::scripted(move |number, _| if number == 0 { reply.clone() } else { answer::text("sound") }).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + IMPATIENT).await;
    (upstream, proxy)
}

/// Sends one request with tools while the upstream misbehaves, then checks that the next one is served.
async fn whole(reply: Reply) -> (Answer, Proxy) {
    let (_upstream, proxy) = broken_once(reply).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    check_next_is_served(&proxy).await;
    (answer, proxy)
}

/// Sends the same request as a stream, and returns all events of the response.
async fn events(reply: Reply) -> Vec<Event> {
    let (_upstream, proxy) = broken_once(reply).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    let (status, events) = (stream.status, stream.rest().await);
    assert_eq!(status, 200, "{events:?}");
    check_next_is_served(&proxy).await;
    events
}

async fn check_next_is_served(proxy: &Proxy) {
    assert_eq!(proxy.client().chat(&plain("Still there?")).await.message()["content"], "sound");
    assert_eq!(proxy.operator().get("/healthz").await.status, 200);
}

/// Checks that the response is an error with this status and code, and that the attempt was counted as such.
async fn check_failure((answer, proxy): (Answer, Proxy), status: u16, code: &str) {
    let error = answer.error(status);
    assert_eq!(error["code"], code, "{error}");
    assert!(answer.header("x-callwright-trace").is_some());
    let counted = proxy.metrics().await.sum("upstream_attempts_total", &[("upstream", "scripted"), ("outcome", code)]);
    assert_eq!(counted, 1.0);
}

fn error_of(events: &[Event]) -> Value {
    Assembled::of_events(events).error.unwrap_or_else(|| panic!("no error: {events:?}"))
}

#[tokio::test]
async fn a_refused_connection_is_a_502() {
    let refusing = Server::refusing();
    let proxy = Proxy::start(config(&format!("http://{refusing}/v1"))).await;
    for request in [with_tools("Weather?"), streamed(with_tools("Weather?"))] {
        let answer = proxy.client().chat(&request).await;
        assert_eq!(answer.error(502)["code"], "connect");
    }
    let answer = proxy.client().send(http::Method::POST, "/v1/embeddings", &[], "{}").await;
    assert_eq!(answer.error(502)["code"], "connect");
    let answer = proxy.client().get("/v1/models").await;
    assert_eq!(answer.error(502)["code"], "connect");
}

#[tokio::test]
async fn a_broken_or_missing_model_list_is_a_502_without_aliases() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 40\r\n\r\n{\"object\":\"list\"";
    for (reply, code) in
        [(Reply::raw(&half[..]), "reset"), (Reply::body(200, &[], "<html>Welcome</html>"), "malformed")]
    {
        let upstream = Server::always(reply).await;
        let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
        let answer = proxy.client().get("/v1/models").await;
        assert_eq!(answer.error(502)["code"], code, "{}", answer.text());
        let proxy = Proxy::start(config(&upstream.url("/v1")) + "[aliases.helper]\nmodel = \"gpt-test\"\n").await;
        let answer = proxy.client().get("/v1/models").await.ok();
        assert_eq!(answer["data"][0]["id"], "helper", "{answer}");
    }
}

#[tokio::test]
async fn a_reset_before_the_answer_is_a_502() {
    check_failure(whole(Reply::reset()).await, 502, "reset").await;
}

#[tokio::test]
async fn a_close_without_an_answer_is_a_502() {
    check_failure(whole(Reply::raw("")).await, 502, "reset").await;
}

#[tokio::test]
async fn a_reset_in_the_middle_of_a_body_is_a_502() {
    let reply = Reply::raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":")
        .then_reset();
    check_failure(whole(reply).await, 502, "reset").await;
}

#[tokio::test]
async fn a_body_shorter_than_it_says_is_a_502() {
    let reply =
        Reply::raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":\"x\"}");
    let (answer, _proxy) = whole(reply).await;
    let code = answer.error(502)["code"].clone();
    assert!(code == "reset" || code == "truncated", "{code}");
}

#[tokio::test]
async fn what_is_no_http_is_a_502() {
    let (answer, _proxy) = whole(Reply::raw("220 mail.example ESMTP\r\n")).await;
    answer.error(502);
}

#[tokio::test]
async fn a_reset_before_the_first_event_is_a_502_and_no_stream() {
    let (_upstream, proxy) = broken_once(Reply::stream().then_reset()).await;
    let answer = proxy.client().chat(&streamed(with_tools("Weather?"))).await;
    assert_eq!(answer.error(502)["code"], "reset");
    check_next_is_served(&proxy).await;
}

#[tokio::test]
async fn a_reset_within_a_stream_is_an_error_event_behind_the_text() {
    let events = events(Reply::stream().event(&role()).event(&text_chunk("It is ")).then_reset()).await;
    let assembled = Assembled::of_events(&events);
    assert_eq!(assembled.choices[&0].content, "It is ");
    assert_eq!(error_of(&events)["code"], "reset");
}

#[tokio::test]
async fn a_call_that_was_cut_off_never_reaches_the_client() {
    let reply =
        Reply::stream().event(&role()).event(&text_chunk("Wait.")).event(&call_begin(0, "call_1", "get_weather"));
    let events = events(reply.event(&call_piece(0, "{\"city\":\"Pa")).then_reset()).await;
    let assembled = Assembled::of_events(&events);
    assert!(assembled.choices[&0].calls.is_empty(), "{events:?}");
    assert_eq!(assembled.choices[&0].content, "Wait.");
    assert!(assembled.error.is_some());
}

#[tokio::test]
async fn invalid_utf8_is_a_502() {
    let mut body = completion(json!({"role": "assistant", "content": "@"}), "stop").to_string().into_bytes();
    let place = body.iter().position(|byte| *byte == b'@').unwrap();
    body[place] = 0xff;
    let reply = Reply::body(200, &[("content-type", "application/json")], body);
    check_failure(whole(reply).await, 502, "malformed").await;
}

#[tokio::test]
async fn invalid_utf8_in_a_stream_is_an_error_event() {
    let reply = Reply::stream()
        .event(&role())
        .event(&text_chunk("It is "))
        .piece(&b"data: {\"choices\":[{\"\xff\xfe\"}]}\n\n"[..]);
    assert_eq!(error_of(&events(reply.done()).await)["code"], "malformed");
}

#[tokio::test]
async fn characters_cut_by_the_network_are_not_invalid() {
    let event = format!("data: {}\n\n", text_chunk("naïve ☕"));
    let mut reply = Reply::stream().event(&role());
    for byte in event.into_bytes() {
        reply = reply.piece(vec![byte]);
    }
    let events = events(reply.event(&finish("stop")).done()).await;
    assert_eq!(Assembled::of_events(&events).choice().content, "naïve ☕");
}

#[tokio::test]
async fn half_a_json_is_a_502() {
    for body in [
        "{\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"mess",
        "",
        "null",
        "[]",
        "{}",
        "{\"choices\":null}",
        "{\"choices\":[5]}",
        "<html>",
    ] {
        let reply = Reply::body(200, &[("content-type", "application/json")], body);
        check_failure(whole(reply).await, 502, "malformed").await;
    }
}

#[tokio::test]
async fn half_a_json_in_a_stream_is_an_error_event() {
    for piece in ["data: {\"choices\":[{\"del\n\n", "data: null\n\n", "data: {\"choices\":[[]]}\n\n"] {
        let reply = Reply::stream().event(&role()).event(&text_chunk("It is ")).piece(piece);
        assert_eq!(error_of(&events(reply.done()).await)["code"], "malformed", "{piece}");
    }
}

#[tokio::test]
async fn json_nested_without_end_is_a_502() {
    let deep = format!("{{\"choices\":{}{}}}", "[".repeat(40_000), "]".repeat(40_000));
    check_failure(whole(Reply::body(200, &[("content-type", "application/json")], deep)).await, 502, "malformed").await;
}

#[tokio::test]
async fn an_endless_body_is_a_502_and_read_no_further() {
    let mut reply =
        Reply::raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 999999999\r\n\r\n{\"id\":\"");
    for _ in 0..20 {
        reply.steps.push(crate::support::reply::Step::Send(vec![b'x'; 10_000].into()));
    }
    let (upstream, proxy) = broken_once(reply.then_silence()).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.error(502)["code"], "malformed");
    upstream.hangup().await;
    check_next_is_served(&proxy).await;
}

#[tokio::test]
async fn an_endless_line_is_an_error_event_and_read_no_further() {
    let mut reply = Reply::stream().event(&role()).event(&text_chunk("It is ")).piece("data: {\"x\":\"");
    for _ in 0..10 {
        reply = reply.piece(vec![b'x'; 10_000]);
    }
    let (upstream, proxy) = broken_once(reply.then_silence()).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    assert_eq!(error_of(&stream.rest().await)["code"], "malformed");
    upstream.hangup().await;
    check_next_is_served(&proxy).await;
}

#[tokio::test]
async fn silence_before_the_answer_is_a_504() {
    check_failure(whole(Reply::silence()).await, 504, "timeout").await;
}

#[tokio::test]
async fn silence_before_the_first_event_is_a_504_and_no_stream() {
    for reply in [Reply::silence(), Reply::stream().then_silence()] {
        let (upstream, proxy) = broken_once(reply).await;
        let answer = proxy.client().chat(&streamed(with_tools("Weather?"))).await;
        assert_eq!(answer.error(504)["code"], "timeout");
        upstream.hangup().await;
        check_next_is_served(&proxy).await;
    }
}

#[tokio::test]
async fn silence_in_the_middle_of_a_body_is_a_504() {
    let reply = Reply::raw("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":")
        .then_silence();
    check_failure(whole(reply).await, 504, "timeout").await;
}

#[tokio::test]
async fn silence_in_the_middle_of_a_stream_is_an_error_event() {
    let events = events(Reply::stream().event(&role()).event(&text_chunk("It is ")).then_silence()).await;
    assert_eq!(error_of(&events)["code"], "timeout");
}

#[tokio::test]
async fn a_429_with_a_long_wait_keeps_retry_after_and_is_not_retried() {
    let body =
        json!({"error": {"message": "slow down", "type": "requests", "param": null, "code": "rate_limit_exceeded"}});
    let reply = Reply::body(429, &[("content-type", "application/json"), ("retry-after", "13")], body.to_string());
    let (upstream, proxy) = broken_once(reply).await;
    let answer = proxy.client().chat(&with_tools("Weather?")).await;
    assert_eq!(answer.error(429)["code"], "rate_limit_exceeded");
    assert_eq!(answer.header("retry-after"), Some("13"));
    assert_eq!(upstream.received().len(), 1);
}

#[tokio::test]
async fn a_stream_without_done_gets_one() {
    for last in [finish("stop"), finish("length")] {
        let reply = Reply::stream().event(&role()).event(&text_chunk("It rains.")).event(&last).end();
        let events = events(reply).await;
        assert_eq!(events.last(), Some(&Event::Done));
        let assembled = Assembled::of_events(&events);
        assert_eq!(assembled.choice().content, "It rains.");
        assert_eq!(assembled.choice().finish_reason.as_deref(), last["choices"][0]["finish_reason"].as_str());
    }
}

#[tokio::test]
async fn calls_of_a_stream_without_done_are_judged_all_the_same() {
    let mut chunks = answer::call_chunks(&[("call_1", "getWeather", r#"{"city":"Paris"}"#)]);
    let last = chunks.pop().unwrap();
    let reply = chunks.iter().fold(Reply::stream(), Reply::event).event(&last).end();
    let assembled = Assembled::of_events(&events(reply).await);
    assert_eq!(assembled.choice().calls[0]["function"]["name"], "get_weather");
}

#[tokio::test]
async fn a_stream_that_ends_in_the_middle_of_its_text_is_an_error() {
    let events = events(Reply::stream().event(&role()).event(&text_chunk("It is ")).end()).await;
    assert_eq!(error_of(&events)["code"], "truncated");
}

#[tokio::test]
async fn a_last_event_without_its_blank_line_still_counts() {
    let reply =
        Reply::stream().event(&role()).event(&text_chunk("It rains.")).piece(format!("data: {}", finish("stop"))).end();
    assert_eq!(Assembled::of_events(&events(reply).await).choice().content, "It rains.");
}

#[tokio::test]
async fn carriage_returns_and_comments_are_understood() {
    let mut reply = Reply::stream().piece(": hello\r\n\r\n").piece("event: message\r\nid: 1\r\n");
    for chunk in answer::call_chunks(&[("call_1", "getWeather", r#"{"city":"Paris"}"#)]) {
        reply = reply.piece(format!("data:{chunk}\r\n\r\n")).piece(": ping\r\n\r\n");
    }
    let assembled = Assembled::of_events(&events(reply.piece("data: [DONE]\r\n\r\n").end()).await);
    assert_eq!(assembled.choice().calls[0]["function"]["name"], "get_weather");
}

#[tokio::test]
async fn an_error_in_the_upstreams_stream_reaches_the_client() {
    let error =
        json!({"error": {"message": "overloaded", "type": "server_error", "param": null, "code": "overloaded"}});
    let reply = Reply::stream().event(&role()).event(&text_chunk("It is ")).event(&error).end();
    assert_eq!(error_of(&events(reply).await), error["error"]);
}

#[tokio::test]
async fn a_redirect_or_another_protocol_is_a_502_with_the_upstream() {
    let elsewhere = Server::always(answer::text("stolen")).await;
    let location = elsewhere.url("/v1/chat/completions");
    for status in
        ["300 Multiple Choices", "301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect"]
    {
        let head = format!("HTTP/1.1 {status}\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        check_no_answer(Reply::raw(head)).await;
    }
    check_no_answer(Reply::raw("HTTP/1.1 304 Not Modified\r\n\r\n")).await;
    check_no_answer(Reply::raw(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    ))
    .await;
    assert!(elsewhere.received().is_empty(), "no redirect is followed");
}

/// Checks that chat clients get an error that names the upstream, whole or as a stream.
async fn check_no_answer(reply: Reply) {
    check_failure(whole(reply.clone()).await, 502, "malformed").await;
    let (_upstream, proxy) = broken_once(reply).await;
    let answer = proxy.client().chat(&streamed(with_tools("Weather?"))).await;
    let error = answer.error(502);
    assert!(error["message"].as_str().unwrap().contains("`upstreams.scripted.base_url`"), "{error}");
    assert_eq!(answer.header("location"), None);
    check_next_is_served(&proxy).await;
}

#[tokio::test]
async fn no_passed_through_request_is_redirected_with_a_key() {
    let redirect = "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://evil.example/\r\ncontent-length: 0\r\n\r\n";
    let upgrade = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
    for reply in [redirect, upgrade] {
        let upstream = Server::always(Reply::raw(reply)).await;
        let proxy = Proxy::start(config(&upstream.url("/v1")) + IMPATIENT).await;
        for path in ["/v1/files/file-1/content", "/v1/models"] {
            let answer = proxy.client().get(path).await;
            assert_eq!(answer.error(502)["code"], "malformed", "{path}");
            assert_eq!(answer.header("location"), None, "{path}");
        }
    }
    let upstream = Server::always(Reply::raw("HTTP/1.1 304 Not Modified\r\netag: \"e\"\r\n\r\n")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + IMPATIENT).await;
    assert_eq!(proxy.client().get("/v1/files/file-1").await.status, 304, "no redirect");
}
