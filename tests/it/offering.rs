//! Selection among many tools over the turns of a session: relevant tools are offered, in a list that grows only by
//! appending.

use std::collections::BTreeMap;

use crate::support::answer::{self, one_call};
use crate::support::request::{plain, weather_tool};
use crate::support::{Proxy, Received, Reply, Server, thousand};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Returns the tools of a request as exact bytes.
fn tools_text(request: &Received) -> String {
    let body: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(&request.body).unwrap();
    body.get("tools").map_or("[]", |tools| tools.get()).to_owned()
}

/// Whether a request's tool list begins with the exact bytes of an earlier list.
fn begins_with(later: &str, earlier: &str) -> bool {
    later.starts_with(earlier.strip_suffix(']').unwrap())
}

fn request_of(messages: &[Value]) -> Value {
    json!({"model": "helper", "messages": messages})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

async fn api() -> Server {
    Server::always(Reply::json(200, &json!({"done": true}))).await
}

/// Twenty turns about invoices, rooms and the weather, with the tool that each requires.
const TURNS: [(&str, &str, &str); 20] = [
    ("Which invoices are still open?", "list", "invoice"),
    ("Find the invoice of Miller.", "find", "invoice"),
    ("How many invoices did we write? Count the invoices.", "count", "invoice"),
    ("Approve invoice 7.", "approve", "invoice"),
    ("Yes, and send a reminder of that invoice.", "remind", "invoice"),
    ("Print the invoice, please.", "print", "invoice"),
    ("Archive the old invoices.", "archive", "invoice"),
    ("Now the rooms: which rooms are there?", "list", "room"),
    ("Find a room for six.", "find", "room"),
    ("Assign the room to the marketing team.", "assign", "room"),
    ("Split the large room.", "split", "room"),
    ("Schedule the room for Monday.", "schedule", "room"),
    ("Share the room with Berlin.", "share", "room"),
    ("What does the forecast say? List the forecasts.", "list", "forecast"),
    ("Compare it with the forecast of last week.", "compare", "forecast"),
    ("Translate the forecast into French.", "translate", "forecast"),
    ("Export the forecast.", "export", "forecast"),
    ("Validate the forecast.", "validate", "forecast"),
    ("Back to the invoices: reject invoice 8.", "reject", "invoice"),
    ("And restore invoice 3.", "restore", "invoice"),
];

/// A model that calls the tool that a turn requires, if it is offered.
fn model(number: usize, received: &Received) -> Reply {
    let messages = received.messages();
    let asked = messages.last().filter(|message| message["role"] == "user");
    let Some(text) = asked.and_then(|message| message["content"].as_str()) else { return answer::text("Done.") };
    let Some((_, action, record)) = TURNS.iter().find(|(said, ..)| *said == text) else { return answer::text("Hm.") };
    let name = thousand::tool(action, record);
    if received.tool_names().contains(&name) {
        answer::calls(&[answer::call(&format!("call_{number}"), &name, r#"{"id":"7"}"#)])
    } else {
        answer::text("I cannot do that.")
    }
}

/// Runs a session through all turns. Returns the exact bytes of the tools in the first request of each.
async fn session(proxy: &Proxy, upstream: &Server, name: &str) -> Vec<String> {
    let (mut messages, mut sent) = (Vec::new(), Vec::new());
    for (text, ..) in TURNS {
        messages.push(user(text));
        let before = upstream.received().len();
        let answer = proxy.client().chat_with(&request_of(&messages), &[("x-callwright-session", name)]).await;
        messages.push(answer.message());
        let received = upstream.received();
        sent.extend(received[before..].iter().map(tools_text));
    }
    sent
}

#[tokio::test]
async fn a_session_appends_to_its_tools_at_a_tenth_of_the_cost() {
    let (upstream, api) = (Server::scripted(model).await, api().await);
    let proxy = thousand::proxy(&upstream, &api, "", "{}").await;
    let sent = session(&proxy, &upstream, "twenty").await;
    assert!(sent.windows(2).all(|pair| begins_with(&pair[1], &pair[0])), "a list does not begin with the one before");
    assert_eq!(sent.len(), 2 * TURNS.len(), "every turn found its tool, called it, and said what came of it");
    assert_eq!(api.received().len(), TURNS.len());
    assert_eq!(proxy.metrics().await.sum("tool_prefix_changes_total", &[]), 0.0);

    let everything = thousand::proxy(&upstream, &api, "max_tools = 0", "{whole: 1000}").await;
    everything.client().chat(&request_of(&[user("Hello")])).await.ok();
    let whole = tools_text(&upstream.last_request());
    assert_eq!(upstream.last_request().tool_names().len(), 1000);
    let (cost, all) = (sent.iter().map(String::len).sum::<usize>(), sent.len() * whole.len());
    let names = |text: &str| serde_json::from_str::<Vec<Value>>(text).unwrap().len();
    anstream::println!(
        "tools in the last turn: {} of 1000; bytes of tools over the session: {cost} of {all}, {:.1} % less (at four bytes a token: {} of {} tokens)",
        names(sent.last().unwrap()),
        100.0 - 100.0 * cost as f64 / all as f64,
        cost / 4,
        all / 4,
    );
    assert!(cost * 10 <= all, "{cost} of {all} bytes");
}

#[tokio::test]
async fn the_conversation_restores_the_offer_after_a_restart() {
    let (upstream, api) = (Server::scripted(model).await, api().await);
    let proxy = thousand::proxy(&upstream, &api, "", "{}").await;
    let messages = [user(TURNS[0].0), json!({"role": "assistant", "content": "None."}), user(TURNS[8].0)];
    let session = [("x-callwright-session", "s")];
    proxy.client().chat_with(&request_of(&messages[..1]), &session).await.ok();
    let first = tools_text(&upstream.last_request());
    let proxy = proxy.stop().await.start_again().await;
    thousand::indexed(&proxy).await;
    proxy.client().chat_with(&request_of(&messages), &session).await.ok();
    let second = tools_text(&upstream.last_request());
    assert!(begins_with(&second, &first), "{first}\n{second}");
    proxy.client().chat(&request_of(&messages)).await.ok();
    assert_eq!(tools_text(&upstream.last_request()), second);
}

#[tokio::test]
async fn at_a_providers_limit_unused_tools_make_room_for_some_turns() {
    let (upstream, api) = (Server::scripted(model).await, api().await);
    let proxy = thousand::proxy(&upstream, &api, "", "{k: 25, min: 25, gap: 0}").await;
    let (mut messages, mut lists) = (Vec::new(), Vec::new());
    let records = ["invoice", "room", "salary", "parcel", "ticket", "passport", "vineyard"];
    for (number, record) in records.iter().enumerate() {
        let text = if number == 0 { TURNS[0].0.to_owned() } else { format!("Something about the {record}s") };
        messages.push(user(&text));
        let answer = proxy.client().chat_with(&request_of(&messages), &[("x-callwright-session", "limit")]).await;
        messages.push(answer.message());
        lists.push(upstream.last_request());
    }
    assert!(lists.iter().all(|list| list.tool_names().len() <= 128));
    let called = thousand::tool("list", "invoice");
    assert!(lists.last().unwrap().tool_names().contains(&called), "what was called stays");
    let texts: Vec<String> = lists.iter().map(tools_text).collect();
    let changes = texts.windows(2).filter(|pair| !begins_with(&pair[1], &pair[0])).count();
    assert_eq!(changes, 1, "{:?}", lists.iter().map(|list| list.tool_names().len()).collect::<Vec<_>>());
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("tool_prefix_changes_total", &[("reason", "limit")]), 1.0);
    assert_eq!(metrics.sum("tool_prefix_changes_total", &[]), 1.0);
}

#[tokio::test]
async fn a_clients_list_that_fills_the_limit_is_sent_as_it_is() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, api().await);
    let proxy = thousand::proxy(&upstream, &api, "max_tools = 3", "{}").await;
    let mut request = request_of(&[user(TURNS[0].0)]);
    request["tools"] = json!([named("own_one"), named("own_two"), {"type": "web_search"}]);
    proxy.client().chat(&request).await.ok();
    assert_eq!(upstream.last_request().json()["tools"], request["tools"]);
}

#[tokio::test]
async fn small_toolsets_are_offered_whole_large_ones_by_policy() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, api().await);
    let proxy = thousand::proxy(
        &upstream,
        &api,
        "",
        "{k: 4, min: 2, always: ['everything/auditTunnels'], search_tools: {from: 0}}",
    )
    .await;
    let request =
        request_of(&[json!({"role": "system", "content": "For parcels use splitParcels."}), user("Print the invoice")]);
    let answer = proxy.client().chat_with(&request, &[("x-callwright-debug", "true")]).await;
    let names = upstream.last_request().tool_names();
    for expected in ["auditTunnels", "splitParcels", "printInvoices"] {
        assert!(names.contains(&expected.to_owned()), "{expected}: {names:?}");
    }
    assert!((3..=6).contains(&names.len()), "{names:?}");
    let offer = answer.json()["callwright"]["offer"].clone();
    assert_eq!(offer["candidates"], 1000);
    let reason = |name: &str| {
        let tools = offer["tools"].as_array().unwrap().iter();
        tools.clone().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("{offer:#}"))["reason"].clone()
    };
    assert_eq!(
        [reason("auditTunnels"), reason("splitParcels"), reason("printInvoices")],
        ["always", "named", "ranked"]
    );
    assert!(proxy.metrics().await.sum("retrieval_duration_seconds_count", &[]) >= 1.0);
    let trace = proxy.traces_after_stop().await.remove(0);
    assert_eq!(trace["offer"]["candidates"], 1000, "{trace:#}");
}

#[tokio::test]
async fn tools_that_policy_excludes_are_never_offered_found_or_called() {
    let upstream = Server::replying([
        one_call("printInvoices", r#"{"id":"7"}"#),
        one_call("search_tools", r#"{"query":"print invoices"}"#),
        answer::text("It cannot be done."),
    ])
    .await;
    let api = api().await;
    let proxy =
        thousand::proxy(&upstream, &api, "", "{never: ['everything/print*'], always: ['everything/print*']}").await;
    proxy.client().chat(&request_of(&[user("Print the invoice with printInvoices")])).await.ok();
    let received = upstream.received();
    assert!(received.iter().all(|request| !request.tool_names().iter().any(|name| name.starts_with("print"))));
    assert!(api.received().is_empty());
    let found = received.last().unwrap().last_message()["content"].as_str().unwrap().to_owned();
    assert!(found.contains("exportInvoices") || found.contains("Invoices"), "{found}");
    assert!(!found.contains("printInvoices"), "{found}");
}

#[tokio::test]
async fn without_toolsets_and_narrowing_requests_pass_byte_for_byte() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, api().await);
    let proxy = thousand::proxy(&upstream, &api, "", "{}").await;
    let many: Vec<Value> = (0..100).map(|number| named(&format!("tool_{number}"))).collect();
    let mut request = plain("Hello");
    request["tools"] = json!(many);
    proxy.client().chat(&request).await.ok();
    assert_eq!(upstream.last_request().text(), request.to_string());
    request["model"] = json!("helper");
    proxy.client().chat(&request).await.ok();
    let text = tools_text(&upstream.last_request());
    assert!(begins_with(&text, &request["tools"].to_string()), "{text}");
}

fn named(name: &str) -> Value {
    let mut tool = weather_tool();
    tool["function"]["name"] = json!(name);
    tool
}

#[tokio::test]
async fn narrowed_client_tools_keep_their_bytes_and_positions() {
    let upstream = Server::replying([
        answer::text("hi"),
        answer::calls(&[answer::call("mine", "auditTunnels", r#"{"city":"Ulm"}"#)]),
        answer::text("Done."),
    ])
    .await;
    let api = api().await;
    let proxy = thousand::proxy(&upstream, &api, "", "{client_tools: narrow, k: 3, min: 1}").await;
    let session = [("x-callwright-session", "narrow")];
    let names: Vec<String> = ["invoice", "room", "tunnel"]
        .iter()
        .flat_map(|record| {
            [
                "list", "find", "print", "audit", "share", "merge", "split", "assign", "reject", "count", "export",
                "compare", "preview", "archive",
            ]
            .map(|action| thousand::tool(action, record))
        })
        .collect();
    let mut request = plain("Print the invoice");
    request["tools"] = json!(names.iter().map(|name| named(name)).collect::<Vec<_>>());
    request["tools"].as_array_mut().unwrap().push(json!({"type": "function"}));
    proxy.client().chat_with(&request, &session).await.ok();
    let first = upstream.last_request();
    let offered = first.tool_names();
    assert!(offered.contains(&"printInvoices".to_owned()) && offered.len() <= 4, "{offered:?}");
    assert_eq!(first.json()["tools"][0], json!({"type": "function"}), "what cannot be read is the upstream's to judge");

    // The model calls an omitted tool: it belongs to the client, which receives the call.
    request["messages"]
        .as_array_mut()
        .unwrap()
        .extend([json!({"role": "assistant", "content": "hi"}), user("And the tunnels?")]);
    let answer = proxy.client().chat_with(&request, &session).await;
    assert_eq!(answer.message()["tool_calls"][0]["function"]["name"], "auditTunnels");
    assert_eq!(upstream.received().len(), 2, "nothing was asked twice");
    proxy.client().chat_with(&request, &session).await.ok();
    let last = upstream.last_request();
    assert!(last.tool_names().contains(&"auditTunnels".to_owned()));
    assert!(begins_with(&tools_text(&last), &tools_text(&first)));
}
