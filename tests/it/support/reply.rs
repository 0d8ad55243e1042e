//! Replies of a scripted server: whole responses, streams with pauses, and every kind of interruption.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::watch;

/// Steps of a server's reply to one request.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) steps: Vec<Step>,
    /// Whether the connection stays open for further requests.
    pub(crate) keep_alive: bool,
}

/// One step of a reply.
#[derive(Clone)]
pub(crate) enum Step {
    /// Sends these bytes, and flushes.
    Send(Bytes),
    /// Waits until the gate opens.
    Wait(Gate),
    /// Sends these bytes repeatedly, with a pause after each time, until the client disconnects.
    Again(Bytes, Duration),
    /// Resets the connection, so that the client gets a connection error instead of an end.
    Reset,
    /// Waits until the client disconnects.
    Silence,
}

impl Reply {
    /// Creates a reply of exactly these bytes, after which the connection is closed.
    pub(crate) fn raw(bytes: impl Into<Bytes>) -> Self {
        Self { steps: vec![Step::Send(bytes.into())], keep_alive: false }
    }

    /// Creates a reply that sends nothing.
    pub(crate) fn silence() -> Self {
        Self { steps: vec![Step::Silence], keep_alive: false }
    }

    /// Creates a reply that resets the connection without a response.
    pub(crate) fn reset() -> Self {
        Self { steps: vec![Step::Reset], keep_alive: false }
    }

    /// Creates a whole response with a JSON body.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::body(status, &[("content-type", "application/json")], body.to_string())
    }

    /// Creates a whole response with a JSON body in gzip.
    pub(crate) fn gzipped_json(body: &Value) -> Self {
        let fields = [("content-type", "application/json"), ("content-encoding", "gzip")];
        Self::body(200, &fields, gzip(body.to_string().as_bytes()))
    }

    /// Creates a whole response with any body.
    pub(crate) fn body(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let mut bytes = head(status, headers, &format!("content-length: {}", body.len()));
        bytes.extend_from_slice(&body);
        Self { steps: vec![Step::Send(bytes.into())], keep_alive: true }
    }

    /// Creates the head of an event stream. Events follow with [`Self::event`] and end with [`Self::end`].
    pub(crate) fn stream() -> Self {
        Self::stream_with(&[])
    }

    /// Works like [`Self::stream`], with more header fields.
    pub(crate) fn stream_with(headers: &[(&str, &str)]) -> Self {
        let mut all = vec![("content-type", "text/event-stream; charset=utf-8")];
        all.extend_from_slice(headers);
        Self { steps: vec![Step::Send(head(200, &all, "transfer-encoding: chunked").into())], keep_alive: true }
    }

    /// Creates a stream of these chunk objects and `[DONE]`, without pauses.
    pub(crate) fn events<'a>(chunks: impl IntoIterator<Item = &'a Value>) -> Self {
        chunks.into_iter().fold(Self::stream(), Self::event).done()
    }

    /// Appends the next chunk object of a stream.
    pub(crate) fn event(self, chunk: &Value) -> Self {
        self.piece(format!("data: {chunk}\n\n"))
    }

    /// Appends `data: [DONE]` and the end of the stream.
    pub(crate) fn done(self) -> Self {
        self.piece("data: [DONE]\n\n").end()
    }

    /// Appends arbitrary bytes of a stream's body.
    pub(crate) fn piece(mut self, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(&bytes);
        framed.extend_from_slice(b"\r\n");
        self.steps.push(Step::Send(framed.into()));
        self
    }

    /// Appends the orderly end of a stream's body.
    pub(crate) fn end(mut self) -> Self {
        self.steps.push(Step::Send(Bytes::from_static(b"0\r\n\r\n")));
        self
    }

    /// Appends a pause until `gate` opens.
    pub(crate) fn wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    /// Appends silence until the client disconnects.
    pub(crate) fn then_silence(mut self) -> Self {
        self.steps.push(Step::Silence);
        self
    }

    /// Appends the same bytes without end, with a pause after each time.
    pub(crate) fn then_again(mut self, bytes: impl Into<Bytes>, pause: Duration) -> Self {
        self.steps.push(Step::Again(bytes.into(), pause));
        self
    }

    /// Appends a reset of the connection.
    pub(crate) fn then_reset(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }

    /// Inserts a pause until `gate` opens before the first byte.
    pub(crate) fn after(mut self, gate: &Gate) -> Self {
        self.steps.insert(0, Step::Wait(gate.clone()));
        self
    }

    /// Closes the connection after the last step, even if the response is incomplete.
    pub(crate) fn then_close(mut self) -> Self {
        self.keep_alive = false;
        self
    }
}

fn head(status: u16, headers: &[(&str, &str)], framing: &str) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Scripted\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    format!("{head}{framing}\r\n\r\n").into_bytes()
}

/// Returns a gzip member (RFC 1952) that stores `bytes`, at most 64 KiB, uncompressed.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let mut member = vec![31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    member.extend_from_slice(&length.to_le_bytes());
    member.extend_from_slice(&(!length).to_le_bytes());
    member.extend_from_slice(bytes);
    let crc = bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    });
    member.extend_from_slice(&(!crc).to_le_bytes());
    member.extend_from_slice(&u32::from(length).to_le_bytes());
    member
}

/// Holds a reply back until the test opens it, which gives an order without clocks.
#[derive(Clone)]
pub(crate) struct Gate {
    open: watch::Sender<bool>,
}

impl Gate {
    /// Creates a closed gate.
    pub(crate) fn closed() -> Self {
        Self { open: watch::Sender::new(false) }
    }

    /// Opens the gate for all current and future waits.
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }

    pub(crate) async fn opened(&self) {
        // The sender lives as long as the gate, so waiting cannot fail.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}
