//! Upstream responses: the head is available at once, the body as it arrives.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use futures_util::stream::unfold;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt;
use serde::de::IgnoredAny;
use tokio::time::sleep;

use super::concurrency_limiter::UpstreamPermit;
use super::echo::Echo;
use super::failure::FailureBuilder;
use super::gunzip::{Gunzip, GunzipOutput};
use super::pool::UpstreamBody;
use super::settings::timeout_of;
use super::{Settings, headers};
use callwright_types::{UpstreamFailure, UpstreamFailureKind};

/// The response to one request. Dropping it cancels the rest of the body.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    /// The headers for the client, without hop-by-hop headers. After [`super::Upstream::chat`], also without the stale
    /// `content-length` and `content-encoding`.
    pub headers: HeaderMap,
    /// Whether the headers declare a stream of events. Stored separately because the headers may have been taken.
    is_event_stream: bool,
    body: UpstreamBody,
    /// Decoder of the content encoding of an evaluated response, if it has one.
    gunzip: Option<Gunzip>,
    failures: FailureBuilder,
    /// The operator's keys, which clients must not see.
    echo: Echo,
    /// The end of the received bytes, which may be the beginning of a key.
    held: BytesMut,
    /// The request's slot among the concurrent ones.
    passage: UpstreamPermit,
    idle_timeout: Option<Duration>,
    max_bytes: usize,
    /// Whether the response is evaluated as a whole and limited to `max_bytes`. A stream and a passed-through response
    /// have no size limit.
    bounded: bool,
    received: usize,
}

impl Answer {
    pub(super) fn new(
        response: Response<UpstreamBody>,
        passage: UpstreamPermit,
        failures: &FailureBuilder,
        echo: &Echo,
        settings: &Settings,
        judged: bool,
    ) -> Self {
        let (head, body) = response.into_parts();
        let mut headers = headers::of_answer(&head.headers, !judged);
        echo.strip(&mut headers);
        let is_gzipped = judged && headers.get(CONTENT_ENCODING).is_some_and(|encoding| is_gzip(encoding.as_bytes()));
        if is_gzipped {
            headers.remove(CONTENT_ENCODING);
            headers.remove(CONTENT_LENGTH);
        }
        let is_event_stream = is_event_stream(&headers);
        if is_event_stream {
            // A stream may stay open for minutes.
            headers::detach(&mut headers);
        }
        Self {
            status: head.status,
            is_event_stream,
            headers,
            body,
            gunzip: is_gzipped.then(Gunzip::new),
            failures: failures.clone(),
            echo: echo.clone(),
            held: BytesMut::new(),
            passage,
            idle_timeout: timeout_of(settings.idle_timeout_seconds),
            max_bytes: settings.max_answer_bytes,
            bounded: judged && !is_event_stream,
            received: 0,
        }
    }

    /// Whether the body is a stream of server-sent events.
    pub fn is_event_stream(&self) -> bool {
        self.is_event_stream
    }

    /// Returns the provider's `x-request-id`.
    pub fn request_id(&self) -> Option<&str> {
        self.headers.get("x-request-id")?.to_str().ok()
    }

    /// Returns the rest of the body.
    ///
    /// # Errors
    /// If the body breaks off, stalls or exceeds the size limit.
    pub async fn whole(&mut self) -> Result<Bytes, UpstreamFailure> {
        self.bounded = true;
        let body = self.rest().await?;
        Ok(self.echo.mask(body))
    }

    async fn rest(&mut self) -> Result<Bytes, UpstreamFailure> {
        let Some(first) = self.next_decoded().await.transpose()? else { return Ok(Bytes::new()) };
        let Some(second) = self.next_decoded().await.transpose()? else { return Ok(first) };
        let mut body = BytesMut::from(first);
        body.extend_from_slice(&second);
        while let Some(piece) = self.next_decoded().await.transpose()? {
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    /// Returns the whole body after checking that it is JSON.
    ///
    /// # Errors
    /// As for [`Answer::whole`], and if the body is not JSON.
    pub async fn whole_json(&mut self) -> Result<Bytes, UpstreamFailure> {
        let body = self.whole().await?;
        match serde_json::from_slice::<IgnoredAny>(&body) {
            Ok(_) => Ok(body),
            Err(error) => {
                Err(self.failures.failure(UpstreamFailureKind::Malformed, format!("the answer is not JSON: {error}")))
            }
        }
    }

    /// Returns the next chunk of the body; `None` at its end. Keys are masked. In an event stream each chunk is passed
    /// on at once, so a key that is split between chunks is not detected.
    pub async fn next(&mut self) -> Option<Result<Bytes, UpstreamFailure>> {
        if self.echo.is_empty() || self.is_event_stream() {
            return Some(self.next_decoded().await?.map(|piece| self.echo.mask(piece)));
        }
        loop {
            match self.next_decoded().await {
                Some(Ok(piece)) => self.held.extend_from_slice(&piece),
                Some(Err(failure)) => return Some(Err(failure)),
                None if self.held.is_empty() => return None,
                None => return Some(Ok(self.echo.mask(self.held.split().freeze()))),
            }
            let whole = self.echo.mask(self.held.split().freeze());
            let ready = whole.len().saturating_sub(self.echo.longest() - 1);
            self.held.extend_from_slice(&whole.slice(ready..));
            if ready > 0 {
                return Some(Ok(whole.slice(..ready)));
            }
        }
    }

    async fn next_decoded(&mut self) -> Option<Result<Bytes, UpstreamFailure>> {
        loop {
            let piece = match self.next_as_sent().await {
                Some(Ok(piece)) => piece,
                Some(Err(failure)) => return Some(Err(failure)),
                None => return self.gunzip.take()?.end().err().map(|error| Err(self.failures.of_encoding(&error))),
            };
            let room = if self.bounded { self.max_bytes.saturating_sub(self.received) } else { self.max_bytes };
            let piece = match self.gunzip.as_mut().map(|gunzip| gunzip.push(&piece, room)) {
                None => piece,
                Some(Ok(GunzipOutput::Bytes(piece))) => piece,
                Some(Ok(GunzipOutput::TooLong)) => return Some(Err(self.too_long())),
                Some(Err(error)) => return Some(Err(self.failures.of_encoding(&error))),
            };
            self.received = self.received.saturating_add(piece.len());
            if self.bounded && self.received > self.max_bytes {
                return Some(Err(self.too_long()));
            }
            if !piece.is_empty() {
                return Some(Ok(piece));
            }
        }
    }

    async fn next_as_sent(&mut self) -> Option<Result<Bytes, UpstreamFailure>> {
        loop {
            return match within(self.idle_timeout, self.body.frame()).await {
                Some(Some(Ok(frame))) => match frame.into_data() {
                    Ok(piece) => Some(Ok(piece)),
                    Err(_trailers) => continue,
                },
                Some(Some(Err(error))) => {
                    self.passage.failed();
                    Some(Err(self.failures.of_body(&error)))
                }
                Some(None) => None,
                None => {
                    self.passage.failed();
                    Some(Err(self.silence()))
                }
            };
        }
    }

    /// Converts the body to a stream for forwarding. It ends after the first failure.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, UpstreamFailure>> + Send {
        unfold(Some(self), |answer| async {
            let mut answer = answer?;
            let piece = answer.next().await?;
            let rest = piece.is_ok().then_some(answer);
            Some((piece, rest))
        })
    }

    /// Returns a failure if the body has an unsupported content encoding.
    pub(super) fn undecodable(&self) -> Option<UpstreamFailure> {
        let encoding = self.headers.get(CONTENT_ENCODING).filter(|encoding| *encoding != "identity")?;
        let message = format!("the answer has the content encoding {encoding:?} although identity was requested");
        Some(self.failures.failure(UpstreamFailureKind::Malformed, message))
    }

    fn silence(&self) -> UpstreamFailure {
        let seconds = self.idle_timeout.map_or(0, |timeout| timeout.as_secs());
        let message = format!("no data for {seconds} s in the middle of the answer (idle_timeout_seconds)");
        self.failures.failure(UpstreamFailureKind::Timeout, message)
    }

    fn too_long(&self) -> UpstreamFailure {
        let message = format!("the answer is longer than {} bytes (max_answer_bytes)", self.max_bytes);
        self.failures.failure(UpstreamFailureKind::Malformed, message)
    }
}

/// Returns the output of `future`, or `None` after `limit`, if there is one. The timer is only created if the future is
/// pending: most chunks are available at once.
async fn within<F: Future>(limit: Option<Duration>, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut patience = pin!(None);
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        if patience.is_none() {
            patience.set(limit.map(sleep));
        }
        match patience.as_mut().as_pin_mut() {
            Some(patience) => patience.poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}

/// Whether the content coding is gzip (RFC 9110, section 8.4.1.3).
fn is_gzip(encoding: &[u8]) -> bool {
    encoding.eq_ignore_ascii_case(b"gzip") || encoding.eq_ignore_ascii_case(b"x-gzip")
}

fn is_event_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use http::{HeaderMap, Method};

    use super::*;
    use crate::Upstream;
    use crate::test_server::{Step, TestServer};

    /// `{"choices":[]}`, gzipped.
    const GZIPPED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x4a\xce\xc8\xcf\x4c\x4e\x2d\x56\xb2\x8a\x8e\xad\x05\x00\x4b\x9e\xba\xad\x0e\x00\x00\x00";

    fn upstream(server: &TestServer, max_answer_bytes: usize) -> Upstream {
        let base_url = server.base_url();
        let settings = Settings { base_url, idle_timeout_seconds: 1, max_answer_bytes, ..Settings::default() };
        Upstream::build("u", &settings, true).unwrap()
    }

    async fn judged(server: &TestServer, max_answer_bytes: usize) -> Answer {
        upstream(server, max_answer_bytes).chat(Bytes::from_static(b"{}"), &HeaderMap::new()).await.unwrap()
    }

    async fn passed(server: &TestServer, max_answer_bytes: usize) -> Answer {
        let upstream = upstream(server, max_answer_bytes);
        upstream.forward(Method::GET, "/files/x", &HeaderMap::new(), "".into()).await.unwrap()
    }

    /// Sends a head that promises more than the body, then continues with `step`.
    async fn breaking(step: Step) -> TestServer {
        let head =
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
        TestServer::start(vec![Step::Write([&head[..], b"5\r\nhello\r\n"].concat()), step]).await
    }

    async fn failure_after_hello(step: Step) -> UpstreamFailure {
        let server = breaking(step).await;
        let mut answer = judged(&server, 100).await;
        assert!(answer.is_event_stream());
        assert_eq!(answer.next().await.unwrap().unwrap(), "hello");
        answer.next().await.unwrap().unwrap_err()
    }

    #[tokio::test]
    async fn an_event_is_passed_on_at_once_whoever_has_taken_the_fields() {
        const EVENT: &str = "data: {}\n\n";
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
        let begun = format!("{head}{:x}\r\n{EVENT}\r\n", EVENT.len());
        let server = TestServer::start(vec![Step::Write(begun.into_bytes()), Step::Silence]).await;
        let settings =
            Settings { base_url: server.base_url(), api_key: "sk-0123456789abcdef".into(), ..Settings::default() };
        let upstream = Upstream::build("u", &settings, true).unwrap();
        let mut answer = upstream.forward(Method::GET, "/x", &HeaderMap::new(), "".into()).await.unwrap();
        drop(std::mem::take(&mut answer.headers));
        assert_eq!(answer.next().await.unwrap().unwrap(), EVENT);
    }

    #[tokio::test]
    async fn a_key_that_is_repeated_in_pieces_is_not_passed_on() {
        const KEY: &str = "sk-0123456789abcdef";
        let text = format!("before {KEY} after");
        for cut in 1..text.len() {
            let (one, two) = text.split_at(cut);
            let chunk = |piece: &str| format!("{:x}\r\n{piece}\r\n", piece.len());
            let head = "HTTP/1.1 401 No\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";
            let body = [head, &chunk(one)].concat();
            let steps =
                vec![Step::Write(body.into_bytes()), Step::Write(format!("{}0\r\n\r\n", chunk(two)).into_bytes())];
            let server = TestServer::start(steps).await;
            let settings = Settings { base_url: server.base_url(), api_key: KEY.into(), ..Settings::default() };
            let upstream = Upstream::build("u", &settings, true).unwrap();
            let answer = upstream.forward(Method::GET, "/x", &HeaderMap::new(), "".into()).await.unwrap();
            let pieces: Vec<Bytes> = answer.into_stream().map(Result::unwrap).collect().await;
            assert_eq!(pieces.concat(), format!("before {} after", "*".repeat(KEY.len())).as_bytes(), "cut at {cut}");
        }
    }

    #[tokio::test]
    async fn a_reset_in_mid_body_is_a_reset() {
        let failure = failure_after_hello(Step::Reset).await;
        assert_eq!((failure.kind, failure.upstream.as_str()), (UpstreamFailureKind::Reset, "u"), "{failure}");
    }

    #[tokio::test]
    async fn an_end_before_the_promised_end_is_a_reset() {
        let failure = failure_after_hello(Step::Write(Vec::new())).await;
        assert_eq!(failure.kind, UpstreamFailureKind::Reset, "{failure}");
        let server = TestServer::answering("200 OK\r\ncontent-length: 10", b"short").await;
        let failure = judged(&server, 100).await.whole().await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Reset, "{failure}");
    }

    #[tokio::test]
    async fn silence_in_mid_body_is_a_timeout() {
        let failure = failure_after_hello(Step::Silence).await;
        assert_eq!(failure.kind, UpstreamFailureKind::Timeout, "{failure}");
    }

    #[tokio::test]
    async fn dropping_an_answer_cancels_the_request() {
        let server = breaking(Step::Silence).await;
        let mut answer = judged(&server, 100).await;
        assert_eq!(answer.next().await.unwrap().unwrap(), "hello");
        drop(answer);
        server.client_left().await;
    }

    #[tokio::test]
    async fn an_overlong_answer_is_refused_if_judged_or_read_whole() {
        let server = TestServer::answering("200 OK\r\ncontent-length: 11", b"hello world").await;
        assert_eq!(judged(&server, 11).await.whole().await.unwrap(), "hello world");
        let failure = judged(&server, 10).await.whole().await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Malformed, "{failure}");
        assert_eq!(passed(&server, 10).await.whole().await.unwrap_err().kind, UpstreamFailureKind::Malformed);
        let pieces: Vec<_> = passed(&server, 10).await.into_stream().collect().await;
        assert_eq!(pieces.into_iter().collect::<Result<Vec<_>, _>>().unwrap().concat(), b"hello world");
    }

    #[tokio::test]
    async fn gzip_is_passed_through_as_it_comes() {
        let head = format!("200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}", GZIPPED.len());
        let server = TestServer::answering(&head, GZIPPED).await;
        let mut answer = passed(&server, 1000).await;
        assert_eq!(answer.headers["content-encoding"], "gzip");
        assert_eq!(answer.headers["content-length"], "34");
        assert_eq!(answer.whole().await.unwrap(), GZIPPED);
    }

    #[tokio::test]
    async fn gzip_is_undone_where_the_answer_is_judged() {
        let head = format!("200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}", GZIPPED.len());
        let server = TestServer::answering(&head, GZIPPED).await;
        let mut answer = judged(&server, 1000).await;
        assert!(!answer.headers.contains_key("content-encoding") && !answer.headers.contains_key("content-length"));
        assert_eq!(answer.whole().await.unwrap(), r#"{"choices":[]}"#);
        let failure = judged(&server, 10).await.whole().await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Malformed, "decoded bytes count: {failure}");
    }

    #[tokio::test]
    async fn broken_gzip_is_malformed() {
        let server = TestServer::answering("200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9", b"no gzip !").await;
        let failure = judged(&server, 1000).await.whole().await.unwrap_err();
        assert_eq!(failure.kind, UpstreamFailureKind::Malformed, "{failure}");
    }

    #[tokio::test]
    async fn a_stream_ends_after_its_first_failure() {
        let server = breaking(Step::Reset).await;
        let pieces: Vec<_> = judged(&server, 100).await.into_stream().collect().await;
        assert!(matches!(pieces.as_slice(), [Ok(_), Err(_)]), "{pieces:?}");
    }

    #[tokio::test]
    async fn an_empty_body_is_empty() {
        let server = TestServer::answering("200 OK\r\ncontent-length: 0", b"").await;
        let mut answer = judged(&server, 0).await;
        assert!(!answer.is_event_stream() && answer.request_id().is_none());
        assert_eq!(answer.whole().await.unwrap(), "");
    }
}
