use http::HeaderValue;
use http::header::{CONNECTION, CONTENT_TYPE};
use tokio::net::{TcpListener, TcpSocket};

use super::*;
use crate::test_server::{Step, TestServer};
use callwright_types::Secret;

fn upstream(base_url: &str) -> Upstream {
    built(Settings { base_url: base_url.to_owned(), ..quick() })
}

fn built(settings: Settings) -> Upstream {
    Upstream::build("u", &settings, true).unwrap()
}

/// Settings with the shortest delays.
fn quick() -> Settings {
    Settings {
        connect_timeout_seconds: 1,
        first_byte_timeout_seconds: 1,
        idle_timeout_seconds: 1,
        connect_retries: 0,
        ..Settings::default()
    }
}

async fn chat(upstream: &Upstream) -> Result<Answer, UpstreamFailure> {
    upstream.chat(Bytes::from_static(b"{\"model\":\"m\"}"), &HeaderMap::new()).await
}

async fn get(upstream: &Upstream, path: &str, headers: &HeaderMap) -> Result<Answer, UpstreamFailure> {
    upstream.forward(Method::GET, path, headers, RequestBody::from("")).await
}

#[tokio::test]
async fn a_chat_is_posted_below_the_base_url_and_its_answer_returned() {
    let server = TestServer::answering(
        "200 OK\r\ncontent-length: 2\r\nx-request-id: r1\r\ncontent-type: application/json",
        b"{}",
    )
    .await;
    let upstream =
        built(Settings { base_url: format!("{}/", server.base_url()), api_key: Secret::new("k"), ..quick() });
    let mut answer = chat(&upstream).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.request_id()), (200, Some("r1")));
    assert!(!answer.headers.contains_key("content-length") && !answer.is_event_stream());
    assert_eq!(answer.whole().await.unwrap(), "{}");
    let request = server.requests().remove(0);
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    for part in [
        "authorization: Bearer k\r\n", "accept-encoding: identity\r\n", "content-type: application/json\r\n",
        "\r\n\r\n{\"model\":\"m\"}",
    ] {
        assert!(request.contains(part), "{part} in {request}");
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let one = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_vec();
    // Answers a second request only on the same connection.
    let server = TestServer::on(listener, vec![Step::Write(one.clone()), Step::Await, Step::Write(one), Step::Silence]);
    let upstream = upstream(&server.base_url());
    for _ in 0..2 {
        assert_eq!(chat(&upstream).await.unwrap().whole().await.unwrap(), "{}");
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn an_error_status_is_an_answer_with_its_headers_and_body() {
    let head = "429 Too Many Requests\r\nretry-after: 7\r\nx-ratelimit-remaining-requests: 0\r\ncontent-length: 16";
    let server = TestServer::answering(head, b"{\"error\":\"slow\"}").await;
    let mut answer = chat(&upstream(&server.base_url())).await.unwrap();
    assert_eq!(answer.status.as_u16(), 429);
    assert_eq!(
        (&answer.headers["retry-after"], &answer.headers["x-ratelimit-remaining-requests"]),
        (&HeaderValue::from(7), &HeaderValue::from(0))
    );
    assert_eq!(answer.whole().await.unwrap(), "{\"error\":\"slow\"}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn redirects_and_other_protocols_are_no_answer_and_not_followed() {
    for head in [
        "307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0",
        "301 Moved Permanently\r\nlocation: /elsewhere\r\ncontent-length: 0",
        "304 Not Modified",
        "101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket",
    ] {
        let server = TestServer::answering(head, b"").await;
        let failure = chat(&upstream(&server.base_url())).await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Malformed, "{head}: {failure}");
        assert!(failure.message.contains("`upstreams.u.base_url`"), "{head}: {failure}");
        assert_eq!(server.requests().len(), 1, "{head}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_connect_failure() {
    // Bound but not listening, so that no other process uses the port.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    let failure = chat(&upstream(&format!("http://{address}/v1"))).await.unwrap_err();
    assert_eq!((failure.kind, failure.upstream.as_str()), (UpstreamFailureKind::Connect, "u"));
    assert!(failure.message.contains("refused"), "{failure}");
}

#[tokio::test]
async fn a_connection_that_could_not_be_made_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let upstream = built(Settings { base_url: format!("http://{address}/v1"), connect_retries: 8, ..quick() });
    let late = async {
        sleep(Duration::from_millis(50)).await;
        let listener = TcpListener::bind(address).await.unwrap();
        TestServer::on(listener, vec![Step::Write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec())])
    };
    let (answer, server) = tokio::join!(chat(&upstream), late);
    assert_eq!(answer.unwrap().status.as_u16(), 200);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_request_that_was_sent_is_never_sent_twice() {
    for steps in [vec![], vec![Step::Reset], vec![Step::Write(b"HTTP/1.1 200 O".to_vec())]] {
        let server = TestServer::start(steps).await;
        let upstream = built(Settings { base_url: server.base_url(), connect_retries: 3, ..quick() });
        let failure = chat(&upstream).await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Reset, "{failure}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn silence_before_the_answer_is_a_timeout() {
    let server = TestServer::start(vec![Step::Silence]).await;
    let failure = chat(&upstream(&server.base_url())).await.unwrap_err();
    assert_eq!(failure.kind, UpstreamFailureKind::Timeout, "{failure}");
}

#[tokio::test]
async fn what_is_not_http_is_malformed() {
    let server = TestServer::start(vec![Step::Write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec())]).await;
    let failure = chat(&upstream(&server.base_url())).await.unwrap_err();
    assert_eq!(failure.kind, UpstreamFailureKind::Malformed, "{failure}");
}

#[tokio::test]
async fn an_unknown_encoding_is_malformed_unless_it_is_a_passed_error() {
    let server = TestServer::answering("200 OK\r\ncontent-encoding: br\r\ncontent-length: 1", b"x").await;
    let failure = chat(&upstream(&server.base_url())).await.unwrap_err();
    assert_eq!(failure.kind, UpstreamFailureKind::Malformed, "{failure}");
    let server = TestServer::answering("500 Oh\r\ncontent-encoding: br\r\ncontent-length: 1", b"x").await;
    let answer = chat(&upstream(&server.base_url())).await.unwrap();
    assert_eq!(answer.headers["content-encoding"], "br");
}

#[tokio::test]
async fn a_request_is_passed_through_untouched() {
    let server = TestServer::answering("200 OK\r\ncontent-length: 2", b"ok").await;
    let upstream = upstream(&server.base_url());
    let headers =
        [(CONTENT_TYPE, "multipart/form-data; boundary=x"), (CONTENT_LENGTH, "7"), (CONNECTION, "keep-alive")];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect();
    let pieces = [Ok::<_, std::io::Error>("abc"), Ok("defg")];
    let body = RequestBody::wrap_stream(futures_util::stream::iter(pieces));
    let mut answer = upstream.forward(Method::PUT, "/files/a%2Fb?x=1&y=%20z", &headers, body).await.unwrap();
    assert_eq!(answer.headers["content-length"], "2");
    assert_eq!(answer.whole().await.unwrap(), "ok");
    let request = server.requests().remove(0);
    assert!(request.starts_with("PUT /v1/files/a%2Fb?x=1&y=%20z HTTP/1.1\r\n"), "{request}");
    assert!(
        request.contains("content-type: multipart/form-data; boundary=x\r\n")
            && request.contains("content-length: 7\r\n")
    );
    assert!(
        request.ends_with("\r\n\r\nabcdefg") && !request.contains("accept-encoding") && !request.contains("chunked"),
        "{request}"
    );
}

#[tokio::test]
async fn a_get_that_is_passed_through_has_no_body() {
    let server = TestServer::answering("200 OK\r\ncontent-length: 2", b"ok").await;
    let nothing = futures_util::stream::iter(Vec::<Result<Bytes, std::io::Error>>::new());
    let body = RequestBody::wrap_stream(nothing);
    upstream(&server.base_url()).forward(Method::GET, "/models", &HeaderMap::new(), body).await.unwrap();
    let request = server.requests().remove(0);
    assert!(request.starts_with("GET /v1/models HTTP/1.1\r\n") && !request.contains("chunked"), "{request}");
}

#[tokio::test]
async fn a_path_cannot_leave_the_base_url() {
    let server = TestServer::answering("200 OK\r\ncontent-length: 0", b"").await;
    let upstream = upstream(&server.base_url());
    for path in ["/../admin", "/%2e%2e/admin", "/..", "models", "@127.0.0.1:1/x", ".evil/x"] {
        let failure = get(&upstream, path, &HeaderMap::new()).await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Malformed, "{path}");
    }
    assert!(server.requests().is_empty());
    let without_path = built(Settings { base_url: format!("http://{}", server.address), ..quick() });
    let failure = get(&without_path, "@127.0.0.1:1/x", &HeaderMap::new()).await.unwrap_err();
    assert_eq!(failure.kind, UpstreamFailureKind::Malformed, "another host");
    assert_eq!(get(&without_path, "/models", &HeaderMap::new()).await.unwrap().status.as_u16(), 200);
}

#[test]
fn settings_that_cannot_work_are_named() {
    for (settings, key) in [
        (Settings { circuit_failure_percent: 0, ..quick() }, "circuit_failure_percent"),
        (Settings { circuit_open_seconds: 0, ..quick() }, "circuit_open_seconds"),
        (Settings { base_url: "api.example.com/v1".into(), ..quick() }, "base_url"),
        (Settings { base_url: "ftp://host".into(), ..quick() }, "base_url"),
        (Settings { base_url: "https://key@host/v1".into(), ..quick() }, "base_url"),
        (Settings { base_url: "https://host/v1?api-version=1".into(), ..quick() }, "base_url"),
        (Settings { connect_timeout_seconds: 0, ..quick() }, "connect_timeout_seconds"),
        (Settings { ca_file: "/nowhere/ca.pem".into(), ..quick() }, "ca_file"),
        (Settings { ca_file: "Cargo.toml".into(), ..quick() }, "ca_file"),
    ] {
        let error = Upstream::build("u", &settings, true).unwrap_err().to_string();
        assert!(error.starts_with(&format!("upstreams.u.{key}: ")), "{error}");
    }
}

/// Certificates for this test: an authority and a server `localhost`, valid for a hundred years.
mod tls {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;

    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};

    use super::*;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/tls");

    /// Serves connections until a handshake succeeds and a request is answered.
    fn serve() -> u16 {
        let certificate = CertificateDer::from_pem_file(format!("{FIXTURES}/server.pem")).unwrap();
        let key = PrivateKeyDer::from_pem_file(format!("{FIXTURES}/server.key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut stream = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
                if matches!(stream.read(&mut [0; 4096]), Ok(count) if count > 0) {
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
                    return;
                }
            }
        });
        port
    }

    #[tokio::test]
    async fn a_custom_authority_is_trusted_only_where_it_is_configured() {
        let base_url = format!("https://localhost:{}/v1", serve());
        let failure = chat(&upstream(&base_url)).await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Connect, "{failure}");
        let trusting = built(Settings { base_url, ca_file: format!("{FIXTURES}/ca.pem"), ..quick() });
        assert_eq!(chat(&trusting).await.unwrap().whole().await.unwrap(), "{}");
    }
}

#[test]
fn stream_tokens_are_requested_once_the_upstream_reports_them() {
    let of = |stream_usage| built(Settings { stream_usage, base_url: "http://127.0.0.1:1/v1".to_owned(), ..quick() });
    let auto = of(StreamUsage::Auto);
    assert!(!auto.requests_stream_usage());
    auto.reported_stream_usage();
    assert!(auto.requests_stream_usage());
    auto.refused_stream_usage();
    auto.reported_stream_usage();
    assert!(!auto.requests_stream_usage(), "a refusal is final");
    let (on, off) = (of(StreamUsage::On), of(StreamUsage::Off));
    off.reported_stream_usage();
    assert!(on.requests_stream_usage() && !off.requests_stream_usage());
}
