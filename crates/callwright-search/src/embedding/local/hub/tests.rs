//! Tests with a hub on loopback.

use std::path::Path;
use std::sync::Mutex;

use super::{DownloadWatcher, fetch};
use crate::embedding::test_server::{ReceivedRequest, Reply, TestServer};
use crate::embedding::{BuildError, LocalSettings, Pooling};
use callwright_types::Secret;

/// The calls that a watcher received.
#[derive(Default)]
struct RecordedDownloads(Mutex<Vec<String>>);

impl RecordedDownloads {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl DownloadWatcher for RecordedDownloads {
    fn begins(&self, file: &str, bytes: Option<u64>) {
        self.note(format!("{file} {bytes:?}"));
    }

    fn advances(&self, bytes: u64) {
        self.note(bytes.to_string());
    }

    fn ends(&self) {
        self.note("end".to_owned());
    }
}

fn settings(hub: &TestServer) -> LocalSettings {
    LocalSettings {
        model: "qdrant/ALL-MiniLM-L6-v2-onnx".to_owned(),
        hub_url: hub.url(),
        hub_token: Secret::new("hf-canary"),
        cache: "models".to_owned(),
        ..LocalSettings::default()
    }
}

/// Returns the file's own path as its content.
fn hub(request: &ReceivedRequest) -> Reply {
    ("200 OK", String::new(), request.target().as_bytes().to_vec())
}

async fn error_of(status: &'static str, change: fn(&mut LocalSettings)) -> BuildError {
    let hub = TestServer::start(move |_| (status, String::new(), vec![b'x'; 100])).await;
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings(&hub);
    change(&mut settings);
    let error = fetch(&settings, folder.path(), &RecordedDownloads::default()).await.unwrap_err();
    let model = folder.path().join("models/Qdrant--all-MiniLM-L6-v2-onnx--model.onnx");
    assert!(!model.is_dir() || model.read_dir().unwrap().next().is_none(), "no half file stays");
    error
}

#[tokio::test]
async fn a_model_is_fetched_once_and_watched() {
    let hub = TestServer::start(hub).await;
    let base = tempfile::tempdir().unwrap();
    let downloads = RecordedDownloads::default();
    let (folder, pooling) = fetch(&settings(&hub), base.path(), &downloads).await.unwrap();
    assert_eq!(pooling, Some(Pooling::Mean));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("model.onnx"), "/Qdrant/all-MiniLM-L6-v2-onnx/resolve/main/model.onnx");
    assert_eq!(read("config.json"), "/Qdrant/all-MiniLM-L6-v2-onnx/resolve/main/config.json");
    let recorded = downloads.0.lock().unwrap().clone();
    assert_eq!(recorded.last().unwrap(), "end");
    assert!(
        recorded.contains(&"model.onnx Some(53)".to_owned()) && recorded.contains(&"53".to_owned()),
        "{recorded:?}"
    );
    assert!(hub.received().iter().all(|request| request.head.contains("authorization: Bearer hf-canary")));
    let requests = hub.received().len();
    fetch(&settings(&hub), base.path(), &RecordedDownloads::default()).await.unwrap();
    assert_eq!((requests, hub.received().len()), (5, 5));
}

#[tokio::test]
async fn a_redirect_to_another_host_is_followed_without_the_token() {
    let store = TestServer::start(hub).await;
    let elsewhere = store.url().replace("127.0.0.1", "localhost");
    let redirect = move |request: &ReceivedRequest| {
        ("302 Found", format!("location: {elsewhere}/stored{}\r\n", request.target()), Vec::new())
    };
    let hub = TestServer::start(redirect).await;
    let base = tempfile::tempdir().unwrap();
    let (folder, _) = fetch(&settings(&hub), base.path(), &RecordedDownloads::default()).await.unwrap();
    assert!(std::fs::read_to_string(folder.join("model.onnx")).unwrap().starts_with("/stored/"));
    assert!(store.received().iter().all(|request| !request.head.contains("canary")));
}

#[tokio::test]
async fn a_refusal_of_the_hub_names_its_key() {
    let absent = error_of("404 Not Found", |_| {}).await;
    assert!(absent.is_of_the_machine() && absent.to_string().contains("`embedding.fastembed.model`"), "{absent}");
    let forbidden = error_of("401 Unauthorized", |_| {}).await;
    assert!(forbidden.is_of_the_machine() && forbidden.to_string().contains("`hub_token`"), "{forbidden}");
    let broken = error_of("503 Service Unavailable", |_| {}).await;
    assert!(broken.to_string().contains("503"), "{broken}");
    let large = error_of("200 OK", |settings| settings.max_model_bytes = 50).await;
    assert!(large.to_string().contains("max_model_bytes"), "{large}");
}

#[tokio::test]
async fn an_absent_hub_is_named_with_the_alternative() {
    let hub = TestServer::start(hub).await;
    let settings = settings(&hub);
    drop(hub);
    let error = fetch(&settings, Path::new("/absent"), &RecordedDownloads::default()).await.unwrap_err();
    assert!(matches!(error, BuildError::Download { .. }), "{error}");
    assert!(error.to_string().contains("embedding.fastembed.folder"), "{error}");
}
