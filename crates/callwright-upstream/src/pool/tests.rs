use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::Settings;
use crate::connection::Connection;
use crate::test_server::{Step, TestServer};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/tls");

fn pool_with(base_url: &str, settings: Settings) -> (Pool, Uri) {
    let base: Uri = base_url.parse().unwrap();
    let settings = Settings { connect_timeout_seconds: 5, ca_file: format!("{FIXTURES}/ca.pem"), ..settings };
    (Connection::build("u", &settings, &base).unwrap().pool, base)
}

fn post(uri: &Uri, body: RequestBody) -> Request<RequestBody> {
    let mut request = Request::new(body);
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri.clone();
    request
}

async fn text(response: Response<UpstreamBody>) -> Bytes {
    response.into_body().collect().await.unwrap().to_bytes()
}

fn chunked(chunks: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunks}").into_bytes()
}

#[tokio::test]
async fn a_connection_with_an_unread_body_end_is_reused() {
    let answer = chunked("2\r\n{}\r\n0\r\n\r\n");
    let server =
        TestServer::start(vec![Step::Write(answer.clone()), Step::Await, Step::Write(answer), Step::Silence]).await;
    let (pool, uri) = pool_with(&server.base_url(), Settings::default());
    for _ in 0..2 {
        let mut body = pool.request(post(&uri, "x".into())).await.unwrap().into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "{}");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_body_that_is_dropped_in_the_middle_closes_the_connection() {
    let server = TestServer::start(vec![Step::Write(chunked("2\r\n{}\r\n")), Step::Silence]).await;
    let (pool, uri) = pool_with(&server.base_url(), Settings::default());
    let mut body = pool.request(post(&uri, "x".into())).await.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "{}");
    drop(body);
    server.client_left().await;
}

#[tokio::test]
async fn a_request_that_is_given_up_closes_the_connection() {
    let server = TestServer::start(vec![Step::Silence]).await;
    let (pool, uri) = pool_with(&server.base_url(), Settings::default());
    let request = pool.request(post(&uri, "x".into()));
    tokio::select! {
        _ = request => panic!("the server does not answer"),
        () = async { while server.requests().is_empty() { tokio::task::yield_now().await } } => {}
    }
    server.client_left().await;
}

#[tokio::test]
async fn connections_closed_by_the_server_are_noticed_before_use() {
    let server = TestServer::answering("200 OK\r\ncontent-length: 2", b"{}").await;
    let (pool, uri) = pool_with(&server.base_url(), Settings::default());
    for count in 1..=3 {
        // The body of a request that was sent before cannot be sent again.
        let body = RequestBody::wrap_stream(stream::iter([Ok::<_, std::io::Error>("x")]));
        assert_eq!(text(pool.request(post(&uri, body)).await.unwrap()).await, "{}");
        assert_eq!(server.connections(), count);
        while pool.idle.sweep() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn idle_connections_expire() {
    let server =
        TestServer::start(vec![Step::Write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec()), Step::Silence])
            .await;
    let settings = Settings { pool_idle_timeout_seconds: 0, ..Settings::default() };
    let (pool, uri) = pool_with(&server.base_url(), settings);
    pool.request(post(&uri, "x".into())).await.unwrap();
    // The task that sweeps closes it, without another request.
    server.client_left().await;
}

#[tokio::test]
async fn a_connection_closes_before_the_end_that_the_server_announced() {
    for (announced, is_kept) in [("timeout=1, max=9", false), ("max=9,Timeout = 0", false), ("timeout=60", true)] {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nkeep-alive: {announced}\r\n\r\n");
        let server = TestServer::start(vec![Step::Write(head.into_bytes()), Step::Silence]).await;
        let (pool, uri) = pool_with(&server.base_url(), Settings::default());
        pool.request(post(&uri, "x".into())).await.unwrap();
        assert_eq!(pool.idle.take().is_some(), is_kept, "{announced}");
    }
}

#[tokio::test]
async fn no_more_connections_stay_idle_than_allowed() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_vec();
    let server = TestServer::start(vec![Step::Write(answer), Step::Silence]).await;
    let (pool, uri) = pool_with(&server.base_url(), Settings { pool_max_idle: 1, ..Settings::default() });
    let responses = join_all((0..2).map(|_| pool.request(post(&uri, "x".into())))).await;
    for response in responses {
        assert_eq!(text(response.unwrap()).await, "{}");
    }
    assert_eq!(server.connections(), 2);
    server.client_left().await;
    assert!(matches!(pool.idle.take(), Some(PooledConnection::Http1(_))));
    assert!(pool.idle.take().is_none());
}

#[tokio::test]
async fn a_response_may_begin_before_its_request_has_ended() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        // Returns the chunks of the request as they arrive.
        let echo = service_fn(|request: Request<Incoming>| async {
            Ok::<_, hyper::Error>(Response::new(request.into_body()))
        });
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), echo).await.unwrap();
    });
    let (pool, uri) = pool_with(&format!("http://{address}/v1"), Settings::default());
    let (sender, receiver) = tokio::sync::mpsc::channel::<Bytes>(1);
    let chunks = stream::unfold(receiver, |mut receiver| async {
        Some((Ok::<_, std::io::Error>(receiver.recv().await?), receiver))
    });
    sender.send("first".into()).await.unwrap();
    let mut body = pool.request(post(&uri, RequestBody::wrap_stream(chunks))).await.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "first");
    for chunk in ["second", "third"] {
        sender.send(chunk.into()).await.unwrap();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), chunk);
    }
    drop(sender);
    assert!(body.frame().await.is_none());
    // The task of the connection returns it to the pool.
    while pool.idle.take().is_none() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_arrives_while_others_run_is_whole() {
    const CHUNKS: usize = 500;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let long = service_fn(|_: Request<Incoming>| async {
                    let chunks = stream::unfold(0, |at| async move {
                        tokio::task::yield_now().await;
                        (at < CHUNKS).then(|| (Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; at % 97 + 1])), at + 1))
                    });
                    Ok::<_, hyper::Error>(Response::new(RequestBody::wrap_stream(chunks)))
                });
                let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), long).await;
            });
        }
    });
    let (pool, uri) = pool_with(&format!("http://{address}/v1"), Settings::default());
    let (pool, expected) = (Arc::new(pool), (0..CHUNKS).map(|at| at % 97 + 1).sum::<usize>());
    let tasks = (0..16).map(|_| {
        let (pool, uri) = (Arc::clone(&pool), uri.clone());
        tokio::spawn(async move {
            for _ in 0..5 {
                assert_eq!(text(pool.request(post(&uri, "x".into())).await.unwrap()).await.len(), expected);
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
}

/// Serves HTTP/2 over TLS. Returns the port and the number of connections.
async fn serve_http2() -> (u16, Arc<AtomicUsize>) {
    let certificate = CertificateDer::from_pem_file(format!("{FIXTURES}/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(format!("{FIXTURES}/server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let echo = service_fn(|request: Request<Incoming>| async {
                    assert_eq!(request.version(), http::Version::HTTP_2);
                    Ok::<_, hyper::Error>(Response::new(request.into_body()))
                });
                let socket = TokioIo::new(acceptor.accept(socket).await.unwrap());
                let _ =
                    hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(socket, echo).await;
            });
        }
    });
    (port, connections)
}

#[tokio::test]
async fn concurrent_requests_share_a_connection_over_http2() {
    let (port, connections) = serve_http2().await;
    let (pool, uri) = pool_with(&format!("https://localhost:{port}/v1"), Settings::default());
    assert_eq!(text(pool.request(post(&uri, "first".into())).await.unwrap()).await, "first");
    let responses = join_all((0..20).map(|at| pool.request(post(&uri, format!("body {at}").into())))).await;
    for (at, response) in responses.into_iter().enumerate() {
        assert_eq!(text(response.unwrap()).await, format!("body {at}"));
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[test]
fn targets_are_written_in_origin_form() {
    for (uri, target) in [("http://h:1/v1/a?b=c", "/v1/a?b=c"), ("https://h", "/"), ("https://h?b", "/?b")] {
        assert_eq!(origin_form(&uri.parse().unwrap()).to_string(), target);
    }
}
