//! Documents from servers, including hostile ones.

use std::time::Duration;

use super::server::{Server, unreachable_server};
use super::*;
use crate::DocumentFetcher;
use callwright_openapi::{Catalog, Fetch, FetchBounds, Origin, ToolsetSettings, load_from};
use http::Response;

/// Timeout that suffices on any machine; no test waits for it.
const PATIENCE: Duration = Duration::from_secs(60);
const BOUNDS: FetchBounds = FetchBounds { bytes: 100_000, time: PATIENCE };

const DOCUMENT: &str = "openapi: 3.0.0\npaths:\n  /a: {$ref: 'parts/a.yaml'}\n";

/// Fetches on a separate thread, as a reload does.
async fn fetch(settings: &Settings, url: &str, bounds: FetchBounds) -> Result<String, String> {
    let fetcher = DocumentFetcher::build(settings).unwrap();
    let url = Url::parse(url).unwrap();
    let fetched = tokio::task::spawn_blocking(move || fetcher.fetch(&url, bounds)).await.unwrap()?;
    Ok(String::from_utf8(fetched.bytes).unwrap())
}

async fn why_not(url: &str, bounds: FetchBounds) -> String {
    fetch(&local(), url, bounds).await.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_and_the_files_that_it_refers_to_are_fetched() {
    let server = Server::http(|request| {
        Response::new(match request.target.as_str() {
            "/v1/api.yaml" => DOCUMENT.into(),
            "/v1/parts/a.yaml" => "get: {operationId: a}\n".into(),
            _ => "".into(),
        })
    })
    .await;
    let fetcher = DocumentFetcher::build(&local()).unwrap();
    let url = Url::parse(&format!("{}/v1/api.yaml", server.url())).unwrap();
    let settings = ToolsetSettings { allow_remote_refs: true, ..ToolsetSettings::default() };
    // On a thread of this runtime, as during the start of the proxy.
    let toolset = load_from("api", Origin::Url(&url), &settings, &fetcher).unwrap();
    assert_eq!((toolset.operations[0].label(), toolset.remote_files.len()), ("GET /a".to_owned(), 2));
    assert_eq!(toolset.operations[0].servers[0].as_str(), format!("{}/", server.url()));
    assert!(toolset.document.is_none() && toolset.files().next().is_none());
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.headers["accept"].to_str().unwrap().contains("yaml")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_on_an_address_that_is_not_public_is_not_fetched() {
    let server = Server::plain().await;
    let port = server.port();
    for url in [
        format!("http://127.0.0.1:{port}/api.yaml"),
        format!("http://2130706433:{port}/api.yaml"),
        format!("http://[::ffff:127.0.0.1]:{port}/api.yaml"),
        format!("http://localhost:{port}/api.yaml"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
    ] {
        let reason = fetch(&Settings::default(), &url, BOUNDS).await.unwrap_err();
        assert!(reason.contains("executor.allowed_addresses"), "{url}: {reason}");
    }
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_to_a_private_address_drops_its_operation_unsent() {
    let server = Server::plain().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.yaml");
    let text = format!(
        "openapi: 3.0.0\npaths:\n  /a: {{$ref: 'http://169.254.169.254/latest/meta-data'}}\n  /b: {{$ref: 'http://127.0.0.1:{}/b'}}\n  \
         /c: {{get: {{}}}}\n",
        server.port()
    );
    std::fs::write(&path, text).unwrap();
    let fetcher = DocumentFetcher::build(&Settings::default()).unwrap();
    let settings = ToolsetSettings { allow_remote_refs: true, ..ToolsetSettings::default() };
    let toolset = load_from("api", Origin::Path(&path), &settings, &fetcher).unwrap();
    assert_eq!(toolset.report.operations_loaded, 1);
    let skipped = &toolset.report.operations_skipped;
    assert_eq!(skipped.len(), 2);
    assert!(skipped.iter().all(|skipped| skipped.reason.contains("private, local or reserved")), "{skipped:?}");
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn redirects_stay_on_their_host_and_end() {
    let other = Server::plain().await;
    let target = format!("{}/end", other.url());
    for (location, expected) in [
        (target.clone(), "not the server in the document"),
        ("http://169.254.169.254/latest".to_owned(), "not the server in the document"),
        ("file:///etc/passwd".to_owned(), "not the server in the document"),
        ("/again".to_owned(), "redirects more than 3 times"),
    ] {
        let server = Server::http(move |_| {
            Response::builder().status(302).header("location", location.clone()).body("".into()).unwrap()
        })
        .await;
        let reason = why_not(&server.url(), BOUNDS).await;
        assert!(reason.contains(expected), "{reason}");
    }
    assert_eq!(other.requests().len(), 0);
    let server = Server::http(|request| match request.target.as_str() {
        "/old" => Response::builder().status(301).header("location", "/new").body("".into()).unwrap(),
        target => Response::new(target.to_owned().into()),
    })
    .await;
    assert_eq!(fetch(&local(), &format!("{}/old", server.url()), BOUNDS).await.unwrap(), "/new");
}

#[tokio::test]
async fn an_endless_document_and_a_silent_server_time_out() {
    let endless = Server::endless(b"HTTP/1.1 200 OK\r\n\r\nopenapi: 3.0.0\n", &[b'#'; 1024]).await;
    let reason = why_not(&endless.url(), BOUNDS).await;
    assert!(reason.contains("larger than 100000 bytes") && reason.contains("limits.document_bytes"), "{reason}");
    let soon = FetchBounds { time: Duration::from_millis(50), ..BOUNDS };
    let silent = Server::silent().await;
    let reason = why_not(&silent.url(), soon).await;
    assert!(reason.contains("did not answer") && reason.contains("limits.fetch_seconds"), "{reason}");
    let slow = Server::raw(|mut stream| async move {
        use tokio::io::AsyncWriteExt;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nopenapi").await;
        std::future::pending::<()>().await;
    })
    .await;
    let reason = why_not(&slow.url(), soon).await;
    assert!(reason.contains("stopped after 7 bytes"), "{reason}");
}

#[tokio::test]
async fn a_small_answer_that_unpacks_to_a_large_document_is_given_up() {
    use std::io::Write;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&vec![b'#'; 20_000_000]).unwrap();
    let packed = packer.finish().unwrap();
    assert!(packed.len() < 50_000);
    let server = Server::http(move |_| {
        Response::builder().header("content-encoding", "gzip").body(packed.clone().into()).unwrap()
    })
    .await;
    assert!(why_not(&server.url(), BOUNDS).await.contains("larger than"));
}

#[tokio::test]
async fn a_missing_document_is_reported() {
    let server = Server::http(|_| Response::builder().status(404).body("no".into()).unwrap()).await;
    assert_eq!(why_not(&server.url(), BOUNDS).await, "its server answers with status 404");
    assert!(why_not(&unreachable_server().await, BOUNDS).await.contains("cannot be connected to"));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_changed_documents_are_reported_as_changed() {
    let current = Arc::new(Mutex::new(("\"1\"", "openapi: 3.0.0\npaths: {/a: {get: {}}}\n")));
    let served = Arc::clone(&current);
    let server = Server::http(move |request| {
        let (tag, text) = *served.lock().unwrap();
        let is_current = request.headers.get("if-none-match").is_some_and(|etag| etag == tag);
        let body = if is_current { "" } else { text };
        let status = if text.is_empty() {
            503
        } else if is_current {
            304
        } else {
            200
        };
        Response::builder().status(status).header("etag", tag).body(body.into()).unwrap()
    })
    .await;
    let fetcher = DocumentFetcher::build(&local()).unwrap();
    let document = format!("{}/api.yaml", server.url());
    let toolsets = [("api".to_owned(), ToolsetSettings { document, ..ToolsetSettings::default() })].into();
    let catalog = Catalog::load(&toolsets, std::path::Path::new("."), &fetcher).unwrap().0;
    let changed = || catalog.remote_changes(&toolsets, &fetcher);
    assert_eq!(changed().0.len(), 0);
    // Another ETag for the same content.
    current.lock().unwrap().0 = "\"2\"";
    assert_eq!(changed().0.len(), 0);
    *current.lock().unwrap() = ("\"3\"", "openapi: 3.0.0\npaths: {/b: {get: {}}}\n");
    let (remote, errors) = changed();
    assert!(remote.contains("api") && errors.is_empty(), "{errors:?}");
    let changes = callwright_openapi::Changes::Remote(remote);
    let (catalog, _) = catalog.reload(&toolsets, std::path::Path::new("."), &fetcher, &changes).unwrap();
    assert_eq!(catalog.toolset("api").unwrap().operations[0].label(), "GET /b");
    assert_eq!(catalog.remote_changes(&toolsets, &fetcher).0.len(), 0);
    current.lock().unwrap().1 = "";
    let errors = catalog.remote_changes(&toolsets, &fetcher).1;
    assert!(errors[0].to_string().contains("cannot be fetched: its server answers with status 503"), "{errors:?}");
}
