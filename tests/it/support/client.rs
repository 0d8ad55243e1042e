//! A client that exposes the data on the wire: bytes, header fields, single events.

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{Assembled, GUARD, guarded};

/// A client of one listener.
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    /// Creates a client of the server at `base`, such as `http://127.0.0.1:9000`.
    pub(crate) fn new(base: impl Into<String>) -> Self {
        Self::built(base, |builder| builder)
    }

    /// Works like [`Self::new`], for a server with a certificate of this authority (PEM).
    pub(crate) fn trusting(base: impl Into<String>, authority: &str) -> Self {
        let authority = reqwest::Certificate::from_pem(authority.as_bytes()).unwrap();
        Self::built(base, |builder| builder.tls_certs_only([authority]))
    }

    /// Works like [`Self::new`], with the changes of `configure`.
    pub(crate) fn built(
        base: impl Into<String>,
        configure: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
    ) -> Self {
        // Fails if another test of this process has installed one, which is equivalent.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder().no_proxy().no_gzip().timeout(GUARD);
        Self { http: configure(builder).build().unwrap(), base: base.into() }
    }

    /// Sends `GET path`. Returns the unread response, or the error.
    pub(crate) async fn try_get(&self, path: &str) -> Result<reqwest::Response, reqwest::Error> {
        guarded(path, self.request(Method::GET, path, &[], Bytes::new()).send()).await
    }

    /// Returns the URL of `path` at this server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Sends `GET path`.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], Bytes::new()).await
    }

    /// Sends `POST /v1/chat/completions` and reads the whole response.
    pub(crate) async fn chat(&self, body: &Value) -> Answer {
        self.chat_with(body, &[]).await
    }

    /// Works like [`Self::chat`], with more header fields.
    pub(crate) async fn chat_with(&self, body: &Value, headers: &[(&str, &str)]) -> Answer {
        self.send(Method::POST, "/v1/chat/completions", &json_fields(headers), body.to_string()).await
    }

    /// Sends `POST /v1/chat/completions`; the response is read event by event.
    pub(crate) async fn chat_stream(&self, body: &Value) -> Stream {
        self.chat_stream_with(body, &[]).await
    }

    /// Works like [`Self::chat_stream`], with more header fields.
    pub(crate) async fn chat_stream_with(&self, body: &Value, headers: &[(&str, &str)]) -> Stream {
        self.stream("/v1/chat/completions", &json_fields(headers), body.to_string()).await
    }

    /// Sends `POST path`; the response is read event by event.
    pub(crate) async fn stream(&self, path: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Stream {
        let request = self.request(Method::POST, path, headers, body);
        let response = guarded("waiting for the head of a stream", request.send()).await.unwrap();
        Stream {
            status: response.status(),
            headers: response.headers().clone(),
            response,
            buffer: Vec::new(),
            raw: Vec::new(),
        }
    }

    /// Sends `POST /v1/chat/completions` and accepts any result, also a broken connection.
    pub(crate) async fn try_chat(&self, body: &Value) -> Result<Bytes, reqwest::Error> {
        let request = self.request(Method::POST, "/v1/chat/completions", &json_fields(&[]), body.to_string());
        guarded("waiting for an answer or a broken connection", async { request.send().await?.bytes().await }).await
    }

    /// Sends any request and reads the whole response.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let response = guarded(path, self.request(method, path, headers, body).send()).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        Answer { status, headers, body: guarded(path, response.bytes()).await.unwrap() }
    }

    /// Writes exactly these bytes on a new connection and reads until its end, for requests that client libraries do
    /// not send.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let address = self.base.trim_start_matches("http://");
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        socket.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        guarded("waiting for the end of a connection", socket.read_to_end(&mut answer)).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a chat request on a new connection, for a test that disconnects before the response.
    pub(crate) async fn begin_chat(&self, body: &Value) -> Connection {
        self.begin_chat_with(body, &[]).await
    }

    /// Works like [`Self::begin_chat`], with more header fields.
    pub(crate) async fn begin_chat_with(&self, body: &Value, headers: &[(&str, &str)]) -> Connection {
        self.begin("/v1/chat/completions", body, headers).await
    }

    /// Sends `POST path` on a new connection, for a test that disconnects before the response.
    pub(crate) async fn begin(&self, path: &str, body: &Value, headers: &[(&str, &str)]) -> Connection {
        let address = self.base.trim_start_matches("http://");
        let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
        let body = body.to_string();
        let length = body.len();
        let more: String = json_fields(headers).iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{more}content-length: {length}\r\n\r\n");
        socket.write_all((head + &body).as_bytes()).await.unwrap();
        Connection { socket }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> reqwest::RequestBuilder {
        let request = self.http.request(method, self.url(path)).body(body.into());
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
    }
}

/// A connection with a sent request.
pub(crate) struct Connection {
    socket: tokio::net::TcpStream,
}

impl Connection {
    /// Disconnects, and waits until the peer has noticed and closed its half.
    pub(crate) async fn leave(mut self) {
        self.socket.shutdown().await.unwrap();
        let mut rest = Vec::new();
        // A reset is equivalent to an orderly end.
        let _ = guarded("waiting for the proxy to notice", self.socket.read_to_end(&mut rest)).await;
        assert!(rest.is_empty(), "an answer came: {}", String::from_utf8_lossy(&rest));
    }
}

fn json_fields<'a>(more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut fields = vec![("content-type", "application/json"), ("authorization", "Bearer sk-client")];
    fields.extend_from_slice(more);
    fields
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// Returns the value of a header field, if present.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    /// Returns the JSON body of a response with status 200.
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// Returns the message of the only choice.
    pub(crate) fn message(&self) -> Value {
        self.ok()["choices"][0]["message"].clone()
    }

    /// Returns the value of `x-callwright-verdict`.
    pub(crate) fn verdict(&self) -> &str {
        self.header("x-callwright-verdict").unwrap_or_else(|| panic!("no verdict: {} {}", self.status, self.text()))
    }

    /// Returns the error object of a response with this status, and checks that it conforms to OpenAI's format.
    pub(crate) fn error(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        let error = self.json()["error"].clone();
        check_error_object(&error);
        error
    }
}

/// Checks the members of an error that OpenAI's clients read: `message`, `type`, `param`, `code`.
pub(crate) fn check_error_object(error: &Value) {
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "no message: {error}");
    assert!(error["type"].is_string(), "no type: {error}");
    for member in ["param", "code"] {
        let value = error.get(member).unwrap_or_else(|| panic!("no {member}: {error}"));
        assert!(value.is_string() || value.is_null(), "{member} is no text: {error}");
    }
}

/// Content of one event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// A JSON object: a chunk or an error.
    Json(Value),
    /// `[DONE]`.
    Done,
}

/// A streamed response, read event by event.
pub(crate) struct Stream {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    response: reqwest::Response,
    buffer: Vec<u8>,
    raw: Vec<u8>,
}

impl Stream {
    /// Returns the value of a header field, if present.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the next event, or `None` at the orderly end of the body.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = end_of_event(&self.buffer) {
                let block: Vec<u8> = self.buffer.drain(..end).collect();
                if let Some(event) = read_event(&block) {
                    return Some(event);
                }
                continue;
            }
            if !self.more().await {
                assert!(self.buffer.is_empty(), "an unfinished event: {}", String::from_utf8_lossy(&self.buffer));
                return None;
            }
        }
    }

    /// Reads further bytes. Returns whether there were any.
    async fn more(&mut self) -> bool {
        let bytes = guarded("waiting for the next event", self.response.chunk()).await.unwrap();
        self.buffer.extend_from_slice(bytes.as_deref().unwrap_or_default());
        self.raw.extend_from_slice(bytes.as_deref().unwrap_or_default());
        bytes.is_some()
    }

    /// Reads until the bytes that are not yet consumed as events contain `text`, without consuming any.
    pub(crate) async fn await_raw(&mut self, text: &str) {
        while memchr::memmem::find(&self.buffer, text.as_bytes()).is_none() {
            assert!(self.more().await, "no {text:?} in {}", self.raw());
        }
    }

    /// Returns the next event, which must be a chunk.
    pub(crate) async fn next_chunk(&mut self) -> Value {
        match self.next().await {
            Some(Event::Json(chunk)) if chunk.get("error").is_none() => chunk,
            other => panic!("no chunk but {other:?}"),
        }
    }

    /// Reads to the end and returns all events.
    pub(crate) async fn rest(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// Reads to the end and assembles the chunks as a client does, with checks of the stream's form.
    pub(crate) async fn assemble(&mut self) -> Assembled {
        let status = self.status;
        let events = self.rest().await;
        assert_eq!(status, 200, "{events:?}");
        Assembled::of_events(&events)
    }

    /// Returns all bytes of the body read so far.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.raw).into_owned()
    }
}

/// Returns the end of the first blank line of `bytes`. Lines end with LF or CRLF.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let ends = memchr::memchr_iter(b'\n', bytes);
    ends.map(|end| end + 1).find(|end| {
        let line = &bytes[..end - 1];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.is_empty() || line.ends_with(b"\n")
    })
}

/// Parses the lines of one event. Returns `None` if none of them has data.
fn read_event(block: &[u8]) -> Option<Event> {
    let text = std::str::from_utf8(block).unwrap();
    let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim_start).collect();
    match data.join("\n").as_str() {
        "" => None,
        "[DONE]" => Some(Event::Done),
        json => Some(Event::Json(serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}")))),
    }
}
