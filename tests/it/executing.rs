//! Validated calls of catalog tools are executed over real HTTP within the policy, and failures are explained to the
//! model.

use crate::support::answer::{self, call, calls, one_call};
use crate::support::request::{plain, weather_tool};
use crate::support::{Proxy, Received, Reply, Server, config, policy, rooms};
use serde_json::{Value, json};

/// Returns a request to the alias that offers the rooms.
fn ask(text: &str) -> Value {
    let mut request = plain(text);
    request["model"] = json!("helper");
    request
}

async fn proxy_of(upstream: &Server, api: &Server) -> Proxy {
    Proxy::start_with_files(rooms::config_of(upstream, api), &rooms::FILES).await
}

/// Starts a proxy with a single policy that allows the methods of bookings.
async fn booking_proxy(upstream: &Server, api: &Server) -> Proxy {
    let rules = "execute:\n  rules:\n    - {methods: [POST], tools: [\"rooms/book*\"], permission: allow}";
    let ruled = policy::file("booking", rules);
    let config = rooms::config_of(upstream, api) + &policy::table("booking");
    Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/booking.yaml", &ruled)]).await
}

async fn rooms_api() -> Server {
    Server::always(Reply::json(200, &json!(["Amber", "Birch"]))).await
}

/// Returns the text of the tool message for the call `id`.
fn result_of(request: &Received, id: &str) -> String {
    let messages = request.messages();
    let message = messages.iter().find(|message| message["tool_call_id"] == id);
    message.unwrap_or_else(|| panic!("no answer to {id}: {messages:#?}"))["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_aliases_tools_are_offered_behind_the_clients_own() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, rooms_api().await);
    let proxy = booking_proxy(&upstream, &api).await;
    let mut request = ask("Hello");
    request["tools"] = json!([weather_tool()]);
    proxy.client().chat(&request).await.ok();
    let received = upstream.only_request();
    assert_eq!(received.tool_names(), ["get_weather", "listRooms", "getRoom", "bookRoom"]);
    let offered = &received.json()["tools"][1]["function"];
    assert!(offered["description"].as_str().unwrap().contains("Lists the rooms"), "{offered}");
    assert_eq!(offered["parameters"]["required"], json!(["floor"]));
    assert_eq!(received.json()["tools"][0], weather_tool(), "the client's own is as sent");
}

#[tokio::test]
async fn a_call_that_the_tool_choice_excludes_is_not_executed() {
    let tool = json!({"type": "function", "function": {"name": "listRooms"}});
    let list = json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [tool]}});
    for choice in [tool, list] {
        let booking = r#"{"room":"Amber","from":"2026-03-01T09:00:00Z","hours":2}"#;
        let upstream = Server::replying([
            one_call("bookRoom", booking),
            one_call("listRooms", r#"{"floor":2}"#),
            answer::text("Two rooms."),
        ])
        .await;
        let api = rooms_api().await;
        let rules = policy::file("all", "execute: {rules: [{permission: allow}]}");
        let config = rooms::config_of(&upstream, &api) + &policy::table("all");
        let proxy = Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/all.yaml", &rules)]).await;
        let mut request = ask("Which rooms are there?");
        request["tool_choice"] = choice.clone();
        proxy.client().chat(&request).await.ok();
        let methods: Vec<String> = api.received().iter().map(|received| received.method.clone()).collect();
        assert_eq!(methods, ["GET"], "{choice}");
        let requests = upstream.received();
        assert!(requests[1].text().contains("'tool_choice' excludes this tool"), "{}", requests[1].text());
        assert_eq!(requests[1].json()["tool_choice"], choice, "it is not met");
        assert_ne!(requests[2].json()["tool_choice"], choice, "it is met");
    }
}

#[tokio::test]
async fn a_get_runs_and_its_result_goes_to_the_model() {
    let upstream = Server::replying([
        one_call("listRooms", r#"{"floor":2,"tags":["tv","door & key"],"X-Tenant":"acme"}"#),
        answer::text("Two rooms."),
    ])
    .await;
    let api = rooms_api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let answer = proxy.client().chat(&ask("Which rooms?")).await;
    assert_eq!(answer.message()["content"], "Two rooms.");
    assert_eq!(answer.header("x-callwright-attempts"), Some("2"));
    let received = api.only_request();
    assert_eq!(received.method, "GET");
    assert_eq!(received.target, "/rooms?floor=2&tags=tv&tags=door%20%26%20key");
    assert_eq!(received.header("x-tenant"), Some("acme"));
    assert_eq!(received.header("x-api-key"), Some(rooms::KEY));
    assert!(result_of(&upstream.received()[1], "call_upstream1").contains("Amber"));
}

#[tokio::test]
async fn keys_stay_on_their_side() {
    let upstream = Server::replying([one_call("listRooms", r#"{"floor":2}"#), answer::text("Two rooms.")]).await;
    let api = rooms_api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let answer = proxy.client().chat_with(&ask("Which rooms?"), &[("cookie", "session=sk-cookie")]).await;
    let everything_for_the_api = format!("{:?}", api.received());
    assert!(!everything_for_the_api.contains("sk-"), "{everything_for_the_api}");
    let everything_else = format!("{:?} {answer:?} {}", upstream.received(), proxy.log());
    assert!(!everything_else.contains(rooms::KEY), "{everything_else}");
}

#[tokio::test]
async fn a_call_is_repaired_before_it_runs() {
    let upstream = Server::replying([one_call("list_rooms", r#"{"Floor":"2"}"#), answer::text("Two rooms.")]).await;
    let api = rooms_api().await;
    let proxy = proxy_of(&upstream, &api).await;
    proxy.client().chat(&ask("Which rooms?")).await.ok();
    assert_eq!(api.only_request().target, "/rooms?floor=2");
}

#[tokio::test]
async fn a_faulty_call_never_runs() {
    let upstream = Server::replying([
        one_call("listRooms", "{}"),
        one_call("listRooms", r#"{"floor":2}"#),
        answer::text("Two rooms."),
    ])
    .await;
    let api = rooms_api().await;
    let proxy = proxy_of(&upstream, &api).await;
    proxy.client().chat(&ask("Which rooms?")).await.ok();
    assert_eq!(api.received().len(), 1);
}

#[tokio::test]
async fn path_parameters_cannot_leave_their_segment() {
    for (room, target) in [
        ("a/b", "/rooms/a%2Fb"),
        ("x?y#z", "/rooms/x%3Fy%23z"),
        ("Zürich 1", "/rooms/Z%C3%BCrich%201"),
        ("100%", "/rooms/100%25"),
    ] {
        let upstream =
            Server::replying([one_call("getRoom", &json!({"room": room}).to_string()), answer::text("ok")]).await;
        let api = rooms_api().await;
        let proxy = proxy_of(&upstream, &api).await;
        proxy.client().chat(&ask("Which room?")).await.ok();
        assert_eq!(api.only_request().target, target);
    }
    for room in ["..", ".", "%2e", "%252e%252e", "a/../b"] {
        let upstream =
            Server::replying([one_call("getRoom", &json!({"room": room}).to_string()), answer::text("ok")]).await;
        let api = rooms_api().await;
        let proxy = proxy_of(&upstream, &api).await;
        proxy.client().chat(&ask("Which room?")).await;
        let targets: Vec<String> = api.received().into_iter().map(|received| received.target).collect();
        assert!(targets.is_empty(), "{room}: {targets:?}");
    }
}

#[tokio::test]
async fn several_calls_of_one_answer_all_run() {
    let both = calls(&[call("a", "listRooms", r#"{"floor":2}"#), call("b", "getRoom", r#"{"room":"Amber"}"#)]);
    let upstream = Server::replying([both, answer::text("Done.")]).await;
    let api = Server::scripted(|_, received| Reply::json(200, &json!({"from": received.target}))).await;
    let proxy = proxy_of(&upstream, &api).await;
    proxy.client().chat(&ask("Both")).await.ok();
    let second = &upstream.received()[1];
    assert!(result_of(second, "a").contains("/rooms?floor=2"));
    assert!(result_of(second, "b").contains("/rooms/Amber"));
}

const BOOKING: &str = r#"{"room":"Amber","from":"2026-03-01T09:00:00Z","hours":2}"#;

#[tokio::test]
async fn a_post_is_refused_where_no_policy_allows_it() {
    let upstream = Server::replying([one_call("bookRoom", BOOKING), answer::text("I may not book.")]).await;
    let api = rooms_api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let answer = proxy.client().chat(&ask("Book Amber")).await;
    assert_eq!(answer.message()["content"], "I may not book.");
    assert!(api.received().is_empty());
    let told = result_of(&upstream.received()[1], "call_upstream1");
    assert!(told.contains("POST") || told.contains("policy"), "{told}");
    assert_eq!(proxy.metrics().await.sum("tool_executions_total", &[("outcome", "refused")]), 1.0);
}

#[tokio::test]
async fn a_post_runs_where_policy_allows_it() {
    let upstream = Server::replying([one_call("bookRoom", BOOKING), answer::text("Booked.")]).await;
    let api = Server::always(Reply::json(201, &json!({"booking": 7}))).await;
    let proxy = booking_proxy(&upstream, &api).await;
    proxy.client().chat(&ask("Book Amber")).await.ok();
    let received = api.only_request();
    assert_eq!((received.method.as_str(), received.target.as_str()), ("POST", "/rooms/Amber/bookings"));
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.json(), json!({"from": "2026-03-01T09:00:00Z", "hours": 2}));
    assert!(result_of(&upstream.received()[1], "call_upstream1").contains("booking"));
}

#[tokio::test]
async fn a_failure_comes_back_with_the_sentence_that_explains_it() {
    let upstream = Server::replying([
        one_call("listRooms", r#"{"floor":5}"#),
        one_call("listRooms", r#"{"floor":2}"#),
        answer::text("Two rooms."),
    ])
    .await;
    let api = Server::scripted(|_, received| {
        if received.target.contains("floor=5") {
            Reply::json(400, &json!({"code": 4711}))
        } else {
            Reply::json(200, &json!(["Amber"]))
        }
    })
    .await;
    let proxy = proxy_of(&upstream, &api).await;
    let answer = proxy.client().chat(&ask("Which rooms?")).await;
    assert_eq!(answer.message()["content"], "Two rooms.");
    let feedback = result_of(&upstream.received()[1], "call_upstream1");
    for expected in ["400", "4711", "closed for renovation", "floor"] {
        assert!(feedback.contains(expected), "{expected} in {feedback}");
    }
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("tool_executions_total", &[("outcome", "client_error")]), 1.0);
    assert_eq!(metrics.sum("tool_executions_total", &[("outcome", "success")]), 1.0);
    assert_eq!(metrics.sum("explanations_total", &[]), 1.0);
}

#[tokio::test]
async fn the_dynamic_limit_ends_in_a_last_word_of_the_model() {
    let failing = |floor: u32| one_call("listRooms", &format!("{{\"floor\":{floor}}}"));
    let upstream = Server::replying([failing(5), failing(6), failing(7), answer::text("The floors are closed.")]).await;
    let api = Server::always(Reply::json(400, &json!({"code": 4711}))).await;
    let proxy = proxy_of(&upstream, &api).await;
    let answer = proxy.client().chat(&ask("Which rooms?")).await;
    assert_eq!(answer.message()["content"], "The floors are closed.");
    assert_eq!(api.received().len(), 3);
    assert_eq!(upstream.received().len(), 4);
    assert_eq!(proxy.metrics().await.sum("feedback_exhausted_total", &[("kind", "dynamic_feedback")]), 1.0);
    let trace = proxy.traces_after_stop().await.remove(0);
    assert_eq!(trace["record"].as_array().unwrap().len(), 3, "{trace:#}");
    assert_eq!(trace["exhausted"], "dynamic_feedback");
}

#[tokio::test]
async fn a_model_that_never_stops_calling_is_handed_to_a_person() {
    let upstream = Server::always(one_call("listRooms", r#"{"floor":5}"#)).await;
    let api = Server::always(Reply::json(400, &json!({"code": 4711}))).await;
    let proxy = proxy_of(&upstream, &api).await;
    let answer = proxy.client().chat(&ask("Which rooms?")).await;
    let message = answer.message();
    assert!(message.get("tool_calls").is_none_or(Value::is_null), "the client cannot run our calls: {message}");
    let text = message["content"].as_str().unwrap();
    assert!(text.contains("could not finish") && !text.contains("listRooms"), "{text}");
    assert!(text.contains(answer.header("x-callwright-trace").unwrap()), "{text}");
    assert_eq!(answer.ok()["choices"][0]["finish_reason"], "stop");
}

#[tokio::test]
async fn a_request_whose_outcome_is_unknown_is_never_sent_twice() {
    let upstream = Server::replying([
        one_call("bookRoom", BOOKING),
        one_call("bookRoom", BOOKING),
        answer::text("I do not know."),
    ])
    .await;
    let api = Server::always(Reply::reset()).await;
    let proxy = booking_proxy(&upstream, &api).await;
    proxy.client().chat_with(&ask("Book Amber"), &[("x-callwright-session", "s1")]).await.ok();
    assert_eq!(api.received().len(), 1, "{:?}", api.received());
    let unknown = proxy.metrics().await.sum("tool_executions_total", &[("outcome", "unknown")]);
    assert_eq!(unknown, 2.0, "the repetition is not sent, and its outcome is no better known");
}

#[tokio::test]
async fn what_ran_before_is_remembered_across_a_restart() {
    let upstream = Server::scripted(|_, received| {
        if received.last_message()["role"] == "tool" {
            answer::text("I do not know.")
        } else {
            one_call("bookRoom", BOOKING)
        }
    })
    .await;
    let api = Server::always(Reply::reset()).await;
    let proxy = booking_proxy(&upstream, &api).await;
    let session = [("x-callwright-session", "s1")];
    proxy.client().chat_with(&ask("Book Amber"), &session).await.ok();
    let proxy = proxy.stop().await.start_again().await;
    proxy.client().chat_with(&ask("Book Amber"), &session).await.ok();
    assert_eq!(api.received().len(), 1, "{:?}", api.received());
}

#[tokio::test]
async fn an_unreachable_api_is_an_outcome() {
    let upstream = Server::replying([one_call("listRooms", r#"{"floor":2}"#), answer::text("It is down.")]).await;
    let refusing = Server::refusing();
    let api = rooms_api().await;
    let config = rooms::config_of(&upstream, &api).replace(&api.url(""), &format!("http://{refusing}"));
    let proxy = Proxy::start_with_files(config, &rooms::FILES).await;
    assert_eq!(proxy.client().chat(&ask("Which rooms?")).await.message()["content"], "It is down.");
    assert_eq!(proxy.metrics().await.sum("tool_executions_total", &[("outcome", "unreachable")]), 1.0);
}

#[tokio::test]
async fn private_addresses_are_refused_unless_allowed() {
    let upstream = Server::replying([one_call("listRooms", r#"{"floor":2}"#), answer::text("Not allowed.")]).await;
    let api = rooms_api().await;
    let config =
        rooms::config_of(&upstream, &api).replace("allowed_addresses = [\"127.0.0.1\"]", "allowed_addresses = []");
    let proxy = Proxy::start_with_files(config, &rooms::FILES).await;
    proxy.client().chat(&ask("Which rooms?")).await.ok();
    assert!(api.received().is_empty());
    let told = result_of(&upstream.received()[1], "call_upstream1");
    assert!(told.contains("127.0.0.1") || told.contains("address"), "{told}");
}

#[tokio::test]
async fn redirects_to_another_host_are_not_followed() {
    let elsewhere = rooms_api().await;
    let upstream = Server::replying([one_call("listRooms", r#"{"floor":2}"#), answer::text("Moved.")]).await;
    let api = Server::always(Reply::body(302, &[("location", &elsewhere.url("/rooms"))], "")).await;
    let proxy = proxy_of(&upstream, &api).await;
    proxy.client().chat(&ask("Which rooms?")).await.ok();
    assert!(elsewhere.received().is_empty(), "{:?}", elsewhere.received());
}

#[tokio::test]
async fn a_huge_answer_is_cut() {
    let upstream = Server::replying([one_call("listRooms", r#"{"floor":2}"#), answer::text("Many.")]).await;
    let api = Server::always(Reply::body(200, &[("content-type", "text/plain")], "x".repeat(5_000_000))).await;
    let proxy = Proxy::start_with_files(
        rooms::config_of(&upstream, &api) + "[pipeline]\noutcome_chars = 1000\n",
        &rooms::FILES,
    )
    .await;
    proxy.client().chat(&ask("Which rooms?")).await.ok();
    let told = result_of(&upstream.received()[1], "call_upstream1");
    assert!(told.len() < 3_000, "{} bytes", told.len());
}

#[tokio::test]
async fn calls_of_both_sides_leave_the_client_with_its_own() {
    let both =
        calls(&[call("mine", "get_weather", r#"{"city":"Paris"}"#), call("ours", "listRooms", r#"{"floor":2}"#)]);
    let upstream = Server::always(both).await;
    let api = rooms_api().await;
    let proxy = proxy_of(&upstream, &api).await;
    let mut request = ask("Both");
    request["tools"] = json!([weather_tool()]);
    let message = proxy.client().chat(&request).await.message();
    assert_eq!(message["tool_calls"], json!([call("mine", "get_weather", r#"{"city":"Paris"}"#)]));
}

#[tokio::test]
async fn another_model_is_offered_nothing() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, rooms_api().await);
    let proxy = proxy_of(&upstream, &api).await;
    proxy.client().chat(&plain("Hello")).await.ok();
    assert!(upstream.only_request().tool_names().is_empty());
}

#[tokio::test]
async fn an_unreadable_document_is_said_at_the_start() {
    let upstream = Server::always(answer::text("hi")).await;
    let text = config(&upstream.url("/v1")) + "[toolsets.rooms]\ndocument = \"absent.yaml\"\n";
    let refusal = Proxy::refusal(&text).await;
    assert!(refusal.contains("absent.yaml"), "{refusal}");
}
