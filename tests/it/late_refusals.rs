//! Refusals that depend on events during a turn or between two turns: their reason is in the trace, in the log and in
//! the metrics, like that of the others (`refusals.rs`).

use crate::support::answer::{self, one_call};
use crate::support::{Gate, POLL, Proxy, Reply, Server, guarded, policy, rooms};
use http::Method;
use serde_json::{Value, json};
use sqlx::ConnectOptions;

const BOOKING: &str = r#"{"room":"Amber","from":"2026-03-01T09:00:00Z","hours":2}"#;
/// Credential of the configuration, and its scheme in the document.
const KEY: &str = "key = \"rooms-secret-1\"";
const SCHEME: &str = "{type: apiKey, in: header, name: X-Api-Key}";
const WAITING: &str = "execute: {rules: [{permission: approve}], approval: {mode: wait, timeout_seconds: 60}}";
const HEADERS: [(&str, &str); 2] = [("x-callwright-debug", "true"), ("x-callwright-session", "s-1")];

/// A model that makes one call and ends with a text.
async fn model(tool: &'static str, arguments: &'static str) -> Server {
    Server::scripted(move |_, received| match received.last_message()["role"].as_str() {
        Some("tool") => answer::text("That did not work."),
        _ => one_call(tool, arguments),
    })
    .await
}

async fn start(model: &Server, api: &Server, rules: &str) -> Proxy {
    start_with(rooms::config_of(model, api), rooms::DOCUMENT, rules).await
}

/// Starts a proxy with these rules that does not notice changes of the store by others.
async fn start_with(config: String, document: &str, rules: &str) -> Proxy {
    assert!(config.contains("[store]\n"));
    let config = config.replace("[store]\n", "[store]\npoll_milliseconds = 3_600_000\n");
    let config = config + &policy::table("tested") + "[telemetry]\nformat = \"json\"\n";
    let file = policy::file("tested", rules);
    Proxy::start_with_files(config, &[("rooms.yaml", document), ("policies/tested.yaml", &file)]).await
}

async fn api() -> Server {
    Server::always(Reply::json(200, &json!(["Amber"]))).await
}

/// Waits for the request for approval and returns its id.
async fn pending(proxy: &Proxy) -> String {
    guarded("the request for approval", async {
        loop {
            let page = proxy.operator().get("/admin/approvals?status=pending").await.ok();
            if let Some(id) = page["approvals"][0]["id"].as_str() {
                return id.to_owned();
            }
            tokio::time::sleep(POLL).await;
        }
    })
    .await
}

async fn database(proxy: &Proxy) -> sqlx::SqliteConnection {
    let file = proxy.directory().join("traces.sqlite3");
    sqlx::sqlite::SqliteConnectOptions::new().filename(file).connect().await.unwrap()
}

/// Checks that the reason of one refused call is in the log and in the trace, with this part of the remedy.
fn check(log: &str, traces: &[Value], reason: &str, remedy: &str) {
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let logged: Vec<Value> = lines.filter(|line| line["reason"] == reason).collect();
    assert_eq!(logged.len(), 1, "{reason}: {log}");
    assert!(logged[0]["message"].as_str().unwrap().contains("a call was refused"), "{}", logged[0]);
    assert!(logged[0]["remedy"].as_str().unwrap().contains(remedy), "{}", logged[0]);
    let executions = traces.iter().flat_map(|trace| trace["executions"].as_array().unwrap());
    let refused: Vec<&Value> = executions.filter(|execution| execution["reason"] == reason).collect();
    assert_eq!(refused.len(), 1, "{reason}: {traces:#?}");
    assert!(refused[0]["remedy"].as_str().unwrap().contains(remedy), "{}", refused[0]);
}

/// Waits until the refusal is counted, then checks log and trace.
async fn counted_and_recorded(proxy: Proxy, reason: &str, remedy: &str) {
    proxy.metric_reaches("calls_refused_total", &[("toolset", "rooms"), ("reason", reason)], 1.0).await;
    let stopped = proxy.stop().await;
    let log = stopped.log();
    check(&log, &stopped.start_again().await.traces().await, reason, remedy);
}

#[tokio::test]
async fn a_call_whose_process_stops_before_the_decision_is_withdrawn() {
    let (model, api) = (model("bookRoom", BOOKING).await, api().await);
    let proxy = start(&model, &api, WAITING).await;
    let request = rooms::ask("Book a room.");
    let (answer, _) = tokio::join!(proxy.client().chat_with(&request, &HEADERS), async {
        pending(&proxy).await;
        proxy.terminate();
    });
    assert_eq!(answer.json()["callwright"]["executions"][0]["reason"], "approval_withdrawn");
    let stopped = proxy.ended().await;
    let log = stopped.log();
    check(&log, &stopped.start_again().await.traces().await, "approval_withdrawn", "execute.approval.mode: notice");
    assert!(api.received().is_empty());
}

#[tokio::test]
async fn an_approval_that_another_process_used_is_not_used_again() {
    let (model, api) = (model("listRooms", r#"{"floor":2}"#).await, api().await);
    // The token is obtained between the check of the approval and its use.
    let gate = Gate::closed();
    let token = Reply::json(200, &json!({"access_token": "t", "expires_in": 3600})).after(&gate);
    let tokens = Server::always(token).await;
    let config = rooms::config_of(&model, &api);
    assert!(config.contains(KEY) && rooms::DOCUMENT.contains(SCHEME));
    let config = config.replace(KEY, "key = { client_id = \"me\", client_secret = \"secret\" }");
    let flow = format!("{{clientCredentials: {{tokenUrl: \"{}\", scopes: {{}}}}}}", tokens.url("/token"));
    let document = rooms::DOCUMENT.replace(SCHEME, &format!("{{type: oauth2, flows: {flow}}}"));
    let rules = "execute: {rules: [{permission: approve}], approval: {mode: notice}}";
    let proxy = start_with(config, &document, rules).await;
    let request = rooms::ask("Which rooms are on floor 2?");
    proxy.client().chat_with(&request, &HEADERS).await.ok();
    let id = pending(&proxy).await;
    let path = format!("/admin/approvals/{id}/approve");
    proxy.operator().send(Method::POST, &path, &[("content-type", "application/json")], "{}").await.ok();
    let (answer, ()) = tokio::join!(proxy.client().chat_with(&request, &HEADERS), async {
        tokens.arrival_of(1).await;
        let used = sqlx::query("UPDATE approvals SET status = 'used' WHERE id = $1").bind(&id);
        used.execute(&mut database(&proxy).await).await.unwrap();
        gate.open();
    });
    assert_eq!(answer.json()["callwright"]["executions"][0]["reason"], "approval_used");
    assert!(api.received().is_empty());
    counted_and_recorded(proxy, "approval_used", "approve the next request").await;
}

#[tokio::test]
async fn a_call_whose_intent_cannot_be_stored_is_not_sent() {
    let (model, api) = (model("bookRoom", BOOKING).await, api().await);
    let proxy = start(&model, &api, "execute: {rules: [{permission: allow}]}").await;
    let full = "CREATE TRIGGER full BEFORE INSERT ON intents BEGIN SELECT RAISE(ABORT, 'the disk is full'); END";
    sqlx::query(full).execute(&mut database(&proxy).await).await.unwrap();
    let answer = proxy.client().chat_with(&rooms::ask("Book a room."), &HEADERS).await;
    assert_eq!(answer.json()["callwright"]["executions"][0]["reason"], "intent_not_stored");
    assert!(api.received().is_empty());
    counted_and_recorded(proxy, "intent_not_stored", "store").await;
}

#[tokio::test]
async fn a_call_that_is_approved_when_its_client_has_left_is_not_sent() {
    let (model, api) = (model("bookRoom", BOOKING).await, api().await);
    let proxy = start(&model, &api, WAITING).await;
    let connection = proxy.client().begin_chat_with(&rooms::ask("Book a room."), &HEADERS).await;
    let id = pending(&proxy).await;
    // The decision of another process, of which the waiting turn is not notified before its client leaves.
    let approve = sqlx::query("UPDATE approvals SET status = 'approved' WHERE id = $1").bind(&id);
    approve.execute(&mut database(&proxy).await).await.unwrap();
    connection.leave().await;
    counted_and_recorded(proxy, "client_gone", "the client disconnected").await;
    assert!(api.received().is_empty());
}
