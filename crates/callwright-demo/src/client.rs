//! Plain HTTP/1.1 client for loopback: one connection per request, responses bounded in size and time.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use url::Url;

use super::DemoError;
use super::server::BODY_LIMIT_BYTES;

/// Timeout of a request including its response. A turn on loopback takes milliseconds: the timeout only keeps a broken
/// setup from hanging.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Complete response.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: StatusCode,
    /// Header fields.
    pub headers: HeaderMap,
    /// Body, chunk by chunk as received.
    pub chunks: Vec<Bytes>,
}

impl HttpAnswer {
    /// Returns the body as text; invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.chunks.concat()).into_owned()
    }

    /// Returns the value of a header field if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Sends `GET url`.
pub async fn get(url: &str) -> Result<HttpAnswer, DemoError> {
    send(Method::GET, url, &[], Bytes::new()).await
}

/// Sends `POST url` with a JSON body.
pub async fn post(url: &str, headers: &[(&str, &str)], body: &Value) -> Result<HttpAnswer, DemoError> {
    let mut all = vec![(CONTENT_TYPE.as_str(), "application/json")];
    all.extend_from_slice(headers);
    send(Method::POST, url, &all, body.to_string().into()).await
}

/// Sends a request and reads the full response.
pub async fn send(method: Method, url: &str, headers: &[(&str, &str)], body: Bytes) -> Result<HttpAnswer, DemoError> {
    let exchange = tokio::time::timeout(REQUEST_TIMEOUT, exchange(&method, url, headers, body));
    let result = match exchange.await {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {} seconds", REQUEST_TIMEOUT.as_secs())),
    };
    result.map_err(|reason| DemoError::Request { method: method.to_string(), url: url.to_owned(), reason })
}

async fn exchange(
    method: &Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<HttpAnswer, Box<dyn std::error::Error + Send + Sync>> {
    let url = Url::parse(url)?;
    let host = url.host_str().ok_or("the URL names no host")?;
    let port = url.port_or_known_default().ok_or("the URL names no port")?;
    let connection = TcpStream::connect((host, port)).await?;
    connection.set_nodelay(true)?;
    let (mut sender, driver) = hyper::client::conn::http1::handshake(TokioIo::new(connection)).await?;
    let driver = tokio::spawn(driver);
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let mut request = http::Request::builder().method(method).uri(target).header(HOST, format!("{host}:{port}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = sender.send_request(request.body(Full::new(body))?).await?;
    let (head, body) = response.into_parts();
    let mut body = Limited::new(body, BODY_LIMIT_BYTES);
    let mut chunks = Vec::new();
    while let Some(frame) = body.frame().await {
        chunks.extend(frame?.into_data().ok());
    }
    driver.abort();
    Ok(HttpAnswer { status: head.status, headers: head.headers, chunks })
}
