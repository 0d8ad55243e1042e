//! Tools added during a turn: tools that the model calls without an offer, and tools that it searches for. Also the use
//! of learned representations in selection and descriptions.

use crate::support::answer::{self, one_call};
use crate::support::request::{plain, streamed, weather_tool};
use crate::support::{Proxy, Received, Reply, Server, guarded, thousand};
use serde_json::{Value, json};

const FEW: &str = "{k: 2, min: 1}";

fn ask(text: &str) -> Value {
    let mut request = plain(text);
    request["model"] = json!("helper");
    request
}

async fn api() -> Server {
    Server::always(Reply::json(200, &json!({"done": true}))).await
}

fn is_offered(request: &Received, name: &str) -> bool {
    request.tool_names().contains(&name.to_owned())
}

#[tokio::test]
async fn a_right_call_of_an_unoffered_tool_runs_without_a_new_request() {
    let upstream = Server::replying([one_call("audit_tunnels", r#"{"id":"7"}"#), answer::text("Audited.")]).await;
    let api = api().await;
    let proxy = thousand::proxy(&upstream, &api, "", FEW).await;
    let answer = proxy.client().chat(&ask("Print the invoice")).await;
    assert_eq!(answer.message()["content"], "Audited.");
    assert_eq!(api.only_request().target, "/tunnels/audit?id=7");
    let received = upstream.received();
    assert!(!is_offered(&received[0], "auditTunnels") && is_offered(&received[1], "auditTunnels"));
    assert_eq!(received[1].tool_names().last().map(String::as_str), Some("auditTunnels"), "it is appended");
    assert_eq!(proxy.metrics().await.sum("diagnoses_total", &[]), 0.0);
    let trace = proxy.traces_after_stop().await.remove(0);
    let tools = trace["offer"]["tools"].as_array().unwrap();
    assert_eq!(
        (&tools.last().unwrap()["name"], &tools.last().unwrap()["reason"]),
        (&json!("auditTunnels"), &json!("called"))
    );
}

#[tokio::test]
async fn a_faulty_call_of_an_unoffered_tool_goes_back_with_the_tool() {
    let upstream = Server::replying([
        one_call("auditTunnels", r#"{"number":"7"}"#),
        one_call("auditTunnels", r#"{"id":"7"}"#),
        answer::text("Audited."),
    ])
    .await;
    let api = api().await;
    let proxy = thousand::proxy(&upstream, &api, "", FEW).await;
    let answer = proxy.client().chat(&ask("Print the invoice")).await;
    assert_eq!(answer.message()["content"], "Audited.");
    assert_eq!(answer.header("x-callwright-verdict"), Some("corrected"));
    let second = &upstream.received()[1];
    assert!(is_offered(second, "auditTunnels"));
    let feedback = second.last_message()["content"].as_str().unwrap().to_owned();
    assert!(feedback.contains("`id`") && !feedback.contains("no tool"), "{feedback}");
}

#[tokio::test]
async fn a_tool_that_there_is_not_is_an_unknown_one_still() {
    let upstream = Server::replying([one_call("flyToTheMoon", "{}"), answer::text("I cannot.")]).await;
    let api = api().await;
    let proxy = thousand::proxy(&upstream, &api, "", FEW).await;
    proxy.client().chat(&ask("Print the invoice")).await.ok();
    let received = upstream.received();
    assert_eq!(received[0].tool_names(), received[1].tool_names());
    assert!(proxy.metrics().await.sum("diagnoses_total", &[]) >= 1.0);
}

#[tokio::test]
async fn a_model_that_searches_finds_a_tool_and_calls_it() {
    let upstream = Server::replying([
        one_call("search_tools", r#"{"query":"audit a tunnel","limit":3}"#),
        one_call("auditTunnels", r#"{"id":"7"}"#),
        answer::text("Audited."),
    ])
    .await;
    let api = api().await;
    let proxy = thousand::proxy(&upstream, &api, "", FEW).await;
    let answer = proxy.client().chat(&ask("Print the invoice")).await;
    assert_eq!(answer.message()["content"], "Audited.");
    assert!(answer.message().get("tool_calls").is_none(), "the client hears nothing of it");
    assert_eq!(api.only_request().target, "/tunnels/audit?id=7");
    let received = upstream.received();
    assert_eq!(received[0].tool_names()[0], "search_tools");
    let told = received[1].last_message();
    assert_eq!(told["role"], "tool");
    assert!(told["content"].as_str().unwrap().contains("- `auditTunnels`: Audits tunnels."), "{told}");
    assert!(is_offered(&received[1], "auditTunnels") && !is_offered(&received[0], "auditTunnels"));
    let new = received[1].tool_names().len() - received[0].tool_names().len();
    assert!((1..=3).contains(&new), "{new}");
    assert_eq!(proxy.metrics().await.sum("tool_executions_total", &[("tool", "search_tools")]), 1.0);
    let trace = proxy.traces_after_stop().await.remove(0);
    assert_eq!(trace["executions"][0]["operation"], "search", "{trace:#}");
}

#[tokio::test]
async fn a_search_works_in_a_stream() {
    let upstream = Server::replying([
        Reply::events(&answer::call_chunks(&[("a", "search_tools", r#"{"query":"audit a tunnel"}"#)])),
        Reply::events(&answer::text_chunks("There is a tool for that.")),
    ])
    .await;
    let api = api().await;
    let proxy = thousand::proxy(&upstream, &api, "", FEW).await;
    let mut stream = proxy.client().chat_stream(&streamed(ask("Print the invoice"))).await;
    assert_eq!(stream.assemble().await.choice().content, "There is a tool for that.");
    assert!(is_offered(&upstream.received()[1], "auditTunnels"));
}

#[tokio::test]
async fn searches_are_bounded_and_a_clients_tool_keeps_its_name() {
    let upstream = Server::scripted(|number, received| match received.last_message()["role"].as_str() {
        _ if number >= 3 => answer::text("Enough."),
        _ => answer::calls(&[answer::call(&format!("c{number}"), "search_tools_2", r#"{"query":"audit a tunnel"}"#)]),
    })
    .await;
    let api = api().await;
    let rules = "{k: 2, min: 1, search_tools: {per_turn: 1, results: 2}}";
    let proxy = thousand::proxy(&upstream, &api, "", rules).await;
    let mut request = ask("Print the invoice");
    let mut own = weather_tool();
    own["function"]["name"] = json!("search_tools");
    request["tools"] = json!([own]);
    proxy.client().chat(&request).await.ok();
    let received = upstream.received();
    assert_eq!(received[0].tool_names()[..2], ["search_tools", "search_tools_2"]);
    let told = |number: usize| received[number].last_message()["content"].as_str().unwrap().to_owned();
    assert!(told(1).starts_with("Found"), "{}", told(1));
    assert!(told(2).starts_with("No further searches in this turn: 1"), "{}", told(2));
    assert_eq!(received[1].tool_names().len() - received[0].tool_names().len(), 2);
}

/// A representation file: tunnels are audited under another term.
const LEARNED: &str = "toolset: everything
tools:
- tool: auditTunnels
  patterns:
  - description: Looking after leaking underground crossings.
    cases: [water drips from the ceiling below the river, moisture under the river]
";

async fn learning_proxy(upstream: &Server, api: &Server, rules: &str) -> Proxy {
    let config = thousand::config_of(upstream, api, "") + "[representations]\ndirectory = \"learned\"\n";
    let mut files = thousand::files(rules);
    files.push(("learned/everything.yaml".to_owned(), LEARNED.to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let proxy = Proxy::start_with_files(config, &files).await;
    thousand::indexed(&proxy).await;
    proxy
}

/// Returns the description of a tool in the request.
fn description(request: &Received, name: &str) -> Option<String> {
    let body = request.json();
    let found = body["tools"].as_array()?.iter().find(|tool| tool["function"]["name"] == name)?;
    found["function"]["description"].as_str().map(str::to_owned)
}

#[tokio::test]
async fn learned_patterns_find_a_tool_are_shown_and_follow_their_file() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, api().await);
    let proxy = learning_proxy(&upstream, &api, FEW).await;
    let session = [("x-callwright-session", "learned"), ("x-callwright-debug", "true")];
    let wet = ask("It drips from the ceiling, under the river!");
    let answer = proxy.client().chat_with(&wet, &session).await;
    let shown = description(&upstream.last_request(), "auditTunnels").unwrap();
    assert!(shown.starts_with("Audits tunnels.") && shown.contains("leaking underground crossings"), "{shown}");
    let offer = answer.json()["callwright"]["offer"].clone();
    let tools = offer["tools"].as_array().unwrap();
    let found = tools.iter().find(|tool| tool["name"] == "auditTunnels").unwrap();
    assert_eq!(found["pattern"], "Looking after leaking underground crossings.");

    proxy.write("learned/everything.yaml", &LEARNED.replace("leaking", "wet"));
    guarded("waiting for the representations", async {
        loop {
            proxy.client().chat_with(&wet, &session).await.ok();
            if description(&upstream.last_request(), "auditTunnels").unwrap().contains("wet underground") {
                return;
            }
        }
    })
    .await;
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("tool_prefix_changes_total", &[("reason", "reload")]), 1.0);
    assert_eq!(metrics.sum("representation_reloads_total", &[("result", "success")]), 1.0);
    proxy.write("learned/everything.yaml", "tools: [");
    proxy.metric_reaches("representation_reloads_total", &[("result", "failure")], 1.0).await;
    proxy.client().chat_with(&wet, &session).await.ok();
    assert!(description(&upstream.last_request(), "auditTunnels").unwrap().contains("wet underground"));
}

#[tokio::test]
async fn policy_may_have_descriptions_shown_as_the_document_has_them() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, api().await);
    let proxy = learning_proxy(&upstream, &api, "{k: 2, min: 1, representations: false}").await;
    proxy.client().chat(&ask("It drips from the ceiling, under the river!")).await.ok();
    assert_eq!(description(&upstream.last_request(), "auditTunnels").as_deref(), Some("Audits tunnels."));
}

/// Returns identical vectors.
fn vectors(received: &Received) -> Reply {
    let inputs = received.json()["input"].as_array().unwrap().len();
    let vector = |index: usize| json!({"object": "embedding", "index": index, "embedding": [1.0, 0.5]});
    Reply::json(200, &json!({"object": "list", "data": (0..inputs).map(vector).collect::<Vec<_>>()}))
}

/// Starts a proxy with a few tools and vectors from an endpoint.
async fn embedding_proxy(upstream: &Server, api: &Server, embeddings: &Server) -> Proxy {
    let config = thousand::config_of(upstream, api, "")
        + "[embedding]\nkind = \"endpoint\"\ncache = false\n[embedding.endpoint]\n"
        + &format!("base_url = \"{}\"\ndimensions = 2\n", embeddings.url("/v1"));
    let files = thousand::files(FEW);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Proxy::start_with_files(config, &files).await
}

#[tokio::test]
async fn vectors_that_could_not_be_made_are_asked_for_again() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, api().await);
    let embeddings = Server::scripted(|number, received| match number {
        0 => Reply::json(500, &json!({"error": {"message": "not yet"}})),
        _ => vectors(received),
    })
    .await;
    let proxy = embedding_proxy(&upstream, &api, &embeddings).await;
    thousand::indexed(&proxy).await;
    assert!(embeddings.received().len() > 1);
}

#[tokio::test]
async fn an_embedder_that_does_not_answer_leaves_the_choice_to_words() {
    let (upstream, api) = (Server::always(answer::text("hi")).await, api().await);
    // The tools get their vectors; later requests get no response.
    let embeddings = Server::scripted(|_, received| {
        let inputs = received.json()["input"].as_array().unwrap().clone();
        if inputs.iter().any(|text| text.as_str().unwrap().contains("tractor?")) {
            return Reply::silence();
        }
        vectors(received)
    })
    .await;
    let proxy = embedding_proxy(&upstream, &api, &embeddings).await;
    thousand::indexed(&proxy).await;
    let answer = proxy.client().chat_with(&ask("Archive the tractor?"), &[("x-callwright-debug", "true")]).await;
    assert!(is_offered(&upstream.last_request(), "archiveTractors"));
    assert_eq!(answer.json()["callwright"]["offer"]["words_alone"], true);
    assert_eq!(proxy.metrics().await.sum("stage_degraded_total", &[("stage", "offer")]), 1.0);
}
