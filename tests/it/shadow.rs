//! In shadow mode every response equals that of a direct connection, value by value, and the actions of guard mode are
//! counted.

use crate::support::answer::{self, call, call_chunks, completion, finish, role, text_chunk};
use crate::support::request::{plain, streamed, with_tools};
use crate::support::{Client, Proxy, Reply, Server, config};
use serde_json::{Value, json};

const SHADOW: &str = "[policies]\ndefault = \"shadow\"\n";

/// Responses of each kind that guard mode would change, and some that it would not.
fn whole_answers() -> Vec<Reply> {
    let message = |calls: Value| json!({"role": "assistant", "content": "", "x": 1, "tool_calls": calls});
    let cases = [
        json!([call("a", "get_weather", r#"{"city":"Paris"}"#)]),
        json!([call("a", "getWeather", r#"{"City":"Paris","days":"3"}"#)]),
        json!([call("a", "get_weather", r#"{"town":"Paris"}"#)]),
        json!([call("a", "launch_rocket", "{}")]),
        json!([call("a", "get_weather", "{\"city\":")]),
        json!([call("a", "get_weather", r#"{"city":"Paris"}"#), call("a", "book_room", "{}")]),
        json!([{"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]),
        json!([]),
    ];
    let mut replies: Vec<Reply> =
        cases.into_iter().map(|calls| Reply::json(200, &completion(message(calls), "stop"))).collect();
    replies.push(answer::text("It rains."));
    replies
        .push(answer::text("<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}</tool_call>"));
    replies.push(Reply::json(400, &json!({"error": {"message": "no", "type": "t", "param": "p", "code": null}})));
    replies
}

fn streams() -> Vec<Reply> {
    let mut with_stop = call_chunks(&[("a", "getWeather", r#"{"City":"Paris"}"#)]);
    *with_stop.last_mut().unwrap() = finish("stop");
    let no_index = json!({"id": "a", "function": {"name": "get_weather", "arguments": "{\"town\":1}"}});
    let odd = [role(), answer::chunk(json!({"tool_calls": [no_index]})), finish("tool_calls")];
    vec![
        Reply::events(&call_chunks(&[("a", "get_weather", r#"{"city":"Paris"}"#)])),
        Reply::events(&call_chunks(&[("a", "getWeather", r#"{"days":"3"}"#), ("b", "launch_rocket", "{}")])),
        Reply::events(&with_stop),
        Reply::events(&odd),
        Reply::events(&[role(), text_chunk("It rains."), finish("stop")]),
        Reply::events(&[role(), text_chunk("get_weather("), text_chunk("city=\"Paris\")"), finish("stop")]),
    ]
}

/// An upstream whose response to a request is the one of `replies` that the request's `seed` selects.
async fn upstream_of(replies: Vec<Reply>) -> Server {
    Server::scripted(move |_, received| {
        let number = received.json()["seed"].as_u64().unwrap();
        replies[usize::try_from(number).unwrap()].clone()
    })
    .await
}

#[tokio::test]
async fn whole_answers_are_what_a_direct_connection_gives() {
    let count = whole_answers().len();
    let upstream = upstream_of(whole_answers()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + SHADOW).await;
    let direct = Client::new(upstream.url(""));
    for number in 0..count {
        let mut request = with_tools("Weather?");
        request["seed"] = json!(number);
        let (expected, shadowed) = (direct.chat(&request).await, proxy.client().chat(&request).await);
        assert_eq!(shadowed.status, expected.status);
        assert_eq!(shadowed.json(), expected.json());
    }
    let received = upstream.received();
    assert_eq!(received.len(), 2 * count, "shadow mode asked again");
    assert!(received.chunks(2).all(|pair| pair[0].body == pair[1].body));
}

#[tokio::test]
async fn streams_are_what_a_direct_connection_gives() {
    let count = streams().len();
    let upstream = upstream_of(streams()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + SHADOW).await;
    let direct = Client::new(upstream.url(""));
    for number in 0..count {
        let mut request = streamed(with_tools("Weather?"));
        request["seed"] = json!(number);
        let expected = direct.chat_stream(&request).await.rest().await;
        let shadowed = proxy.client().chat_stream(&request).await.rest().await;
        assert_eq!(shadowed, expected);
    }
    assert_eq!(upstream.received().len(), 2 * count, "shadow mode asked again");
}

#[tokio::test]
async fn calls_of_a_stream_are_not_held() {
    let gate = crate::support::Gate::closed();
    let chunks = call_chunks(&[("a", "getWeather", r#"{"City":"Paris"}"#)]);
    let mut reply = Reply::stream().event(&chunks[0]).event(&chunks[1]).wait(&gate);
    for chunk in &chunks[2..] {
        reply = reply.event(chunk);
    }
    let upstream = Server::always(reply.done()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + SHADOW).await;
    let mut stream = proxy.client().chat_stream(&streamed(with_tools("Weather?"))).await;
    assert_eq!(stream.next_chunk().await, chunks[0]);
    assert_eq!(stream.next_chunk().await, chunks[1]);
    gate.open();
    stream.rest().await;
}

#[tokio::test]
async fn what_would_have_been_done_is_counted_and_recorded() {
    let upstream = upstream_of(whole_answers()).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + SHADOW).await;
    let ask = async |number: u64| {
        let mut request = with_tools("Weather?");
        request["seed"] = json!(number);
        proxy.client().chat(&request).await
    };
    let would_be = [(0, "clean"), (1, "repaired"), (2, "faulty"), (3, "faulty"), (4, "faulty"), (8, "text")];
    // The client got the model's answer: nothing was repaired.
    let got = [(0, "clean"), (1, "faulty"), (2, "faulty"), (3, "faulty"), (4, "faulty"), (8, "text")];
    for (number, verdict) in got {
        let answer = ask(number).await;
        assert_eq!(answer.verdict(), verdict, "answer {number}");
        assert_eq!(answer.header("x-callwright-actions"), Some("nothing"), "answer {number}");
    }
    let metrics = proxy.metrics().await;
    for (verdict, count) in [("clean", 1.0), ("repaired", 1.0), ("faulty", 3.0), ("corrected", 0.0)] {
        assert_eq!(metrics.sum("calls_judged_total", &[("verdict", verdict)]), count, "{verdict}");
    }
    for kind in ["tool_renamed", "parameter_renamed", "type_coerced"] {
        assert_eq!(metrics.sum("shadow_repairs_total", &[("kind", kind)]), 1.0, "{kind}");
    }
    for code in ["E1", "E2"] {
        assert_eq!(metrics.sum("diagnoses_total", &[("code", code)]), 1.0, "{code}");
    }
    assert_eq!(metrics.sum("repairs_total", &[]), 0.0, "nothing was repaired");
    assert_eq!(metrics.sum("feedback_rounds_sum", &[]), 0.0, "no feedback was sent");
    assert_eq!(metrics.sum("turns_total", &[("mode", "shadow"), ("verdict", "faulty")]), 4.0);
    assert_eq!(metrics.sum("turn_outcomes_total", &[("mode", "shadow"), ("outcome", "faulty_call")]), 4.0);
    assert_eq!(metrics.sum("turn_actions_total", &[("mode", "shadow"), ("action", "nothing")]), 6.0);
    assert_eq!(metrics.sum("shadow_turns_total", &[("verdict", "repaired")]), 1.0);
    let traces = proxy.traces_after_stop().await;
    let recorded: Vec<&str> = traces.iter().map(|trace| trace["shadow_verdict"].as_str().unwrap()).collect();
    assert_eq!(recorded, would_be.map(|(_, verdict)| verdict));
    assert!(traces.iter().all(|trace| trace["mode"] == "shadow" && trace["policy"] == "shadow"));
}

#[tokio::test]
async fn an_aliases_toolsets_are_not_offered() {
    let upstream = Server::always(answer::text("hi")).await;
    let config = config(&upstream.url("/v1"))
        + SHADOW
        + "[aliases.helper]\nmodel = \"helper\"\ntoolsets = [\"rooms\"]\nomit_toolsets_in_shadow = true\n"
        + "[toolsets.rooms]\ndocument = \"rooms.yaml\"\nbase_url = \"http://127.0.0.1:9\"\n";
    let proxy = Proxy::start_with_files(config, &[("rooms.yaml", crate::support::rooms::DOCUMENT)]).await;
    let mut request = plain("Hello");
    request["model"] = json!("helper");
    proxy.client().chat(&request).await.ok();
    assert_eq!(upstream.only_request().text(), request.to_string());
}

#[tokio::test]
async fn an_upstream_that_does_not_stream_is_passed_on_as_it_is() {
    let body = completion(json!({"role": "assistant", "content": "Hm."}), "stop");
    let upstream = Server::always(Reply::json(200, &body)).await;
    let proxy = Proxy::start(config(&upstream.url("/v1")) + SHADOW).await;
    let answer = proxy.client().chat(&streamed(with_tools("Weather?"))).await;
    assert_eq!((answer.header("content-type"), answer.text()), (Some("application/json"), body.to_string()));
}
