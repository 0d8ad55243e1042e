//! OpenAPI documents that change while the proxy runs: new turns use the new tools, running turns keep theirs.

use crate::support::answer::{self, one_call};
use crate::support::request::plain;
use crate::support::{Gate, POLL, Proxy, Reply, Server, guarded, rooms};
use serde_json::{Value, json};

fn ask() -> Value {
    let mut request = plain("Which rooms?");
    request["model"] = json!("helper");
    request
}

/// Sends requests until the latest one offers a tool of this name.
async fn offers(proxy: &Proxy, upstream: &Server, tool: &str) {
    guarded(&format!("waiting for {tool}"), async {
        loop {
            proxy.client().chat(&ask()).await.ok();
            if upstream.last_request().tool_names().contains(&tool.to_owned()) {
                return;
            }
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}

fn renamed(to: &str) -> String {
    rooms::DOCUMENT.replace("listRooms", to)
}

#[tokio::test]
async fn a_changed_document_gives_new_tools_without_a_restart() {
    let upstream = Server::always(answer::text("hi")).await;
    let api = Server::always(Reply::json(200, &json!([]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    proxy.client().chat(&ask()).await.ok();
    assert_eq!(upstream.last_request().tool_names(), ["listRooms", "getRoom"]);
    proxy.write("rooms.yaml", &renamed("findRooms"));
    offers(&proxy, &upstream, "findRooms").await;
    assert!(proxy.metrics().await.sum("catalog_reloads_total", &[("result", "success")]) >= 1.0);
}

#[tokio::test]
async fn a_broken_document_changes_nothing_and_is_named() {
    let upstream = Server::always(answer::text("hi")).await;
    let api = Server::always(Reply::json(200, &json!([]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    for broken in ["openapi: [", "", "name: a workflow"] {
        let failures = [("result", "failure")];
        let before = proxy.metrics_now().await.sum("catalog_reloads_total", &failures);
        proxy.write("rooms.yaml", broken);
        guarded("waiting for the broken document to be noticed", async {
            while proxy.metrics_now().await.sum("catalog_reloads_total", &failures) <= before {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
        proxy.client().chat(&ask()).await.ok();
        assert_eq!(upstream.last_request().tool_names(), ["listRooms", "getRoom"], "{broken}");
        assert!(proxy.log().contains("rooms.yaml"), "{}", proxy.log());
    }
    proxy.write("rooms.yaml", &renamed("findRooms"));
    offers(&proxy, &upstream, "findRooms").await;
}

#[tokio::test]
async fn a_running_turn_keeps_the_tools_that_it_was_offered() {
    let gate = Gate::closed();
    let held = one_call("listRooms", r#"{"floor":2}"#).after(&gate);
    // The first request belongs to the running turn, which sends another one with the results once the gate is open.
    let upstream = Server::scripted(move |index, received| match (index, received.text().contains("tool_call_id")) {
        (0, _) => held.clone(),
        (_, true) => answer::text("Two rooms."),
        _ => answer::text("hi"),
    })
    .await;
    let api = Server::always(Reply::json(200, &json!(["Amber"]))).await;
    let proxy = Proxy::start_with_files(rooms::config_of(&upstream, &api), &rooms::FILES).await;
    let request = ask();
    let running = proxy.client().chat(&request);
    let meanwhile = async {
        upstream.arrival_of(1).await;
        proxy.write("rooms.yaml", &renamed("findRooms").replace("/rooms:", "/halls:"));
        offers(&proxy, &upstream, "findRooms").await;
        gate.open();
    };
    let (answer, ()) = tokio::join!(running, meanwhile);
    assert_eq!(answer.message()["content"], "Two rooms.");
    assert_eq!(api.only_request().target, "/rooms?floor=2");
}
