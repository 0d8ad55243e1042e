//! Paths that a key may pass through; several keys share one account of the provider.

use reqwest::Method;
use serde_json::{Value, json};

use super::{JSON, Key, configuration, draft, verb};
use crate::support::config::config;
use crate::support::{Answer, Proxy, Reply, Server};

async fn provider() -> Server {
    Server::always(Reply::json(200, &json!({"object": "list", "data": []}))).await
}

async fn send(proxy: &Proxy, key: &Key, method: Method, path: &str) -> Answer {
    proxy.client().send(method, path, &[JSON, key.field()], "{}").await
}

async fn status(proxy: &Proxy, key: &Key, path: &str) -> u16 {
    send(proxy, key, Method::GET, path).await.status.as_u16()
}

#[tokio::test]
async fn objects_that_others_stored_are_closed_unless_opened() {
    let upstream = provider().await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let key = Key::create(&proxy, draft("ada", json!({}))).await;
    for (method, path) in [
        (Method::GET, "/v1/files"),
        (Method::DELETE, "/v1/files/file-1"),
        (Method::GET, "/v1/responses/resp_1"),
        (Method::POST, "/v1/completions"),
        (Method::GET, "/v1/organization/users"),
        (Method::GET, "/v1/chat/completions"),
        (Method::DELETE, "/v1/chat/completions/chatcmpl-1"),
        (Method::GET, "/openai/v1/files"),
        (Method::GET, "/v1/./%66iles/"),
        (Method::GET, "/v1/modelsx"),
    ] {
        let error = send(&proxy, &key, method.clone(), path).await.error(403);
        assert_eq!(error["code"], "path_not_allowed", "{method} {path}: {error}");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("`ada`") && message.contains("`pass_through`") && message.contains("--pass-through"),
            "{message}"
        );
    }
    assert!(upstream.received().is_empty());
    for path in ["/v1/models", "/v1/models/gpt-test", "/v1/embeddings", "/v1/audio/speech", "/v1/images/generations"] {
        assert_eq!(status(&proxy, &key, path).await, 200, "{path}");
    }
    let refused = [("result", "refused_path")];
    assert_eq!(proxy.metrics().await.sum("key_requests_total", &refused), 10.0);
}

#[tokio::test]
async fn a_key_has_paths_of_its_own_or_those_of_the_configuration() {
    let upstream = provider().await;
    let proxy =
        Proxy::start(configuration(&upstream, "pass_through = [\"batches\"]\nunknown_objects = \"allow\"", "")).await;
    let usual = Key::create(&proxy, draft("usual", json!({}))).await;
    let all = Key::create(&proxy, draft("all", json!({"pass_through": ["*"]}))).await;
    let none = Key::create(&proxy, draft("none", json!({"pass_through": []}))).await;
    let some = Key::create(&proxy, draft("some", json!({"pass_through": ["files", "audio/speech"]}))).await;
    for (key, open, closed) in [
        (&usual, &["/v1/batches", "/v1/batches/1"][..], &["/v1/models", "/v1/files"][..]),
        (&all, &["/v1/batches", "/v1/organization/users"], &[]),
        (&none, &[], &["/v1/models", "/v1/batches"]),
        (
            &some,
            &["/v1/files/file-1/content", "/v1/audio/speech"],
            &["/v1/audio/transcriptions", "/v1/models", "/v1/batches"],
        ),
    ] {
        for path in open {
            assert_eq!(status(&proxy, key, path).await, 200, "{} {path}", key.id);
        }
        for path in closed {
            assert_eq!(status(&proxy, key, path).await, 403, "{} {path}", key.id);
        }
    }
    let change = |paths: Value| json!({"pass_through": paths}).to_string();
    let changed = proxy.operator().send(Method::PATCH, "/admin/keys/some", &[JSON], change(Value::Null)).await.ok();
    assert_eq!(changed["pass_through"], Value::Null);
    assert_eq!((status(&proxy, &some, "/v1/files").await, status(&proxy, &some, "/v1/batches").await), (403, 200));
}

#[tokio::test]
async fn the_command_line_opens_and_closes_paths() {
    let upstream = provider().await;
    let proxy = Proxy::start(configuration(&upstream, "", "")).await;
    let key = Key::create(&proxy, draft("ada", json!({}))).await;
    let update = async |paths: &[&str]| {
        let folder = proxy.directory().to_owned();
        let mut arguments = vec!["keys".to_owned(), "update".to_owned(), "ada".to_owned()];
        arguments.extend(paths.iter().flat_map(|path| ["--pass-through".to_owned(), (*path).to_owned()]));
        let told = tokio::task::spawn_blocking(move || {
            verb(&folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
        });
        let told = told.await.unwrap();
        // Listing the keys reloads changes from the store.
        proxy.operator().get("/admin/keys").await.ok();
        told
    };
    let told = update(&["files", "batches"]).await;
    assert!(told.contains("files, batches"), "{told}");
    assert_eq!((status(&proxy, &key, "/v1/files").await, status(&proxy, &key, "/v1/models").await), (200, 403));
    update(&[""]).await;
    assert_eq!(status(&proxy, &key, "/v1/files").await, 403);
    update(&["*"]).await;
    assert_eq!(status(&proxy, &key, "/v1/files").await, 200);
    update(&["default"]).await;
    assert_eq!((status(&proxy, &key, "/v1/files").await, status(&proxy, &key, "/v1/models").await), (403, 200));
}

#[tokio::test]
async fn without_required_keys_everything_is_passed_through() {
    let upstream = provider().await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for path in ["/v1/files", "/v1/responses/resp_1", "/v1/organization/users"] {
        assert_eq!(proxy.client().get(path).await.status, 200, "{path}");
    }
    let told = Proxy::refusal(&configuration(&upstream, "pass_through = [\"/v1/files\"]", "")).await;
    assert!(told.contains("`keys.pass_through`") && told.contains("without leading or trailing slashes"), "{told}");
}
