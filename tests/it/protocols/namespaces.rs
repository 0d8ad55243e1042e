//! Tools of one name in two namespaces (`namespace` of a call in Responses): a call is judged by the schema of its own
//! namespace, and keeps it.

use serde_json::{Value, json};

use super::api::{Api, Part, call, text};
use super::sse;
use crate::support::{Proxy, Received, Reply, Server, config, policy};

const API: Api = Api::Responses;

/// Argument objects that are right in `mcp__crm` and in `mcp__shop` only.
const OF_CRM: &str = r#"{"customer_id":"c1","limit":5}"#;
const OF_SHOP: &str = r#"{"customerId":"c1","limit":5}"#;

/// Returns a request with `get_record` in two namespaces.
fn request() -> Value {
    let schema = |id: &str| {
        json!({"type": "object", "properties": {id: {"type": "string"}, "limit": {"type": "integer"}},
            "required": [id], "additionalProperties": false})
    };
    let namespace = |name: &str, id: &str| json!({"type": "namespace", "name": name, "description": name, "tools": [API.tool("get_record", schema(id))]});
    let mut request = API.plain("Which record?");
    request["tools"] = json!([namespace("mcp__crm", "customer_id"), namespace("mcp__shop", "customerId")]);
    request
}

/// Adds a namespace to each call in an answer or event.
fn mark(namespace: &str, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mark(namespace, item)),
        Value::Object(members) => {
            if members.get("type").is_some_and(|kind| kind == "function_call") {
                members.insert("namespace".to_owned(), json!(namespace));
            }
            members.values_mut().for_each(|member| mark(namespace, member));
        }
        _ => {}
    }
}

fn reply(namespace: &str, received: &Received, parts: &[Part]) -> Reply {
    if received.json()["stream"] == json!(true) {
        let mut events = json!(API.events(parts));
        mark(namespace, &mut events);
        return sse::reply(events.as_array().unwrap());
    }
    let mut answer = API.answer(parts);
    mark(namespace, &mut answer);
    Reply::json(200, &answer)
}

/// Starts an upstream that calls `get_record` once, and then gives up.
async fn upstream_of(namespace: &'static str, arguments: &'static str) -> Server {
    Server::scripted(move |_, received| {
        if received.json()["input"].to_string().contains("function_call_output") {
            return API.reply(received, &[text("I give up.")]);
        }
        reply(namespace, received, &[call("call_1", "get_record", arguments)])
    })
    .await
}

/// Returns the calls that reach the client, as namespace and arguments, and the number of requests to the model.
async fn calls_of(request: &Value, namespace: &'static str, arguments: &'static str) -> (Vec<String>, usize) {
    let upstream = upstream_of(namespace, arguments).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let [whole, streamed] = API.both(&proxy, request).await.map(|answer| {
        let calls = answer["output"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call");
        let written = calls.map(|call| {
            format!("{} {}", call["namespace"].as_str().unwrap_or_default(), call["arguments"].as_str().unwrap())
        });
        written.collect::<Vec<_>>()
    });
    assert_eq!(whole, streamed, "{namespace} {arguments}");
    assert_eq!(upstream.received()[0].json()["tools"], request["tools"]);
    (whole, upstream.received().len())
}

#[tokio::test]
async fn a_call_is_judged_by_the_schema_of_its_namespace() {
    let request = request();
    for (namespace, right) in [("mcp__crm", OF_CRM), ("mcp__shop", OF_SHOP)] {
        let expected = (vec![format!("{namespace} {right}")], 2);
        assert_eq!(calls_of(&request, namespace, right).await, expected);
        // Arguments that only the other tool accepts are repaired for this one.
        let other = if right == OF_CRM { OF_SHOP } else { OF_CRM };
        assert_eq!(calls_of(&request, namespace, other).await, expected);
    }
    for (namespace, sent) in [("mcp__crm", OF_CRM), ("mcp__shop", OF_SHOP)] {
        let (calls, _) = calls_of(&request, "", sent).await;
        assert_eq!(calls, [format!(" {sent}")], "without a namespace, either tool may be meant: not {namespace} alone");
    }
}

#[tokio::test]
async fn a_namespace_may_have_another_separator_at_its_end() {
    assert_eq!(calls_of(&request(), "mcp__shop__", OF_CRM).await.0, [format!("mcp__shop__ {OF_SHOP}")]);
}

#[tokio::test]
async fn a_name_with_its_namespace_is_judged_by_it_too() {
    let upstream =
        Server::scripted(|_, received| API.reply(received, &[call("call_1", "mcp__shop__get_record", OF_CRM)])).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let answer = API.send(&proxy, &request()).await.ok();
    assert_eq!(API.outline(&answer), [format!("call mcp__shop__get_record {OF_SHOP}")]);
}

#[tokio::test]
async fn each_of_several_calls_in_one_keeps_the_namespace() {
    let request = request();
    let two = r#"{"customer_id":"c1"}{"customer_id":"c2"}"#;
    let expected = [r#"mcp__crm {"customer_id":"c1"}"#, r#"mcp__crm {"customer_id":"c2"}"#].map(str::to_owned);
    assert_eq!(calls_of(&request, "mcp__crm", two).await, (expected.to_vec(), 2));
}

#[tokio::test]
async fn a_namespace_that_an_open_set_does_not_have_is_no_fault() {
    let mut request = request();
    let faulty = r#"{"other":1}"#;
    assert_eq!(calls_of(&request, "mcp__later", faulty).await.0, Vec::<String>::new(), "the set is complete");
    request["previous_response_id"] = json!("resp_1");
    assert_eq!(calls_of(&request, "mcp__later", faulty).await, (vec![format!("mcp__later {faulty}")], 2));
    assert_eq!(calls_of(&request, "mcp__crm", faulty).await.0, Vec::<String>::new());
}

#[tokio::test]
async fn feedback_and_closing_requests_keep_the_calls_namespace() {
    let upstream =
        Server::scripted(|_, received| reply("mcp__shop", received, &[call("call_1", "get_record", r#"{"limit":5}"#)]))
            .await;
    let config = config(&upstream.url("/v1")) + &policy::table("short");
    let rules = policy::file("short", "limits: {static_feedback: 1}");
    let proxy = Proxy::start_with_files(config, &[("policies/short.yaml", &rules)]).await;
    API.send(&proxy, &request()).await;
    let received = upstream.received();
    assert!(received.len() > 1);
    for received in received.iter().skip(1) {
        let conversation = API.conversation(received);
        let mut calls = conversation.iter().filter(|item| item["type"] == "function_call").peekable();
        assert!(calls.peek().is_some() && calls.all(|call| call["namespace"] == "mcp__shop"), "{conversation:#?}");
        let feedback = json!(API.added(received)).to_string();
        assert!(feedback.contains("customerId"), "{feedback}");
        assert!(!feedback.contains("customer_id"), "the parameter of the other tool: {feedback}");
    }
}
