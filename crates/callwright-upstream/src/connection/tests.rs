use http::Request;
use http::header::PROXY_AUTHORIZATION;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::body::RequestBody;
use crate::pool::RequestError;
use crate::test_server::TestServer;

/// Returns a client for `base` with this proxy in its environment.
fn via(proxy: &str, base: &str) -> Result<Connection, BuildError> {
    let base: Uri = base.parse().unwrap();
    let proxy = Matcher::builder().all(proxy).build().intercept(&base);
    Connection::build_via(proxy, "u", &Settings { connect_timeout_seconds: 5, ..Settings::default() }, &base)
}

fn get(uri: &str) -> Request<RequestBody> {
    let mut request = Request::new(RequestBody::default());
    *request.uri_mut() = uri.parse().unwrap();
    request
}

#[tokio::test]
async fn a_proxy_gets_the_whole_url_and_its_credentials_are_known() {
    let proxy = TestServer::answering("200 OK\r\ncontent-length: 2", b"ok").await;
    let connection = via(&format!("http://user:secret@{}", proxy.address), "http://model.invalid/v1").unwrap();
    let answer = connection.pool.request(get("http://model.invalid/v1/models?a=1")).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "ok");
    let request = proxy.requests().remove(0);
    assert!(request.starts_with("GET http://model.invalid/v1/models?a=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("host: model.invalid\r\n"), "{request}");
    // `user:secret` in Base64.
    assert_eq!(connection.proxy_authorization.unwrap(), "Basic dXNlcjpzZWNyZXQ=");
}

#[tokio::test]
async fn a_tunnel_hides_its_credentials_and_carries_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connection = via(&format!("http://user:secret@{address}"), "https://model.invalid/v1").unwrap();
    assert!(connection.proxy_authorization.is_none());
    let proxy = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
        // A TLS record of a handshake begins with 22 (RFC 8446, section 5.1).
        assert_eq!(stream.read_u8().await.unwrap(), 22);
        String::from_utf8(head).unwrap()
    };
    let (answer, head) = tokio::join!(connection.pool.request(get("https://model.invalid/v1/models")), proxy);
    assert!(matches!(answer.unwrap_err(), RequestError::Connect(_)));
    assert!(head.starts_with("CONNECT model.invalid:443 HTTP/1.1\r\n"), "{head}");
    let authorization = format!("{PROXY_AUTHORIZATION}: Basic dXNlcjpzZWNyZXQ=\r\n");
    assert!(head.to_ascii_lowercase().contains(&authorization.to_ascii_lowercase()), "{head}");
}

#[test]
fn a_proxy_that_is_no_http_proxy_is_named() {
    let error = via("socks5://127.0.0.1:1080", "https://model.invalid/v1").unwrap_err().to_string();
    assert!(error.starts_with("upstreams.u: ") && error.contains("socks5"), "{error}");
}
