//! Messages of the real binary about typical mistakes: each names the place and what to do.

use std::io::{Read, Write};
use std::path::Path;

use crate::support::config::{config_with_server, config_with_store_keys};
use crate::support::request::plain;
use crate::support::verb::{Folder, command};
use crate::support::{Proxy, Reply, Server, answer, config};
use serde_json::json;

/// A mistake in files, the command that meets it, and parts of its message.
struct Mistake {
    files: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
    told: &'static [&'static str],
}

/// The configuration of most mistakes.
const CONFIG: &str = "callwright.toml";
const CHECK: &[&str] = &["config", "check"];

const MISTAKES: [Mistake; 17] = [
    Mistake {
        files: &[(CONFIG, "[server]\nlisten = \"127.0.0.1\"\n")],
        arguments: CHECK,
        told: &["callwright.toml:2:10: ", "`server.listen`", "ADDRESS:PORT", "127.0.0.1:8787"],
    },
    Mistake {
        files: &[(CONFIG, "[server]\nlisten = \"127.0.0.1:0\"\n\n[server]\noperator_listen = \"127.0.0.1:0\"\n")],
        arguments: CHECK,
        told: &["callwright.toml:4:2: ", "`[server]` is defined twice, first in line 1", "merge"],
    },
    Mistake {
        files: &[(CONFIG, "[toolsets.rooms]\ndocument = \"rooms.yaml\"\n")],
        arguments: CHECK,
        told: &["`toolsets.rooms.document` is `rooms.yaml`", "cannot be read", "the configuration file's folder, /"],
    },
    Mistake {
        files: &[(CONFIG, "[policies]\ndirectory = \"rules\"\n")],
        arguments: CHECK,
        told: &["`policies.directory` is `rules`", "cannot be read", "the configuration file's folder, /"],
    },
    Mistake {
        files: &[("default.yaml", "name: default\nlimits:\n\tseconds: 3\n")],
        arguments: &["policy", "check", "."],
        told: &["default.yaml:3:", "a tab character", "spaces"],
    },
    Mistake {
        files: &[("default.yaml", "name: default\nmatch: {aliases: {assistant: 1}}\n")],
        arguments: &["policy", "check", "."],
        told: &["default.yaml:2:", "a list of globs, such as `[assistant]`"],
    },
    Mistake {
        files: &[(CONFIG, "[store]\nurl = \"sqlite:notes.txt\"\n"), ("notes.txt", NOTES)],
        arguments: &["keys", "list"],
        told: &["notes.txt", "is not a database of SQLite", "`[store] url`"],
    },
    Mistake {
        files: &[(CONFIG, "[toolsets.rooms]\ndocument = \"rooms.json\"\n"), ("rooms.json", EMPTY)],
        arguments: CHECK,
        told: &["toolset `rooms`", "rooms.json has no operations", "`paths`"],
    },
    Mistake {
        files: &[(CONFIG, "[executor]\nallowed_addresses = [\"127.0.0.1:8000\"]\n")],
        arguments: CHECK,
        told: &["executor.allowed_addresses", "`127.0.0.1:8000`", "leave out the port"],
    },
    Mistake {
        files: &[(CONFIG, "[executor]\nallowed_addresses = [\"http://127.0.0.1\"]\n")],
        arguments: CHECK,
        told: &["executor.allowed_addresses", "`http://127.0.0.1`", "leave out the scheme"],
    },
    Mistake {
        files: &[(CONFIG, "[upstreams.default]\nbase_url = \"http://127.0.0.1:1/v1/chat/completions\"\n")],
        arguments: CHECK,
        told: &["upstreams.default.base_url", "did you mean `http://127.0.0.1:1/v1`?"],
    },
    Mistake {
        files: &[(CONFIG, "[upstreams.default]\nbase_url = \"127.0.0.1:8000\"\n")],
        arguments: CHECK,
        told: &["upstreams.default.base_url", "https://host/v1"],
    },
    Mistake {
        files: &[],
        arguments: &["traces", "list", "--since", "yesterday"],
        told: &["`yesterday` is not a time", "`-1h`"],
    },
    Mistake {
        files: &[("callwright.toml", "[server]\noperator_listen = \"127.0.0.1:1\"\n")],
        arguments: &["traces", "list"],
        told: &["http://127.0.0.1:1/admin/traces", "is the proxy running?", "--operator"],
    },
    Mistake { files: &[], arguments: &["serve", "--openapi", "api.yaml"], told: &["--model <NAME>"] },
    Mistake {
        files: &[],
        arguments: &["serve", "--openapi", "api.yaml", "--model", "m"],
        told: &["api.yaml", "cannot be read"],
    },
    Mistake {
        files: &[],
        arguments: &["serve", "--upstream", "localhost:8000"],
        told: &["base_url", "must begin with https:// or http://"],
    },
];

const NOTES: &str =
    "Not a database, and longer than the header of one, which has a hundred bytes in every version of the file format.";
const EMPTY: &str = r#"{"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {}}"#;

#[test]
fn typical_mistakes_are_explained() {
    for Mistake { files, arguments, told } in MISTAKES {
        let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        let said = Folder::with(&files).run(arguments, b"");
        assert!(said.status.is_some_and(|status| status == 1 || status == 2), "{arguments:?}: {:?}", said.status);
        for part in told {
            assert!(said.stderr.contains(part), "{arguments:?}: {part} is not in\n{}", said.stderr);
        }
        assert!(!said.stderr.contains("panicked"), "{}", said.stderr);
    }
}

#[test]
fn one_glob_of_a_policy_needs_no_list() {
    let folder = Folder::with(&[("default.yaml", b"name: default\n"), ("a.yaml", b"match: {aliases: assistant}\n")]);
    let said = folder.run(&["policy", "check", "."], b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
}

#[test]
fn a_postgres_server_that_refuses_is_named_with_its_reason() {
    let config = format!("[store]\nurl = \"postgres://ada:canary@{}/calls\"\n", Server::refusing());
    let said = Folder::with(&[(CONFIG, config.as_bytes())]).run(&["keys", "list"], b"");
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("Connection refused") && !said.stderr.contains("timed out"), "{}", said.stderr);
    assert!(!said.stderr.contains("canary"), "{}", said.stderr);
}

/// Runs a verb with a configuration while servers of this runtime respond; returns everything that it printed.
async fn told(config: String, arguments: &'static [&'static str]) -> String {
    let run = move || {
        let said = Folder::with(&[(CONFIG, config.as_bytes())]).run(arguments, b"");
        String::from_utf8(said.stdout).unwrap() + &said.stderr
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test]
async fn a_base_url_without_its_version_is_corrected() {
    let upstream = Server::scripted(|_, received| match received.target.as_str() {
        "/v1/models" => Reply::json(200, &json!({"object": "list", "data": []})),
        _ => Reply::json(404, &json!({"detail": "Not Found"})),
    })
    .await;
    let (without, meant) = (upstream.url(""), upstream.url("/v1"));
    let doctor = told(config(&without), &["doctor"]).await;
    assert!(doctor.contains("fail  upstream scripted"), "{doctor}");
    assert!(doctor.contains(&format!("did you mean `{meant}`?")), "{doctor}");
    let check = told(config(&without), CHECK).await;
    assert!(check.contains(&format!("has no path; did you mean `{meant}`?")), "{check}");
    let other = told(config(&upstream.url("/api")), &["doctor"]).await;
    assert!(other.contains("warn  upstream scripted") && other.contains("usually ends in /v1"), "{other}");
}

/// A server of plain HTTP, which answers the first bytes of a TLS handshake as most servers do.
fn plain_http() -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            // The client may be gone.
            let _ = connection.read(&mut [0; 1024]);
            let _ = connection.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
        }
    });
    address
}

#[tokio::test]
async fn https_to_a_plain_http_server_is_recognised() {
    let config = config(&format!("https://{}/v1", plain_http())) + "connect_retries = 0\n";
    let doctor = told(config.clone(), &["doctor"]).await;
    assert!(doctor.contains("answers without TLS") && doctor.contains("`http://`"), "{doctor}");
    let proxy = Proxy::start(config).await;
    let error = proxy.client().chat(&plain("Hello")).await.error(502);
    assert!(error["message"].as_str().unwrap().contains("answers without TLS"), "{error}");
}

#[tokio::test]
async fn an_address_in_use_is_reported_before_the_store_is_touched() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    for key in ["listen", "operator_listen"] {
        let config = "[server]\nlisten = \"127.0.0.1:0\"\noperator_listen = \"127.0.0.1:0\"\n"
            .replace(&format!("\n{key} = \"127.0.0.1:0\""), &format!("\n{key} = \"{address}\""));
        let folder = Folder::with(&[(CONFIG, config.as_bytes())]);
        let said = folder.run(&["serve"], b"");
        assert_eq!(said.status, Some(1));
        let message = format!("cannot listen on {address}");
        assert!(said.stderr.contains(&message) && said.stderr.contains(&format!("server.{key}")), "{}", said.stderr);
        assert!(said.stderr.contains("another program uses this port"), "{}", said.stderr);
        assert!(!folder.path("callwright.sqlite3").exists(), "the store was created for a proxy that does not run");
    }
}

#[tokio::test]
async fn a_second_process_on_an_sqlite_file_is_refused_meanwhile() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    let (directory, id) = (proxy.directory().to_owned(), proxy.id());
    let second = move || command(&directory, &["serve"]).output().unwrap();
    let said = tokio::task::spawn_blocking(second).await.unwrap();
    let errors = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(1), "{errors}");
    assert!(errors.contains("traces.sqlite3 is in use by another callwright"), "{errors}");
    assert!(errors.contains(&format!("(process {id})")) && errors.contains("PostgreSQL"), "{errors}");
    // Verbs work beside a running proxy, and a restart finds the file free.
    let directory = proxy.directory().to_owned();
    let beside = move || command(&directory, &["procedures", "list"]).output().unwrap();
    assert!(tokio::task::spawn_blocking(beside).await.unwrap().status.success());
    let again = proxy.stop().await.start_again().await;
    assert_eq!(again.client().chat(&plain("Hello")).await.status, 200);
}

#[tokio::test]
async fn a_query_for_the_last_hour_is_understood() {
    let upstream = Server::always(answer::text("hi")).await;
    let proxy = Proxy::start(config(&upstream.url("/v1"))).await;
    proxy.client().chat(&plain("Hello")).await.ok();
    let proxy = proxy.stop().await.start_again().await;
    for (query, count) in [("since=-1h", 1), ("until=-1h", 0), ("since=-1h&until=-0s", 1)] {
        let page = proxy.operator().get(&format!("/admin/traces?{query}")).await.ok();
        assert_eq!(page["traces"].as_array().unwrap().len(), count, "{query}");
    }
    let error = proxy.operator().get("/admin/traces?since=yesterday").await.error(400);
    assert!(error["message"].as_str().unwrap().contains("`yesterday` is not a time"), "{error}");
}

/// The proxy polls the store only once an hour here.
#[tokio::test]
async fn a_new_key_is_valid_at_once() {
    let upstream = Server::always(answer::text("hi")).await;
    let store = config_with_store_keys(&upstream.url("/v1"), "sqlite:traces.sqlite3", "poll_milliseconds = 3600000");
    let proxy = Proxy::start(store + "api_key = \"sk-1\"\n[keys]\nmode = \"required\"\n").await;
    let status = async |key: &str| proxy.client().chat_with(&plain("Hello"), &[("api-key", key)]).await.status;
    assert_eq!(status("cw-00000000-0000000000000000").await, 401);
    let create = |name: &'static str, directory: &Path| {
        let directory = directory.to_owned();
        tokio::task::spawn_blocking(move || {
            let said = command(&directory, &["keys", "create", name]).output().unwrap();
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
            String::from_utf8(said.stdout).unwrap().trim().to_owned()
        })
    };
    for name in ["one", "two"] {
        let secret = create(name, proxy.directory()).await.unwrap();
        assert_eq!(status(&secret).await, 200, "the key is in the store");
    }
}

#[tokio::test]
async fn the_root_of_each_side_leads_on() {
    let upstream = Server::always(answer::text("hi")).await;
    let server = "operator_token = \"operator-canary\"";
    let proxy = Proxy::start(config_with_server(&upstream.url("/v1"), "sqlite:traces.sqlite3", server)).await;
    let page = proxy.operator().raw(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await;
    assert!(page.starts_with("HTTP/1.1 307") && page.contains("location: /console\r\n"), "{page}");
    let error = proxy.client().get("/").await.error(404);
    assert!(error["message"].as_str().unwrap().contains("with `/v1` as base URL"), "{error}");
    let answered = proxy.client().send(
        reqwest::Method::POST,
        "/chat/completions",
        &[("content-type", "application/json")],
        plain("Hello").to_string(),
    );
    assert_eq!(answered.await.status, 200, "a base URL without /v1 works");
}
