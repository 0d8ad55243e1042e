//! Responses that call tools of both sides: the proxy executes its own calls, and the client gets its own. When the
//! client returns with their results, the model receives the whole conversation.

use crate::support::answer::{self, call, calls, completion, one_call};
use crate::support::request::{plain, streamed, weather_tool};
use crate::support::{Proxy, Received, Reply, Server, policy, rooms};
use serde_json::{Value, json};

const PARIS: &str = r#"{"city":"Paris"}"#;
const FLOOR: &str = r#"{"floor":2}"#;
const BOOKING: &str = r#"{"room":"Amber","from":"2026-03-01T09:00:00Z","hours":2}"#;

/// Returns a request to the alias that offers the rooms, from a client with its own tool.
fn ask(text: &str) -> Value {
    let mut request = plain(text);
    request["model"] = json!("helper");
    request["tools"] = json!([weather_tool()]);
    request
}

/// Returns the client's next request after `message`, with results for its own calls.
fn returned(request: &Value, message: &Value) -> Value {
    let mut next = request.clone();
    let messages = next["messages"].as_array_mut().unwrap();
    messages.push(message.clone());
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "It rains."}));
    }
    next
}

fn said(request: &Value, text: &str) -> Value {
    let mut next = request.clone();
    next["messages"].as_array_mut().unwrap().push(json!({"role": "user", "content": text}));
    next
}

/// Returns a response with calls of the proxy's tools before and after one of the client's.
fn three_calls() -> Reply {
    let mut first = call("ours_1", "listRooms", FLOOR);
    first["extra_content"] = json!({"signature": "s1"});
    let last = call("ours_2", "getRoom", r#"{"room":"Amber"}"#);
    calls(&[first, call("mine", "get_weather", PARIS), last])
}

async fn api() -> Server {
    Server::scripted(|_, received| Reply::json(200, &json!({"from": received.target}))).await
}

async fn proxy_of(upstream: &Server, api: &Server) -> Proxy {
    Proxy::start_with_files(rooms::config_of(upstream, api), &rooms::FILES).await
}

/// Starts a proxy with a single policy with these rules.
async fn ruled(upstream: &Server, api: &Server, rules: &str) -> Proxy {
    let file = policy::file("ruled", rules);
    let config = rooms::shadowed(&rooms::config_of(upstream, api)) + &policy::table("ruled");
    Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/ruled.yaml", &file)]).await
}

const BOOKS: &str = "execute:\n  rules:\n    - {methods: [POST], tools: [\"rooms/book*\"], permission: allow}";

/// Returns the ids of a message's calls.
fn ids(message: &Value) -> Vec<&str> {
    message["tool_calls"].as_array().into_iter().flatten().filter_map(|call| call["id"].as_str()).collect()
}

/// Returns a summary of a request's messages: roles, ids of calls, ids of results.
fn outline(received: &Received) -> Vec<String> {
    let line = |message: &Value| {
        let role = message["role"].as_str().unwrap();
        let answered = message["tool_call_id"].as_str().unwrap_or_default();
        format!("{role} {answered}{}", ids(message).join("+")).trim_end().to_owned()
    };
    received.messages().iter().map(line).collect()
}

fn result_of(received: &Received, id: &str) -> String {
    let messages = received.messages();
    let found = messages.iter().find(|message| message["tool_call_id"] == id);
    found.unwrap_or_else(|| panic!("no answer to {id}: {messages:#?}"))["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_proxy_runs_its_calls_and_the_returning_model_sees_them() {
    let upstream = Server::replying([three_calls(), answer::text("Rain, and two rooms.")]).await;
    let api = api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let request = ask("Both");
    let first = proxy.client().chat(&request).await;
    assert_eq!(first.message()["tool_calls"], json!([call("mine", "get_weather", PARIS)]));
    assert_eq!(first.ok()["choices"][0]["finish_reason"], "tool_calls");
    let targets: Vec<String> = api.received().into_iter().map(|received| received.target).collect();
    assert_eq!(targets.len(), 2, "{targets:?}");

    let mut message = first.message();
    message["tool_calls"][0]["note"] = json!("the client's");
    message["name"] = json!("kept");
    let second = proxy.client().chat(&returned(&request, &message)).await;
    assert_eq!(second.message()["content"], "Rain, and two rooms.");
    let received = upstream.last_request();
    assert_eq!(outline(&received), ["user", "assistant ours_1+mine+ours_2", "tool ours_1", "tool ours_2", "tool mine"]);
    let whole = &received.messages()[1];
    assert_eq!(whole["tool_calls"][0]["extra_content"], json!({"signature": "s1"}), "{whole}");
    assert_eq!(whole["tool_calls"][1]["note"], "the client's");
    assert_eq!(whole["name"], "kept");
    assert!(result_of(&received, "ours_1").contains("/rooms?floor=2"));
    assert!(result_of(&received, "ours_2").contains("/rooms/Amber"));
    assert_eq!(api.received().len(), 2, "nothing is run again");

    let trace = proxy.traces_after_stop().await.pop().unwrap();
    assert_eq!(trace["rejoined"], 1, "{trace:#}");
}

#[tokio::test]
async fn every_later_turn_has_each_such_answer_whole_after_a_restart() {
    let more = calls(&[call("mine_2", "get_weather", PARIS), call("ours_3", "listRooms", FLOOR)]);
    let upstream = Server::replying([three_calls(), more, answer::text("Done."), answer::text("Bye.")]).await;
    let api = api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let request = ask("Both");
    let first = proxy.client().chat(&request).await.message();
    let proxy = proxy.stop().await.start_again().await;
    let request = returned(&request, &first);
    let second = proxy.client().chat(&request).await.message();
    assert_eq!(ids(&second), ["mine_2"]);
    let proxy = proxy.stop().await.start_again().await;
    let request = returned(&request, &second);
    let third = proxy.client().chat(&request).await.message();
    let whole = [
        "user", "assistant ours_1+mine+ours_2", "tool ours_1", "tool ours_2", "tool mine", "assistant mine_2+ours_3",
        "tool ours_3", "tool mine_2",
    ];
    assert_eq!(outline(&upstream.last_request()), whole);
    proxy.client().chat(&said(&returned(&request, &third), "Thanks")).await.ok();
    let last = outline(&upstream.last_request());
    assert_eq!(last[..whole.len()], whole);
    assert_eq!(last[whole.len()..], ["assistant", "user"]);
}

#[tokio::test]
async fn streams_too() {
    let chunks = answer::call_chunks(&[("ours", "listRooms", FLOOR), ("mine", "get_weather", PARIS)]);
    let upstream = Server::replying([Reply::events(&chunks), Reply::events(&answer::text_chunks("Done."))]).await;
    let api = api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let request = streamed(ask("Both"));
    let first = proxy.client().chat_stream(&request).await.assemble().await;
    let choice = first.choice();
    assert_eq!(choice.calls, [call("mine", "get_weather", PARIS)]);
    assert_eq!(choice.finish_reason.as_deref(), Some("tool_calls"));
    let message = json!({"role": "assistant", "content": null, "tool_calls": choice.calls});
    let second = proxy.client().chat_stream(&returned(&request, &message)).await.assemble().await;
    assert_eq!(second.choice().content, "Done.");
    assert_eq!(outline(&upstream.last_request()), ["user", "assistant ours+mine", "tool ours", "tool mine"]);
}

#[tokio::test]
async fn calls_written_as_text_are_kept_as_well() {
    let text = format!(
        "<tool_call>{{\"name\":\"listRooms\",\"arguments\":{FLOOR}}}</tool_call>\
         <tool_call>{{\"name\":\"get_weather\",\"arguments\":{PARIS}}}</tool_call>"
    );
    let upstream = Server::replying([answer::text(&text), answer::text("Done.")]).await;
    let api = api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let request = ask("Both");
    let first = proxy.client().chat(&request).await.message();
    assert_eq!(first["tool_calls"].as_array().unwrap().len(), 1, "{first}");
    proxy.client().chat(&returned(&request, &first)).await.ok();
    let whole = upstream.last_request().messages()[1].clone();
    let names: Vec<&str> =
        whole["tool_calls"].as_array().unwrap().iter().filter_map(|call| call["function"]["name"].as_str()).collect();
    assert_eq!(names, ["listRooms", "get_weather"]);
    assert_eq!(upstream.last_request().messages().len(), 4);
}

#[tokio::test]
async fn an_edited_history_or_anothers_gets_nothing() {
    let upstream = Server::scripted(|number, _| if number == 0 { three_calls() } else { answer::text("Done.") }).await;
    let api = api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let request = ask("Both");
    let first = proxy.client().chat(&request).await.message();
    let honest = returned(&request, &first);
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 4] = [
        ("another id", |request| {
            request["messages"][1]["tool_calls"][0]["id"] = json!("other");
            request["messages"][2]["tool_call_id"] = json!("other");
        }),
        ("a call more", |request| {
            let more = call("more", "get_weather", PARIS);
            request["messages"][1]["tool_calls"].as_array_mut().unwrap().push(more);
        }),
        ("another request", |request| request["messages"][0]["content"] = json!("Another")),
        ("a message less", |request| {
            request["messages"].as_array_mut().unwrap().remove(0);
        }),
    ];
    for (what, edit) in edits {
        let mut edited = honest.clone();
        edit(&mut edited);
        proxy.client().chat(&edited).await.ok();
        assert_eq!(upstream.last_request().json()["messages"], edited["messages"], "{what}");
    }
    let fields = [("content-type", "application/json"), ("authorization", "Bearer sk-another")];
    let answer = proxy.client().send(http::Method::POST, "/v1/chat/completions", &fields, honest.to_string()).await;
    answer.ok();
    assert_eq!(upstream.last_request().json()["messages"], honest["messages"]);
    proxy.client().chat(&honest).await.ok();
    assert_eq!(upstream.last_request().messages().len(), 5, "the honest one gets it");
}

#[tokio::test]
async fn a_system_message_that_changes_with_the_time_does_no_harm() {
    let upstream = Server::replying([three_calls(), answer::text("Done.")]).await;
    let api = api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let mut request = ask("Both");
    request["messages"].as_array_mut().unwrap().insert(0, json!({"role": "system", "content": "It is noon."}));
    let first = proxy.client().chat(&request).await.message();
    let mut next = returned(&request, &first);
    next["messages"][0]["content"] = json!("It is one.");
    proxy.client().chat(&next).await.ok();
    assert_eq!(upstream.last_request().messages().len(), 6);
}

#[tokio::test]
async fn without_parallel_calls_one_goes_out_and_the_proxys_are_run() {
    let both = calls(&[
        call("ours", "listRooms", FLOOR),
        call("mine", "get_weather", PARIS),
        call("mine_too", "get_weather", r#"{"city":"Rome"}"#),
    ]);
    let upstream = Server::replying([both, answer::text("Done.")]).await;
    let api = api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let mut request = ask("Both");
    request["parallel_tool_calls"] = json!(false);
    let first = proxy.client().chat(&request).await.message();
    assert_eq!(ids(&first), ["mine"]);
    proxy.client().chat(&returned(&request, &first)).await.ok();
    assert_eq!(outline(&upstream.last_request()), ["user", "assistant ours+mine", "tool ours", "tool mine"]);
}

#[tokio::test]
async fn a_failed_outcome_is_explained_where_the_model_reads_it() {
    let both = calls(&[call("ours", "listRooms", r#"{"floor":5}"#), call("mine", "get_weather", PARIS)]);
    let upstream = Server::replying([both, answer::text("Done.")]).await;
    let api = Server::always(Reply::json(400, &json!({"code": 4711}))).await;
    let proxy = proxy_of(&upstream, &api).await;
    let request = ask("Both");
    let first = proxy.client().chat(&request).await.message();
    proxy.client().chat(&returned(&request, &first)).await.ok();
    let told = result_of(&upstream.last_request(), "ours");
    assert!(told.contains("4711") && told.contains("closed for renovation"), "{told}");
    assert_eq!(proxy.metrics().await.sum("explanations_total", &[("hit", "true")]), 1.0);
}

#[tokio::test]
async fn nothing_is_run_before_the_calls_of_both_sides_are_right() {
    for (faulty, mended) in [
        (call("mine", "get_weather", "{}"), call("mine_again", "get_weather", PARIS)),
        (call("ours", "bookRoom", "{}"), call("ours_again", "bookRoom", BOOKING)),
    ] {
        let right =
            if faulty["id"] == "mine" { call("ours", "bookRoom", BOOKING) } else { call("mine", "get_weather", PARIS) };
        let upstream = Server::replying([calls(&[faulty, right]), calls(&[mended]), answer::text("Done.")]).await;
        let api = api().await;
        let proxy = ruled(&upstream, &api, BOOKS).await;
        let request = ask("Both");
        let first = proxy.client().chat(&request).await;
        assert_eq!(first.verdict(), "corrected");
        assert_eq!(api.received().len(), 1, "once, when all is right");
        let message = first.message();
        assert_eq!(message["tool_calls"].as_array().unwrap().len(), 1, "{message}");
        proxy.client().chat(&returned(&request, &message)).await.ok();
        let received = upstream.last_request();
        assert_eq!(received.messages().len(), 4, "{:#?}", outline(&received));
        assert_eq!(received.messages()[1]["tool_calls"].as_array().unwrap().len(), 2);
        assert_eq!(api.received().len(), 1);
    }
}

#[tokio::test]
async fn earlier_proxy_calls_are_put_back_and_not_repeated() {
    let upstream = Server::replying([
        calls(&[call("ours", "bookRoom", BOOKING)]),
        calls(&[call("mine", "get_weather", PARIS)]),
        answer::text("Done."),
    ])
    .await;
    let api = api().await;
    let proxy = ruled(&upstream, &api, BOOKS).await;
    let request = ask("Book, then the weather");
    let first = proxy.client().chat(&request).await.message();
    assert_eq!(ids(&first), ["mine"]);
    proxy.client().chat(&returned(&request, &first)).await.ok();
    assert_eq!(
        outline(&upstream.last_request()),
        ["user", "assistant ours", "tool ours", "assistant mine", "tool mine"]
    );
}

#[tokio::test]
async fn without_a_place_to_keep_it_nothing_runs_and_calls_pass() {
    for (change, with) in [
        ("url = \"sqlite:traces.sqlite3\"", "url = \"\""),
        ("url = \"sqlite:traces.sqlite3\"", "url = \"sqlite:/proc/callwright/traces.sqlite3\""),
        ("[executor]", "[pipeline]\nmax_kept_bytes = 10\n[executor]"),
    ] {
        let both = calls(&[call("ours", "bookRoom", BOOKING), call("mine", "get_weather", PARIS)]);
        let upstream = Server::replying([both, answer::text("Done.")]).await;
        let api = api().await;
        let file = policy::file("ruled", BOOKS);
        let config = (rooms::config_of(&upstream, &api) + &policy::table("ruled")).replace(change, with);
        let proxy = Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/ruled.yaml", &file)]).await;
        let request = ask("Both");
        let first = proxy.client().chat(&request).await.message();
        assert_eq!(ids(&first), ["mine"], "{with}");
        assert!(api.received().is_empty(), "{with}");
        proxy.client().chat(&returned(&request, &first)).await.ok();
        assert_eq!(outline(&upstream.last_request()), ["user", "assistant mine", "tool mine"], "{with}");
    }
}

#[tokio::test]
async fn long_results_are_cut_to_what_is_kept() {
    let upstream = Server::replying([three_calls(), answer::text("Done.")]).await;
    let api = Server::always(Reply::body(200, &[("content-type", "text/plain")], "x".repeat(10_000))).await;
    let config = rooms::config_of(&upstream, &api) + "[pipeline]\nmax_kept_bytes = 3000\n";
    let proxy = Proxy::start_with_files(config, &rooms::FILES).await;
    let request = ask("Both");
    let first = proxy.client().chat(&request).await.message();
    proxy.client().chat(&returned(&request, &first)).await.ok();
    for id in ["ours_1", "ours_2"] {
        let told = result_of(&upstream.last_request(), id);
        assert!(told.starts_with("xxx") && told.contains("shortened") && told.len() < 2_000, "{}", told.len());
    }
}

#[tokio::test]
async fn in_the_legacy_form_and_with_several_choices_nothing_is_run() {
    let text = format!(
        "<tool_call>{{\"name\":\"listRooms\",\"arguments\":{FLOOR}}}</tool_call>\
         <tool_call>{{\"name\":\"get_weather\",\"arguments\":{PARIS}}}</tool_call>"
    );
    let upstream = Server::always(answer::text(&text)).await;
    let api = api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let mut legacy = ask("Both");
    let tools = legacy.as_object_mut().unwrap().remove("tools").unwrap();
    legacy["functions"] = json!([tools[0]["function"]]);
    let message = proxy.client().chat(&legacy).await.message();
    assert_eq!(message["function_call"]["name"], "get_weather", "{message}");

    let both = json!({"role": "assistant", "content": null, "tool_calls": [
        call("ours", "listRooms", FLOOR), call("mine", "get_weather", PARIS),
    ]});
    let mut two = completion(both, "tool_calls");
    let mut other = two["choices"][0].clone();
    other["index"] = json!(1);
    two["choices"].as_array_mut().unwrap().push(other);
    let upstream = Server::always(Reply::json(200, &two)).await;
    let several = proxy_of(&upstream, &api).await;
    let mut request = ask("Both");
    request["n"] = json!(2);
    assert_eq!(several.client().chat(&request).await.ok()["choices"].as_array().unwrap().len(), 2);
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn shadow_mode_leaves_the_conversation_alone() {
    let upstream = Server::scripted(|number, _| if number == 0 { three_calls() } else { answer::text("Done.") }).await;
    let api = api().await;
    let proxy = ruled(&upstream, &api, "mode: guard").await;
    let request = ask("Both");
    let first = proxy.client().chat(&request).await.message();
    let next = returned(&request, &first);
    proxy.write("policies/ruled.yaml", &policy::file("ruled", "mode: shadow"));
    proxy.metric_reaches("policy_reloads_total", &[("result", "success")], 1.0).await;
    proxy.client().chat(&next).await.ok();
    assert_eq!(upstream.last_request().json()["messages"], next["messages"]);
}

#[tokio::test]
async fn a_plain_answer_of_the_proxys_calls_alone_is_as_before() {
    let upstream = Server::replying([one_call("listRooms", FLOOR), answer::text("Two rooms.")]).await;
    let api = api().await;
    let proxy = proxy_of(&upstream, &api).await;
    assert_eq!(proxy.client().chat(&ask("Rooms?")).await.message()["content"], "Two rooms.");
    assert_eq!(upstream.received().len(), 2);
}
