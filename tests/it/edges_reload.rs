//! Confirmed and forbidden argument sources of the operator: read at the start, and again when the file changes.

use crate::support::{POLL, Proxy, Server, answer, config, guarded};

const TABLE: &str = "[planner]\nedges = \"edges.yaml\"\n";
const GOOD: &str = "forbidden:\n- {from: list_rooms, to: book_room}\n";

async fn start(text: &str) -> Proxy {
    let upstream = Server::always(answer::text("hi")).await;
    Proxy::start_with_files(config(&upstream.url("/v1")) + TABLE, &[("edges.yaml", text)]).await
}

#[tokio::test]
async fn a_file_that_cannot_be_read_refuses_the_start_with_its_place() {
    let upstream = Server::always(answer::text("hi")).await;
    let refusal = Proxy::refusal(&(config(&upstream.url("/v1")) + TABLE)).await;
    assert!(refusal.contains("edges.yaml") && refusal.contains("name a file that exists"), "{refusal}");
}

#[tokio::test]
async fn tools_that_are_not_there_are_told() {
    let proxy = start(GOOD).await;
    assert!(proxy.log().contains("list_rooms") && proxy.log().contains("planner.edges"), "{}", proxy.log());
}

#[tokio::test]
async fn a_bad_file_changes_nothing_and_the_next_good_one_does() {
    let proxy = start(GOOD).await;
    proxy.write("edges.yaml", "confirmed:\n- {from: a, to: b}\n");
    proxy.metric_reaches("edges_reloads_total", &[("result", "failure")], 1.0).await;
    guarded("waiting for the log", async {
        while !proxy.log().contains("`argument` is missing") {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    assert!(proxy.log().contains("edges.yaml:2:"), "{}", proxy.log());
    proxy.write("edges.yaml", "forbidden:\n- {from: list_rooms, to: cancel_room}\n");
    proxy.metric_reaches("edges_reloads_total", &[("result", "success")], 1.0).await;
}
