//! A tool that requires a key absent from the conversation is offered together with the tool that returns it.

use crate::support::{POLL, Proxy, Server, answer, config, guarded, policy};
use serde_json::{Value, json};

const REQUEST: &str = "Show me the calendar of my colleague Jack";

/// People, their calendars, and other resources of a company.
fn document() -> String {
    let text = json!({"type": "string"});
    let answers =
        |schema: Value| json!({"200": {"description": "", "content": {"application/json": {"schema": schema}}}});
    let person = json!({"type": "object", "properties": {"person_id": text, "name": text}});
    let reads = |name: &str, summary: &str, answer: Value| json!({"get": {"operationId": name, "summary": summary, "responses": answers(answer)}});
    let mut calendar = reads("showCalendar", "Shows a calendar of a colleague.", json!({"type": "object"}));
    calendar["get"]["parameters"] = json!([{"name": "person_id", "in": "query", "required": true, "schema": text}]);
    json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {
        "/canteen": reads("readMenu", "Reads the menu of the canteen.", json!({"type": "object"})),
        "/printers": reads("listPrinters", "Lists the printers.", json!({"type": "object"})),
        "/parking": reads("listParking", "Lists where cars can be parked.", json!({"type": "object"})),
        "/people": reads("listPeople", "Who works here.", json!({"type": "array", "items": person})),
        "/calendar": calendar,
    }})
    .to_string()
}

/// Starts a proxy with a policy that offers one tool by relevance, and has these further keys.
async fn proxy(upstream: &Server, offer: &str, rules: &str) -> Proxy {
    let config = config(&upstream.url("/v1"))
        + "[aliases.helper]\nmodel = \"gpt-test\"\ntoolsets = [\"company\"]\n"
        + "[toolsets.company]\ndocument = \"company.json\"\nbase_url = \"http://127.0.0.1:9\"\n"
        + "[planner]\nedges = \"edges.yaml\"\n[embedding]\nkind = \"none\"\n"
        + &policy::table("offering");
    let rules = policy::file("offering", &format!("offer: {{whole: 2, k: 1, min: 1, {offer}}}\n{rules}"));
    let files = [("company.json", document()), ("policies/offering.yaml", rules), ("edges.yaml", String::new())];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    Proxy::start_with_files(config, &files).await
}

/// Returns the tools offered for a request, with the reasons.
async fn offered(proxy: &Proxy, request: &str) -> Vec<[String; 2]> {
    let body = json!({"model": "helper", "messages": [{"role": "user", "content": request}]});
    let answer = proxy.client().chat_with(&body, &[("x-callwright-debug", "true")]).await;
    let tools = answer.json()["callwright"]["offer"]["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| ["name", "reason"].map(|member| tool[member].as_str().unwrap().to_owned())).collect()
}

fn with_people() -> Vec<[String; 2]> {
    [["showCalendar", "ranked"], ["listPeople", "prerequisite"]].map(|pair| pair.map(str::to_owned)).to_vec()
}

fn alone() -> Vec<[String; 2]> {
    with_people().drain(..1).collect()
}

#[tokio::test]
async fn what_supplies_a_key_that_nobody_gave_is_offered_too() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = proxy(&upstream, "sticky: true", "").await;
    assert_eq!(offered(&proxy, REQUEST).await, with_people());
    assert_eq!(upstream.last_request().tool_names(), ["showCalendar", "listPeople"]);
    assert_eq!(offered(&proxy, &format!("{REQUEST}, whose id is p_17")).await, alone());
    assert_eq!(offered(&proxy, "Which printers are there?").await, [["listPrinters", "ranked"].map(str::to_owned)]);
}

#[tokio::test]
async fn policy_says_how_many_and_keeps_out_what_it_denies() {
    let upstream = Server::always(answer::text("hi")).await;
    let denied = "execute: {rules: [{tools: [company/listPeople], permission: deny}]}";
    for (offer, rules) in [("prerequisites: 0", ""), ("never: [company/listPeople]", ""), ("sticky: true", denied)] {
        assert_eq!(offered(&proxy(&upstream, offer, rules).await, REQUEST).await, alone(), "{offer} {rules}");
    }
}

#[tokio::test]
async fn the_operator_s_file_decides_from_its_next_reload_on() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = proxy(&upstream, "sticky: false", "").await;
    let until = async |expected: Vec<[String; 2]>| {
        guarded("waiting for the file to hold", async {
            while offered(&proxy, REQUEST).await != expected {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
    };
    until(with_people()).await;
    proxy.write("edges.yaml", "forbidden:\n- {from: listPeople, to: showCalendar}\n");
    until(alone()).await;
    proxy.write("edges.yaml", "forbidden: [");
    proxy.metric_reaches("edges_reloads_total", &[("result", "failure")], 1.0).await;
    assert_eq!(offered(&proxy, REQUEST).await, alone(), "a bad file changes nothing");
    proxy.write("edges.yaml", "confirmed:\n- {from: listPrinters, to: showCalendar, argument: person_id}\n");
    until([["showCalendar", "ranked"], ["listPrinters", "prerequisite"]].map(|pair| pair.map(str::to_owned)).to_vec())
        .await;
}
