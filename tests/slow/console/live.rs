//! The list of approvals follows the proxy without a reload.

use callwright_test_macros::requires;
use serde_json::json;

use super::{drive, script};
use crate::support::answer::{one_call, text};
use crate::support::{Proxy, Received, Reply, Server, policy, rooms};

fn model(_: usize, request: &Received) -> Reply {
    match request.messages().iter().filter(|message| message["role"] == "tool").count() {
        0 => one_call("bookRoom", r#"{"room": "blue", "from": "2026-03-01T09:00:00Z", "hours": 2}"#),
        _ => text("It is booked."),
    }
}

#[requires(chromium, python_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_call_appears_in_the_list_and_in_the_title() {
    let upstream = Server::scripted(model).await;
    let api = Server::always(Reply::json(201, &json!({"booked": true}))).await;
    let rules = "execute:\n  rules:\n    - {methods: [POST], permission: approve}\n  approval: {mode: wait, timeout_seconds: 120}\n";
    let file = policy::file("office", rules);
    let config = rooms::config_of(&upstream, &api) + &policy::table("office");
    let proxy = Proxy::start_with_files(config, &[rooms::FILES[0], ("policies/office.yaml", &file)]).await;
    let mut command = script("console_live.py", &proxy);
    command.arg(proxy.client().url("/v1/chat/completions"));
    drive(command).await;
}
