//! Requests that web pages can make a browser send to the proxy. They have no effect, on listeners with and without
//! required credentials.

use std::path::Path;
use std::process::Command;

use crate::support::answer::text;
use crate::support::config::config_with_server;
use crate::support::python::{chromium, python};
use crate::support::request::plain;
use crate::support::{Client, Proxy, Server, config};
use callwright_test_macros::requires;
use http::Method;
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");

/// Starts a proxy with these keys in `[server]`.
async fn proxy_with(upstream: &Server, server: &str) -> Proxy {
    Proxy::start(config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", server)).await
}

/// Sends a request with a hand-written head. Returns status and body.
async fn raw(client: &Client, line: &str, fields: &[&str]) -> (u16, String) {
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    let answer = client.raw(format!("{line}\r\n{fields}connection: close\r\n\r\n").as_bytes()).await;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    (status, answer)
}

#[tokio::test]
async fn a_listener_without_credentials_serves_its_own_hosts() {
    let upstream = Server::always(text("hi")).await;
    let proxy = proxy_with(&upstream, "hosts = [\"callwright\", \"*.corp.example\"]").await;
    for (client, path) in
        [(proxy.client(), "/v1/models"), (proxy.operator(), "/admin/keys"), (proxy.operator(), "/healthz")]
    {
        let line = format!("GET {path} HTTP/1.1");
        for host in
            ["127.0.0.1", "[::1]:9", "localhost", "a.localhost:1", "callwright:8787", "CallWright", "x.corp.example"]
        {
            let (status, answer) = raw(client, &line, &[&format!("host: {host}")]).await;
            assert_eq!(status, 200, "{path} {host}: {answer}");
        }
        for host in ["rebound.example", "corp.example", "localhost.evil.example", "192.0.2.1", "127.0.0.1.nip.io"] {
            let (status, answer) = raw(client, &line, &[&format!("host: {host}")]).await;
            assert_eq!(status, 421, "{path} {host}: {answer}");
            assert!(answer.contains("`server.hosts`") && answer.contains("host_not_allowed"), "{answer}");
        }
        let (status, answer) =
            raw(client, &format!("GET http://rebound.example{path} HTTP/1.1"), &["host: localhost"]).await;
        assert_eq!(status, 421, "{path}: {answer}");
        for fields in [&[][..], &["host: localhost", "host: rebound.example"], &["host: a b"]] {
            let (status, answer) = raw(client, &line, fields).await;
            assert_eq!(status, 400, "{path} {fields:?}: {answer}");
        }
        assert_eq!(raw(client, &format!("GET {path} HTTP/1.0"), &[]).await.0, 200, "{path}: a probe of HTTP/1.0");
    }
    let refused = [("listener", "client"), ("reason", "host")];
    assert!(proxy.metrics().await.sum("requests_refused_total", &refused) >= 9.0);
}

#[tokio::test]
async fn credentials_open_any_host_but_no_foreign_page() {
    let upstream = Server::always(text("hi")).await;
    let server = "operator_token = \"t\"";
    let config = config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", server)
        + "api_key = \"k\"\n[keys]\nmode = \"required\"\n";
    let proxy = Proxy::start(config).await;
    for (client, path) in [(proxy.client(), "/v1/models"), (proxy.operator(), "/admin/keys")] {
        let line = format!("GET {path} HTTP/1.1");
        assert_eq!(raw(client, &line, &["host: proxy.example"]).await.0, 401, "{path}");
        assert_eq!(raw(client, &line, &["host: proxy.example", "origin: https://evil.example"]).await.0, 403, "{path}");
        assert_eq!(
            raw(client, &line, &["host: proxy.example", "origin: https://proxy.example"]).await.0,
            401,
            "{path}"
        );
    }
}

#[tokio::test]
async fn requests_of_foreign_pages_have_no_effect() {
    let upstream = Server::always(text("hi")).await;
    let proxy = proxy_with(&upstream, "").await;
    let own = proxy.client().url("");
    let other = proxy.operator().url("");
    let foreign: [&[(&str, &str)]; 8] = [
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", &other)],
        &[("origin", "https://127.0.0.1")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")],
        &[("sec-fetch-site", "cross-site"), ("origin", &own)],
        &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")],
    ];
    for fields in foreign {
        let error = proxy.client().chat_with(&plain("Hello"), fields).await.error(403);
        assert!(error["message"].as_str().unwrap().contains("`server.allowed_origins`"), "{error}");
        for path in ["/v1/embeddings", "/v1/models", "/v1/files"] {
            assert_eq!(proxy.client().send(Method::GET, path, fields, "").await.status, 403, "{fields:?}");
        }
        // The client listener's own origin is foreign to the operator listener, and vice versa.
        let fields: Vec<_> =
            fields.iter().map(|&(name, value)| (name, if value == other { own.as_str() } else { value })).collect();
        let fields = [&fields[..], &[JSON]].concat();
        for (path, body) in
            [("/admin/switch", json!({"off": true, "reason": "x"})), ("/admin/keys", json!({"name": "eve"}))]
        {
            let answer = proxy.operator().send(Method::POST, path, &fields, body.to_string()).await;
            assert_eq!(answer.error(403)["code"], "origin_not_allowed", "{fields:?}");
        }
        assert_eq!(proxy.operator().send(Method::GET, "/admin/traces", &fields, "").await.status, 403, "{fields:?}");
    }
    assert!(upstream.received().is_empty());
    assert_eq!(effects(&proxy).await, NO_EFFECT);
    for fields in [&[("origin", own.as_str())][..], &[("sec-fetch-site", "same-origin")], &[("sec-fetch-site", "none")]]
    {
        proxy.client().chat_with(&plain("Hello"), fields).await.ok();
    }
    let link = [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
    assert_eq!(
        proxy.operator().send(Method::GET, "/console", &link, "").await.status,
        200,
        "others may link to the console"
    );
}

#[tokio::test]
async fn pages_of_allowed_origins_may_use_the_client_side_alone() {
    let upstream = Server::always(text("hi")).await;
    let proxy = proxy_with(&upstream, "allowed_origins = [\"https://chat.example\"]").await;
    let page = [("origin", "https://chat.example"), ("sec-fetch-site", "cross-site")];
    let asked = [
        page[0],
        page[1],
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "content-type"),
    ];
    let preflight = proxy.client().send(Method::OPTIONS, "/v1/chat/completions", &asked, "").await;
    assert_eq!(
        (preflight.status.as_u16(), preflight.header("access-control-allow-headers")),
        (204, Some("content-type"))
    );
    let answer = proxy.client().chat_with(&plain("Hello"), &page).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://chat.example"));
    answer.ok();
    let answer = proxy.operator().send(Method::GET, "/admin/traces", &page, "").await;
    assert_eq!((answer.status.as_u16(), answer.header("access-control-allow-origin")), (403, None));
    for (key, value) in [("hosts", "http://x"), ("allowed_origins", "https://chat.example/")] {
        let server = format!("{key} = [\"{value}\"]");
        let told = Proxy::refusal(&config_with_server("http://127.0.0.1:1/v1", "", &server)).await;
        assert!(told.contains(&format!("`server.{key}[0]`")), "{told}");
    }
}

#[tokio::test]
async fn json_endpoints_take_nothing_but_json() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let chat = plain("Hello").to_string();
    let client_side = [
        "/v1/chat/completions",
        "/chat/completions",
        "/openai/v1/chat/completions",
        "/v1/./chat//completions/",
        "/openai/deployments/gpt-test/chat/completions",
        "/v1/feedback",
    ];
    let operator_side =
        ["/admin/switch", "/admin/keys", "/admin/keys/x/revoke", "/admin/traces/x/mark", "/admin/approvals/x/approve"];
    let all = client_side
        .map(|path| (proxy.client(), path))
        .into_iter()
        .chain(operator_side.map(|path| (proxy.operator(), path)));
    for (client, path) in all {
        for fields in [
            &[][..],
            &[("content-type", "text/plain")],
            &[("content-type", "text/plain;application/json")],
            &[("content-type", "application/x-www-form-urlencoded")],
            &[("content-type", "multipart/form-data; boundary=x")],
        ] {
            let answer = client.send(Method::POST, path, fields, chat.clone()).await;
            assert_eq!(answer.error(415)["code"], "unsupported_media_type", "{path} {fields:?}");
        }
    }
    assert!(upstream.received().is_empty());
    let fields = [("content-type", "Application/JSON; charset=utf-8")];
    proxy.client().send(Method::POST, "/v1/chat/completions", &fields, chat).await.ok();
}

#[tokio::test]
async fn web_sockets_are_refused_so_that_clients_fall_back_to_http() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let fields = [
        "host: localhost",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    for (client, path, expected) in [
        (proxy.client(), "/v1/realtime?model=gpt-test", 501),
        (proxy.client(), "/v1/responses", 426),
        (proxy.client(), "/v1/responses/resp_1", 426),
        (proxy.operator(), "/admin/traces", 501),
    ] {
        let (status, answer) = raw(client, &format!("GET {path} HTTP/1.1"), &fields).await;
        assert_eq!(status, expected, "{answer}");
        assert!(answer.contains("upgrade_not_supported") && answer.contains("WebSocket"), "{answer}");
    }
    assert!(upstream.received().is_empty());
}

#[tokio::test]
async fn unknown_paths_are_answered_with_what_may_be_meant() {
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    for (client, path, hint) in [
        (proxy.client(), "/models", "did you mean `/v1/models`?"),
        (proxy.client(), "/api/v1/embeddings", "did you mean `/v1/embeddings`?"),
        (proxy.client(), "/admin/traces", "operator side"),
        (proxy.operator(), "/v1/chat/completions", "client side"),
        (proxy.operator(), "/admin/trace", "did you mean `/admin/traces`?"),
    ] {
        let error = client.get(path).await.error(404);
        assert!(error["message"].as_str().unwrap().contains(hint), "{path}: {error}");
    }
}

const NO_EFFECT: (usize, f64, bool) = (0, 0.0, false);

/// Returns the number of keys, the number of turns, and whether the kill switch is on.
async fn effects(proxy: &Proxy) -> (usize, f64, bool) {
    let keys = proxy.operator().get("/admin/keys").await.ok()["keys"].as_array().unwrap().len();
    let switch = proxy.operator().get("/admin/switch").await.ok();
    (keys, proxy.metrics().await.sum("turns_total", &[]), switch["everything"] != Value::Null)
}

#[requires(chromium, python_clients)]
#[tokio::test(flavor = "multi_thread")]
async fn no_page_in_chromium_has_an_effect() {
    let browser = chromium();
    let python = python();
    let upstream = Server::always(text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/cross_site.py");
    let mut command = Command::new(python);
    command.arg(script).arg(proxy.client().url("")).arg(proxy.operator().url("")).arg(browser);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let (said, faults) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("no fault"), "{said}\n{faults}");
    assert!(upstream.received().is_empty(), "{:?}", upstream.received());
    assert_eq!(effects(&proxy).await, NO_EFFECT);
    let metrics = proxy.metrics().await;
    for listener in ["client", "operator"] {
        for reason in ["host", "origin"] {
            let refused = metrics.sum("requests_refused_total", &[("listener", listener), ("reason", reason)]);
            assert!(
                refused >= 2.0,
                "the {listener} side refused {refused} requests for their {reason}: the pages sent none"
            );
        }
    }
}

/// Returns the configuration in the ConfigMap of a manifest.
fn config_of_manifest(manifest: &str) -> String {
    let (_, rest) = manifest.split_once("callwright.toml: |\n").unwrap();
    let lines = rest.lines().take_while(|line| !line.starts_with("---"));
    lines.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_examples_are_valid_and_list_hosts() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(repository.join(path)).unwrap();
    for (name, text) in [
        ("docker/callwright.toml", read("docker/callwright.toml")),
        ("docker/compose/callwright.toml", read("docker/compose/callwright.toml")),
        ("deploy/kubernetes.yaml", config_of_manifest(&read("deploy/kubernetes.yaml"))),
    ] {
        assert!(text.contains("\nhosts = [\"callwright\""), "{name}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("callwright.toml");
        std::fs::write(&file, text).unwrap();
        // compose.yaml mounts them beside the file.
        std::os::unix::fs::symlink(repository.join("policies"), folder.path().join("policies")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_callwright"));
        command.args(["config", "check", "--config"]).arg(&file).env_clear();
        for variable in ["CALLWRIGHT_OPERATOR_TOKEN", "OPENAI_API_KEY"] {
            command.env(variable, "x");
        }
        let output = command.env("CALLWRIGHT_STORE", "sqlite:x.sqlite3").output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(read("deploy/callwright.service").contains("hosts = ["));
}
