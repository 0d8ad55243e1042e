//! Notations of the operator take effect while the proxy runs: a valid file immediately, an invalid one never.

use crate::support::answer::text;
use crate::support::request::with_tools;
use crate::support::{POLL, Proxy, Server, config, guarded};

const FILE: &str = "notations.toml";
const TABLE: &str = "\n[repair]\nnotations = \"notations.toml\"\n";
const WRITTEN: &str = "@@call get_weather\n{\"city\": \"Paris\"}@@end";

fn entry(open: &str) -> String {
    format!("[[notation]]\nname = \"house_style\"\nopen = [\"{open}\"]\nclose = [\"@@end\"]\n")
}

/// Whether the model's text reaches the client as a call.
async fn is_call(proxy: &Proxy) -> bool {
    let answer = proxy.client().chat(&with_tools("Weather in Paris?")).await;
    answer.message()["tool_calls"][0]["function"]["name"] == "get_weather"
}

#[tokio::test]
async fn a_good_file_replaces_the_table_and_a_bad_one_never() {
    let upstream = Server::always(text(WRITTEN)).await;
    let configuration = config(&upstream.url("/v1")) + TABLE;
    let proxy = Proxy::start_with_files(configuration, &[(FILE, &entry("@@run "))]).await;
    assert!(!is_call(&proxy).await);
    proxy.write(FILE, &entry("@@call "));
    guarded("the new table", async {
        while !is_call(&proxy).await {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    proxy.write(FILE, &entry("@"));
    guarded("the mistake in the log", async {
        while !(proxy.log().contains("notations.toml:3:") && proxy.log().contains("an opener has 3 bytes or more")) {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    assert!(is_call(&proxy).await, "the good table stays");
}

#[tokio::test]
async fn a_file_with_a_mistake_refuses_the_start() {
    let upstream = Server::always(text(WRITTEN)).await;
    let refusal = Proxy::refusal(&(config(&upstream.url("/v1")) + TABLE)).await;
    assert!(refusal.contains("notations.toml") && refusal.contains("name a file that exists"), "{refusal}");
}
