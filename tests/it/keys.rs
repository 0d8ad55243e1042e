//! Virtual keys over real HTTP: authentication, quotas, and the absence of secrets in output.

mod background;
mod entry;
mod limits;
mod objects;
mod operators;
mod paths;
mod replicas;
use std::process::Command;

use crate::support::config::config_with_store_keys;
use crate::support::request::plain;
use crate::support::{Answer, Proxy, Server};
use reqwest::Method;
use serde_json::{Value, json};

/// The provider's key, which must not be visible to clients.
const UPSTREAM_KEY: &str = "sk-upstream-canary";

const JSON: (&str, &str) = ("content-type", "application/json");

/// Returns a configuration that requires keys; `keys` has further keys of that table, `tables` further tables.
fn configuration(upstream: &Server, keys: &str, tables: &str) -> String {
    configuration_with_store(upstream, "sqlite:traces.sqlite3", keys, tables)
}

fn configuration_with_store(upstream: &Server, store: &str, keys: &str, tables: &str) -> String {
    let beginning = config_with_store_keys(&upstream.url("/v1"), store, "retry_seconds = 1\npoll_milliseconds = 50");
    format!("{beginning}api_key = \"{UPSTREAM_KEY}\"\n[keys]\nmode = \"required\"\n{keys}\n{tables}\n")
}

/// A created key.
struct Key {
    id: String,
    secret: String,
}

impl Key {
    fn of(answer: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        Self { id: text(&answer["key"]["id"]), secret: text(&answer["secret"]) }
    }

    /// Creates a key over HTTP.
    async fn create(proxy: &Proxy, draft: Value) -> Self {
        let answer = proxy.operator().send(Method::POST, "/admin/keys", &[JSON], draft.to_string()).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        Self::of(&answer.json())
    }

    /// Returns the header field with the key.
    fn field(&self) -> (&str, &str) {
        ("api-key", &self.secret)
    }

    async fn chat(&self, proxy: &Proxy) -> Answer {
        proxy.client().chat_with(&plain("Hello"), &[self.field()]).await
    }
}

/// Sends a POST request to the operator listener.
async fn post(proxy: &Proxy, path: &str, body: Value) -> Answer {
    proxy.operator().send(Method::POST, path, &[JSON], body.to_string()).await
}

/// Runs a verb in the proxy's folder and returns its standard output.
fn verb(directory: &std::path::Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
    let output = command.args(arguments).current_dir(directory).env_clear().output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the usage of a key from the operator API.
async fn usage(proxy: &Proxy, key: &str) -> Value {
    proxy.operator().get(&format!("/admin/keys/{key}")).await.ok()["usage"].clone()
}

/// Returns a draft with this name and these members.
fn draft(name: &str, members: Value) -> Value {
    let mut draft = json!({"name": name});
    draft.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    draft
}
