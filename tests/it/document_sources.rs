//! Sources of documents besides files: folders and URLs, at the start and while the proxy runs.

use std::sync::{Arc, Mutex};

use crate::support::request::plain;
use crate::support::verb::Folder;
use crate::support::{POLL, Proxy, Reply, Server, answer, config, guarded};
use serde_json::json;

const ALIAS: &str = "[aliases.helper]\nmodel = \"m\"\ntoolsets = [\"api\"]\n";
const LOOPBACK: &str = "[executor]\nallowed_addresses = [\"127.0.0.1\"]\n";

fn document(operation: &str) -> String {
    format!(
        "openapi: 3.2.0\nservers: [{{url: 'http://127.0.0.1:1'}}]\npaths: {{/{operation}: {{get: {{operationId: {operation}}}}}}}\n"
    )
}

/// Returns the names of the tools that a request offers now, in order.
async fn offered(proxy: &Proxy, upstream: &Server) -> Vec<String> {
    let mut request = plain("What can you do?");
    request["model"] = json!("helper");
    proxy.client().chat(&request).await.ok();
    let mut names = upstream.last_request().tool_names();
    names.sort();
    names
}

/// Sends requests until these tools are offered.
async fn offers(proxy: &Proxy, upstream: &Server, names: &[&str]) {
    guarded(&format!("waiting for {names:?}"), async {
        while offered(proxy, upstream).await != names {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
}

#[tokio::test]
async fn documents_of_a_folder_are_offered_together_and_come_and_go() {
    let upstream = Server::always(answer::text("hi")).await;
    let config = config(&upstream.url("/v1")) + ALIAS + "[toolsets.api]\ndocument = \"specs\"\n";
    let files = [
        ("specs/one.yaml", document("one")),
        ("specs/deep/two.yaml", document("two")),
        ("specs/broken.yaml", "openapi: 3.0.0\npaths: [".to_owned()),
        ("specs/values.yaml", "openapi: {enabled: true}\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let proxy = Proxy::start_with_files(config, &files).await;
    assert_eq!(offered(&proxy, &upstream).await, ["one", "two"]);
    assert!(proxy.log().contains("broken.yaml"), "{}", proxy.log());

    proxy.write("specs/deep/three.yaml", &document("three"));
    offers(&proxy, &upstream, &["one", "three", "two"]).await;
    // In a folder that did not exist before.
    proxy.write("specs/new/four.yaml", &document("four"));
    offers(&proxy, &upstream, &["four", "one", "three", "two"]).await;
    proxy.write("specs/broken.yaml", &document("mended"));
    offers(&proxy, &upstream, &["four", "mended", "one", "three", "two"]).await;
    std::fs::remove_file(proxy.directory().join("specs/one.yaml")).unwrap();
    offers(&proxy, &upstream, &["four", "mended", "three", "two"]).await;
}

#[tokio::test]
async fn a_remote_document_is_fetched_at_start_and_after_changes() {
    let upstream = Server::always(answer::text("hi")).await;
    let text = Arc::new(Mutex::new(document("one")));
    let served = text.clone();
    let documents = Server::scripted(move |_, _| {
        Reply::body(200, &[("content-type", "application/yaml")], served.lock().unwrap().clone())
    })
    .await;
    let config = config(&upstream.url("/v1"))
        + ALIAS
        + LOOPBACK
        + "[reload]\nremote_seconds = 1\n"
        + &format!("[toolsets.api]\ndocument = \"{}\"\n", documents.url("/openapi.yaml"));
    let proxy = Proxy::start(config).await;
    assert_eq!(offered(&proxy, &upstream).await, ["one"]);
    assert_eq!(documents.received()[0].target, "/openapi.yaml");
    *text.lock().unwrap() = document("two");
    offers(&proxy, &upstream, &["two"]).await;
    // A document that becomes unreadable changes nothing.
    *text.lock().unwrap() = "<html>".to_owned();
    proxy.metric_reaches("catalog_reloads_total", &[("result", "failure")], 1.0).await;
    assert_eq!(offered(&proxy, &upstream).await, ["two"]);
}

#[tokio::test]
async fn an_unavailable_remote_document_prevents_the_start() {
    let documents = Server::always(Reply::body(404, &[], "no")).await;
    let start = |url: String, more: &str| {
        let config = config("http://127.0.0.1:1/v1") + more + &format!("[toolsets.api]\ndocument = \"{url}\"\n");
        async move { Proxy::refusal(&config).await }
    };
    let url = documents.url("/openapi.yaml?key=secret");
    let log = start(url.clone(), LOOPBACK).await;
    assert!(log.contains("/openapi.yaml?...: cannot be fetched: its server answers with status 404"), "{log}");
    assert!(!log.contains("secret"), "{log}");
    // The address policy applies to documents.
    documents.take_received();
    let log = start(url, "").await;
    assert!(log.contains("executor.allowed_addresses"), "{log}");
    assert_eq!(documents.received().len(), 0);
}

#[test]
fn check_fetches_documents_from_public_addresses_alone() {
    let folder = Folder::with(&[]);
    let said = folder.run(&["check", "--format", "json", "http://169.254.169.254/openapi.yaml"], b"");
    let report = &said.lines()[0];
    assert_eq!(report["file"], "http://169.254.169.254/openapi.yaml");
    assert!(report["error"].as_str().unwrap().contains("private, local or reserved"), "{report}");
    assert_eq!(said.status, Some(1));
}
