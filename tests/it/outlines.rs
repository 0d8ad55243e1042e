//! Outlines of the steps, based on procedures, for requests that lack values that no tool evidently supplies (policy
//! `procedures: auto`).

use crate::support::config::config;
use crate::support::{Proxy, Received, Reply, Server, answer, learned, office, policy};
use serde_json::{Value, json};

/// Document without response schemas, so that no tool evidently supplies a badge or a lock.
const DOCUMENT: &str = r#"
openapi: 3.1.0
info: {title: Access, version: "1"}
servers: [{url: "http://127.0.0.1:1"}]
paths:
  /people:
    get:
      operationId: findPeople
      summary: Finds people by name.
      parameters: [{name: name, in: query, required: true, schema: {type: string}}]
      responses: {"200": {description: The people.}}
  /places:
    get:
      operationId: findPlaces
      summary: Finds places of the building.
      parameters: [{name: place, in: query, required: true, schema: {type: string}}]
      responses: {"200": {description: The places.}}
  /grants:
    post:
      operationId: grantAccess
      summary: Grants a person access to a place.
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [badge_id, lock_id]
              properties: {badge_id: {type: string}, lock_id: {type: string}}
      responses: {"201": {description: Granted.}}
"#;

const RULES: &str =
    "recall: {group: office}\nexecute:\n  rules:\n    - {methods: [POST], tools: [\"office/*\"], permission: allow}\n";

/// A request without badge and lock.
const REQUEST: &str = "Grant Jill access to the laboratory";

/// Kinds of requests of the workflow, by the beginning of their prompts.
const KINDS: [(&str, &str); 6] = [
    ("draft", "Describe how to"),
    ("questions", "Determine what"),
    ("summary", "Answer `question`"),
    ("update", "`steps` are a draft"),
    ("review", "Review `steps`"),
    ("edit", "Edit `steps`"),
];

/// Returns the purpose of a request: a kind of the workflow, or `turn`.
fn kind(received: &Received) -> &'static str {
    let system = received.messages()[0]["content"].as_str().unwrap_or_default().to_owned();
    KINDS.iter().find(|(_, begin)| system.starts_with(begin)).map_or("turn", |(kind, _)| *kind)
}

/// A model that writes outlines and calls one tool after the other. Requests of the kind `away` fail.
async fn upstream(away: &'static str) -> Server {
    let steps = |step: &str| answer::text(&json!({"steps": [step]}).to_string());
    Server::scripted(move |_, received| match kind(received) {
        kind if kind == away => Reply::reset(),
        "draft" => steps("Find the badge"),
        "questions" => answer::text(r#"{"outline": [], "questions": ["How is access granted?"]}"#),
        "summary" => answer::text(r#"{"answer": "With a badge and a lock."}"#),
        "update" => steps("Find the badge and the lock"),
        "review" => {
            let is_edited = received.text().contains("then grant");
            answer::text(&json!({"edits": if is_edited { vec![] } else { vec!["say what comes last"] }}).to_string())
        }
        "edit" => steps("Find the badge and the lock, then grant"),
        _ => called(received),
    })
    .await
}

/// Returns the model's next call in a conversation, or its final text.
fn called(received: &Received) -> Reply {
    let messages = received.messages();
    let name = if received.text().contains("Jill") { "Jill" } else { "Jack" };
    let badge = if name == "Jill" { "badge-4711" } else { "badge-0815" };
    let (tool, arguments) = match messages.iter().filter(|message| message["role"] == "tool").count() {
        0 => ("findPeople", json!({"name": name})),
        1 => ("findPlaces", json!({"place": "laboratory"})),
        2 => ("grantAccess", json!({"badge_id": badge, "lock_id": "lock-1234"})),
        _ => return answer::text("Access is granted."),
    };
    answer::calls(&[answer::call(&format!("call_{}", messages.len()), tool, &arguments.to_string())])
}

async fn api() -> Server {
    Server::scripted(|_, received| {
        let is_jill = received.target.contains("Jill");
        match received.target.split('?').next().unwrap() {
            "/people" => Reply::json(200, &json!({"badge_id": if is_jill { "badge-4711" } else { "badge-0815" }})),
            "/places" => Reply::json(200, &json!({"lock_id": "lock-1234"})),
            _ => Reply::json(201, &json!({"granted": true})),
        }
    })
    .await
}

/// Starts a proxy with a learned procedure for granting access, from a turn with a positive verdict, then continues
/// with this upstream, these tables and rules.
async fn experienced(upstream: &Server, api: &Server, tables: &str, rules: &str) -> Proxy {
    let teacher = self::upstream("nobody").await;
    let file = |rules: &str| policy::file("ruled", &format!("{RULES}{rules}"));
    let config = config(&teacher.url("/v1")) + "[experience]\nwithhold = 0.0\n" + &office::tables(api);
    let files = [("office.yaml", DOCUMENT), ("policies/ruled.yaml", &file(""))];
    let proxy = Proxy::start_with_files(config, &files).await;
    let answer = proxy.client().chat(&office::ask("Grant Jack access to the laboratory")).await;
    assert_eq!(answer.message()["content"], "Access is granted.");
    assert!(teacher.received().iter().all(|received| kind(received) == "turn"), "nothing was learned yet");
    let stopped = learned::one_procedure(proxy).await;
    let tables = format!(
        "[upstreams.other]\nbase_url = \"{}\"\n[aliases.asked]\nupstream = \"other\"\nmodel = \"gpt-test\"\ntoolsets = [\"office\"]\n{tables}",
        upstream.url("/v1")
    );
    stopped.start_again_with(&tables, &[("policies/ruled.yaml", &file(rules))]).await
}

fn ask(text: &str) -> Value {
    let mut request = office::ask(text);
    request["model"] = json!("asked");
    request
}

/// Returns the kinds of all requests to the upstream.
fn kinds(upstream: &Server) -> Vec<&'static str> {
    upstream.received().iter().map(kind).collect()
}

/// Returns the outline behind the user's message in the latest request to the model.
fn shown(upstream: &Server) -> Option<String> {
    let text = upstream.last_request().messages()[0]["content"].as_str().unwrap().to_owned();
    assert!(text.starts_with(REQUEST), "{text}");
    text.split_once("\n1. ").map(|(_, steps)| steps.to_owned())
}

const TURN: [&str; 4] = ["turn", "turn", "turn", "turn"];

#[tokio::test]
async fn a_request_that_no_tool_completes_is_outlined_in_paper_order() {
    let (upstream, api) = (upstream("nobody").await, api().await);
    let proxy = experienced(&upstream, &api, "", "").await;
    let answer = proxy.client().chat(&ask(REQUEST)).await;
    assert_eq!(answer.message()["content"], "Access is granted.");
    let workflow = ["draft", "questions", "summary", "update", "review", "edit", "review"];
    assert_eq!(kinds(&upstream), [workflow.as_slice(), &TURN].concat());
    assert_eq!(shown(&upstream).as_deref(), Some("Find the badge and the lock, then grant"));
    let asked = upstream.received();
    assert!(asked[0].text().contains("badge_id from step"), "the procedure's steps: {}", asked[0].text());
    assert!(!asked[0].text().contains("Jack") && !asked[0].text().contains("0815"), "nothing that was said stays");

    // The cost is charged to the turn and reported.
    let metrics = proxy.metrics().await;
    assert_eq!(metrics.sum("tokens_total", &[("purpose", "procedure"), ("kind", "prompt")]), 7.0 * 20.0);
    let id = answer.header("x-callwright-trace").unwrap().to_owned();
    let trace = proxy.traces_after_stop().await.into_iter().find(|trace| trace["id"] == id.as_str()).unwrap();
    let attempts = trace["attempts"].as_array().unwrap();
    let purposes: Vec<&str> = attempts.iter().map(|attempt| attempt["purpose"].as_str().unwrap()).collect();
    assert_eq!(purposes[..8], [["procedure"; 7].as_slice(), &["first"]].concat());
    assert_eq!(trace["usage"]["total_tokens"], 25 * attempts.len(), "all of it is the turn's");
    let found = trace["memory"]["procedures"].as_array().unwrap();
    assert_eq!((found.len(), &found[0]["chance"], found[0].get("again")), (1, &json!(1.0), None), "{trace:#}");
}

#[tokio::test]
async fn switches_and_bounds_shorten_it_and_policy_ends_it() {
    for (tables, rules, workflow, steps) in [
        ("[procedures]\nrewriting = false\ncritic = false\n", "", vec!["draft"], Some("Find the badge")),
        (
            "[procedures]\nsummaries = false\ncritic = false\n",
            "",
            vec!["draft", "questions", "update"],
            Some("Find the badge and the lock"),
        ),
        ("", "limits: {plan_requests: 2}", vec!["draft", "questions"], Some("Find the badge")),
        ("", "limits: {plan_requests: 1}", vec!["draft"], Some("Find the badge")),
        ("[procedures]\ntokens = 10\n", "", vec![], None),
        ("", "procedures: off", vec![], None),
    ] {
        let (upstream, api) = (upstream("nobody").await, api().await);
        let proxy = experienced(&upstream, &api, tables, rules).await;
        let answer = proxy.client().chat(&ask(REQUEST)).await;
        assert_eq!(answer.message()["content"], "Access is granted.");
        assert_eq!(kinds(&upstream), [workflow.as_slice(), &TURN].concat(), "{tables}{rules}");
        assert_eq!(shown(&upstream).as_deref(), steps, "{tables}{rules}");
    }
}

#[tokio::test]
async fn the_turn_goes_on_with_the_best_if_the_model_leaves_midway() {
    for (away, steps) in
        [("draft", None), ("summary", Some("Find the badge")), ("edit", Some("Find the badge and the lock"))]
    {
        let (upstream, api) = (upstream(away).await, api().await);
        let proxy = experienced(&upstream, &api, "", "").await;
        let answer = proxy.client().chat(&ask(REQUEST)).await;
        assert_eq!(answer.message()["content"], "Access is granted.", "{away}");
        assert_eq!(shown(&upstream).as_deref(), steps, "{away}");
        let asked = kinds(&upstream);
        let last = asked.iter().rposition(|kind| *kind != "turn").unwrap();
        assert_eq!((asked[last], asked.len() - last), (away, 1 + TURN.len()), "{asked:?}");
        let id = answer.header("x-callwright-trace").unwrap().to_owned();
        let trace = proxy.traces_after_stop().await.into_iter().find(|trace| trace["id"] == id.as_str()).unwrap();
        let attempts = trace["attempts"].as_array().unwrap().iter();
        let failed: Vec<&Value> = attempts.filter(|attempt| attempt["outcome"] == "other").collect();
        assert_eq!(failed.len(), 1, "{trace:#}");
        assert_eq!(failed[0]["purpose"], "procedure");
    }
}

#[tokio::test]
async fn an_outline_stays_behind_its_message_and_is_not_repeated() {
    let (upstream, api) = (upstream("nobody").await, api().await);
    let proxy = experienced(&upstream, &api, "", "").await;
    proxy.client().chat(&ask(REQUEST)).await.ok();
    let before = upstream.take_received().pop().unwrap().messages()[0]["content"].clone();
    let mut next = ask(REQUEST);
    let later =
        [json!({"role": "assistant", "content": "Access is granted."}), json!({"role": "user", "content": "Thanks!"})];
    next["messages"].as_array_mut().unwrap().extend(later);
    proxy.client().chat(&next).await.ok();
    let asked = upstream.take_received();
    assert_eq!(kind(&asked[0]), "turn");
    assert_eq!(asked[0].messages()[0]["content"], before);
}

#[tokio::test]
async fn small_gaps_cause_no_question_unless_always_is_set() {
    let text = "Grant badge badge-4711 access to lock lock-1234";
    for (rules, is_outlined) in [("", false), ("procedures: always", true)] {
        let (upstream, api) = (upstream("nobody").await, api().await);
        let proxy = experienced(&upstream, &api, "", rules).await;
        proxy.client().chat(&ask(text)).await.ok();
        assert_eq!(kinds(&upstream).contains(&"draft"), is_outlined, "{rules}");
    }
}

#[tokio::test]
async fn nothing_is_asked_where_nothing_was_learned() {
    let (upstream, api) = (upstream("nobody").await, api().await);
    let file = policy::file("ruled", &format!("{RULES}procedures: always"));
    let files = [("office.yaml", DOCUMENT), ("policies/ruled.yaml", file.as_str())];
    let proxy = Proxy::start_with_files(config(&upstream.url("/v1")) + &office::tables(&api), &files).await;
    proxy.client().chat(&office::ask(REQUEST)).await.ok();
    assert_eq!(kinds(&upstream), TURN);
}
