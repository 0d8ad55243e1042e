//! Stored data is moved between databases, deleted and restored with the verbs and commands of docs/store.md.

use std::path::Path;

use crate::support::answer;
use crate::support::config::{config_with_store, config_with_store_keys};
use crate::support::postgres::{self, Postgres};
use crate::support::request::plain;
use crate::support::rooms::ask;
use crate::support::verb::{Folder, Said, json_lines, to_lines};
use crate::support::{POLL, Proxy, Received, Reply, Server, guarded, policy, rooms};
use callwright_test_macros::requires;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, Executor};

/// Address without a server, because store verbs send no model requests.
const NOBODY: &str = "http://127.0.0.1:9/v1";

async fn servers() -> (Server, Server) {
    (Server::scripted(rooms::forgetful).await, Server::always(Reply::json(200, &json!({"rooms": ["blue"]}))).await)
}

/// Starts a proxy that always uses matching lessons, with its own file or this store.
async fn proxy((upstream, api): (&Server, &Server), store: Option<&str>) -> Proxy {
    let config = rooms::config_of(upstream, api) + "[experience]\nwithhold = 0.0\n";
    let config = store.map_or(config.clone(), |url| config.replace("sqlite:traces.sqlite3", url));
    Proxy::start_with_files(config, &rooms::FILES).await
}

/// Runs a turn with the mistake, from which a lesson is learned.
async fn taught(proxy: &Proxy) -> String {
    let answer = proxy.client().chat(&ask("Which rooms are free?")).await;
    assert_eq!(answer.header("x-callwright-attempts"), Some("3"), "wrong, mended, told");
    proxy.metric_reaches("lessons", &[], 1.0).await;
    answer.header("x-callwright-trace").unwrap().to_owned()
}

/// Runs a turn without the mistake.
async fn recalls(proxy: &Proxy) {
    let answer = proxy.client().chat(&ask("Are there any rooms on floor 5?")).await;
    assert_eq!(answer.header("x-callwright-attempts"), Some("2"), "right at once, told");
}

/// Runs `callwright store` with this configuration.
fn store(folder: &Folder, config: &Path, arguments: &[&str]) -> Said {
    let config = config.to_str().unwrap();
    let said = folder.run(&[&["store"], arguments, &["--config", config]].concat(), b"");
    assert_eq!(said.status, Some(0), "{}", said.stderr);
    said
}

/// Returns records of the kinds that a single turn does not create.
fn more() -> [Value; 3] {
    let at = "2026-01-01T00:00:00Z";
    let row = json!({"tenant": "a", "key": "k", "turn": "t", "expires_at": 4_000_000_000_000_i64, "document": "{}"});
    [
        json!({"representation": {"id": "rep_1", "tool": "f", "patterns": [{"description": "a", "weight": 1.5}], "evidence": [],
            "updated_at": at}}),
        json!({"sample": {"id": "sam_1", "scope": "group:g", "query": "q", "tools": ["f"], "evidence": [], "at": at}}),
        json!({"row": {"table": "plans", "columns": row}}),
    ]
}

#[requires(postgres)]
#[tokio::test]
async fn what_moves_to_postgres_and_back_is_what_it_was() {
    let url = postgres::database();
    let (upstream, api) = servers().await;
    let proxy = proxy((&upstream, &api), None).await;
    let trace = taught(&proxy).await;
    let headers = [("content-type", "application/json")];
    let verdict = json!({"trace_id": trace, "verdict": "good"}).to_string();
    proxy.client().send(Method::POST, "/v1/feedback", &headers, verdict).await.ok();
    let stopped = proxy.stop().await;
    let folder = Folder::with(&[
        ("postgres.toml", config_with_store(NOBODY, &url).as_bytes()),
        ("file.toml", config_with_store(NOBODY, "sqlite:back.sqlite3").as_bytes()),
    ]);
    let (postgres, file) = (folder.path("postgres.toml"), folder.path("file.toml"));
    let own = stopped.directory().join("callwright.toml");
    std::fs::write(folder.path("more.jsonl"), to_lines(&more())).unwrap();
    store(&folder, &own, &["import", "--in", "more.jsonl"]);
    store(&folder, &own, &["export", "--out", "first.jsonl"]);
    store(&folder, &postgres, &["import", "--in", "first.jsonl"]);
    store(&folder, &postgres, &["export", "--out", "second.jsonl.gz"]);
    store(&folder, &file, &["import", "--in", "second.jsonl.gz"]);
    store(&folder, &file, &["export", "--out", "third.jsonl"]);
    let first = json_lines(&folder.read("first.jsonl"));
    assert_eq!(json_lines(&folder.read("third.jsonl")), first);
    for kind in ["trace", "lesson", "representation", "sample", "feedback", "row"] {
        assert!(first.iter().any(|line| line.get(kind).is_some()), "{kind} in {first:?}");
    }
    let again = store(&folder, &postgres, &["import", "--in", "third.jsonl"]);
    assert!(again.stderr.contains(&format!("0 items imported, {} existed already", first.len())), "{}", again.stderr);
}

/// A model that takes a note on every question and has no answers.
fn note_taker(request: &Received) -> Reply {
    answer::text(match request.messages().len() {
        4 => "NOTE[free rooms, floor]: listRooms cannot be called without `floor`, which is 5.\nDONE",
        _ => "ANSWER: nobody knows",
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_that_a_model_took_are_imported_and_recalled() {
    let teacher = Server::scripted(|_, request| note_taker(request)).await;
    let (upstream, api) = servers().await;
    let policy = policy::file("shared", "recall: {group: office}");
    let config = rooms::config_of(&upstream, &api) + "[experience]\nwithhold = 0.0\n" + &policy::table("shared");
    let files = [rooms::FILES[0], ("policies/shared.yaml", policy.as_str())];
    let proxy = Proxy::start_with_files(config, &files).await;
    let question = json!({"question": "Are there free rooms on the floor?", "answer": "yes"});
    let learner = crate::support::config(&teacher.url("/v1"));
    let folder = Folder::with(&[("learner.toml", learner.as_bytes()), ("train.jsonl", &to_lines(&[question]))]);
    let config = proxy.directory().join("callwright.toml");
    tokio::task::spawn_blocking(move || {
        let learn = ["learn", "notes", "--model", "scripted", "--config", "learner.toml", "--train", "train.jsonl"];
        let said = folder.run(&[&learn[..], &["--out", "notes.jsonl", "--group", "office"]].concat(), b"");
        assert_eq!(said.status, Some(0), "{}", said.stderr);
        let said = store(&folder, &config, &["import", "--in", "notes.jsonl"]);
        assert!(said.stderr.contains("1 items imported"), "{}", said.stderr);
    })
    .await
    .unwrap();
    proxy.metric_reaches("lessons", &[], 1.0).await;
    recalls(&proxy).await;
}

#[tokio::test]
async fn a_copy_of_a_file_that_is_in_use_restores_what_was_learned() {
    let (upstream, api) = servers().await;
    let proxy = proxy((&upstream, &api), None).await;
    taught(&proxy).await;
    let file = proxy.directory().join("traces.sqlite3");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file);
    let backup = proxy.directory().join("backup.sqlite3");
    let statement = format!("VACUUM INTO '{}'", backup.display());
    options.connect().await.unwrap().execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
    let stopped = proxy.stop().await;
    for name in ["traces.sqlite3", "traces.sqlite3-wal", "traces.sqlite3-shm"] {
        let _ = std::fs::remove_file(stopped.directory().join(name));
    }
    std::fs::rename(backup, file).unwrap();
    recalls(&stopped.start_again().await).await;
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn a_dump_of_postgres_restores_what_was_learned() {
    let server = Postgres::start();
    let (upstream, api) = servers().await;
    let url = server.database();
    let first = proxy((&upstream, &api), Some(&url)).await;
    taught(&first).await;
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("backup.dump");
    let run = |program: &str, arguments: &[&str], last: &Path| {
        let done = server.client(program).args(arguments).arg(last).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let name = |url: &str| url.rsplit('/').next().unwrap().to_owned();
    let file = format!("--file={}", dump.display());
    run("pg_dump", &["--format=custom", &file], Path::new(&name(&url)));
    first.stop().await;
    let restored = server.database();
    run("pg_restore", &[&format!("--dbname={}", name(&restored))], &dump);
    recalls(&proxy((&upstream, &api), Some(&restored)).await).await;
}

#[requires(postgres)]
#[tokio::test(flavor = "multi_thread")]
async fn what_waits_on_disk_is_deleted_too() {
    let mut server = Postgres::start();
    let upstream = Server::always(answer::text("hi")).await;
    let url = server.database();
    let database = url.rsplit('/').next().unwrap().to_owned();
    let mut proxy = Proxy::start(config_with_store_keys(&upstream.url("/v1"), &url, "retry_seconds = 1")).await;
    server.stop();
    for session in ["theirs", "ours", "theirs"] {
        proxy.client().chat_with(&plain("Hello"), &[("x-callwright-session", session)]).await.ok();
    }
    guarded("traces go to disk", async {
        while proxy.metrics_now().await.sum("traces_waiting", &[]) > 0.0 {
            tokio::time::sleep(POLL).await;
        }
    })
    .await;
    proxy.kill();
    let stopped = proxy.ended().await;
    server.start_again();
    let folder = Folder::with(&[]);
    let said = store(&folder, &stopped.directory().join("callwright.toml"), &["delete", "--session", "theirs"]);
    assert!(said.stderr.contains("3 traces spilled on disk"), "{}", said.stderr);
    assert!(String::from_utf8(said.stdout).unwrap().starts_with("2 traces"));
    let proxy = stopped.start_again().await;
    assert_eq!(proxy.metrics().await.sum("traces_on_disk_bytes", &[]), 0.0);
    assert_eq!(server.ask(&database, "SELECT session FROM traces"), "ours");
}
