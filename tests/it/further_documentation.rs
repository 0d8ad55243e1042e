//! Documentation besides the OpenAPI document: it explains failed calls, and is read again when it changes.

use crate::support::answer::{self, one_call};
use crate::support::request::plain;
use crate::support::{POLL, Proxy, Reply, Server, guarded, rooms};
use serde_json::{Value, json};

const CATALOGUE: &str = "# Errors\n\n### 61003: Floor sealed\n\nThe floor is sealed off until its alarm is reset.\n\n#### Solutions\n\n\
    - Choose another floor.\n";

/// Starts the rooms API, in which every call fails with a code that only the error catalogue explains.
async fn proxy_with(docs: &str, files: &[(&str, &str)]) -> (Proxy, Server, Server) {
    let upstream = Server::scripted(|_, received| {
        let is_back = received.text().contains("tool_call_id");
        if is_back { answer::text("No.") } else { one_call("listRooms", r#"{"floor":2}"#) }
    })
    .await;
    let api = Server::always(Reply::json(400, &json!({"code": 61003}))).await;
    let config = rooms::config_of(&upstream, &api);
    let config = config.replace("[toolsets.rooms]\n", &format!("[toolsets.rooms]\ndocs = [{docs}]\n"));
    let files: Vec<(&str, &str)> = rooms::FILES.iter().copied().chain(files.iter().copied()).collect();
    (Proxy::start_with_files(config, &files).await, upstream, api)
}

/// Returns the explanation that the model receives for a failed call.
async fn told(proxy: &Proxy, upstream: &Server) -> String {
    let mut request = plain("Which rooms?");
    request["model"] = json!("helper");
    proxy.client().chat(&request).await.ok();
    let messages: Vec<Value> = upstream.last_request().messages();
    messages.iter().filter(|message| message["role"] == "tool").map(|message| message["content"].to_string()).collect()
}

#[tokio::test]
async fn a_failure_is_explained_from_a_catalogue_of_errors() {
    let files = [("docs/errors.md", CATALOGUE), ("docs/errors.json", "[{\"code\": 7, \"message\": \"x\"}")];
    let (proxy, upstream, _api) =
        proxy_with("{ path = \"docs\", operations = [\"list*\"] }, { path = \"none.md\" }", &files).await;
    let told = told(&proxy, &upstream).await;
    assert!(told.contains("61003: Floor sealed") && told.contains("Choose another floor."), "{told}");
    let log = proxy.log();
    assert!(log.contains("none.md: No such file"), "a missing file is told: {log}");
    assert!(
        log.contains("errors.json: EOF while parsing a list at line 1 column 28"),
        "and a broken one, with its place: {log}"
    );
}

#[tokio::test]
async fn a_catalogue_in_an_empty_or_new_folder_is_read() {
    for (docs, file) in [
        ("{ path = \"docs\" }", "docs/errors.md"),
        ("{ path = \"docs/*.md\" }", "docs/errors.md"),
        ("{ path = \"later/*.md\" }", "later/errors.md"),
        ("{ path = \"later/on/errors.md\" }", "later/on/errors.md"),
    ] {
        let (proxy, upstream, _api) = proxy_with(docs, &[("docs/picture.svg", "")]).await;
        assert!(!told(&proxy, &upstream).await.contains("Floor sealed"), "{docs}");
        proxy.write(file, CATALOGUE);
        guarded(&format!("waiting for {file} of {docs}"), async {
            while !told(&proxy, &upstream).await.contains("Floor sealed") {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_catalogue_that_changes_or_comes_later_is_read() {
    let (proxy, upstream, _api) =
        proxy_with("{ path = \"docs\" }, { path = \"later.csv\" }", &[("docs/errors.md", CATALOGUE)]).await;
    assert!(told(&proxy, &upstream).await.contains("Floor sealed"));
    let becomes = async |expected: &str| {
        guarded(&format!("waiting for {expected}"), async {
            while !told(&proxy, &upstream).await.contains(expected) {
                tokio::time::sleep(POLL).await;
            }
        })
        .await;
    };
    proxy.write("docs/errors.md", &CATALOGUE.replace("Choose another floor", "Call the warden"));
    becomes("Call the warden").await;
    proxy.write("docs/errors.md", "Nothing here.");
    proxy.write("later.csv", "code,message,solution\n61003,Floor sealed,Wait for the alarm to be reset.\n");
    becomes("Wait for the alarm to be reset").await;
}
