//! What a scripted server does with a request: whole answers, streams with pauses, and every way to break them.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::watch;

/// What a server does for one request, in steps.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) steps: Vec<Step>,
    /// May the connection serve another request afterwards? Otherwise it is closed.
    pub(crate) keep_alive: bool,
}

/// One step of a reply.
#[derive(Clone)]
pub(crate) enum Step {
    /// These bytes go out, and are flushed.
    Send(Bytes),
    /// Nothing happens until the gate opens.
    Wait(Gate),
    /// These bytes go out again and again, with a pause after each time, until the client goes away.
    Again(Bytes, Duration),
    /// The connection is reset: what follows on the client's side is a connection error, not an end.
    Reset,
    /// Nothing happens until the client goes away.
    Silence,
}

impl Reply {
    /// Exactly these bytes, then the connection is closed.
    pub(crate) fn raw(bytes: impl Into<Bytes>) -> Self {
        Self { steps: vec![Step::Send(bytes.into())], keep_alive: false }
    }

    /// Nothing at all, for as long as the client waits.
    pub(crate) fn silence() -> Self {
        Self { steps: vec![Step::Silence], keep_alive: false }
    }

    /// The connection is reset without an answer.
    pub(crate) fn reset() -> Self {
        Self { steps: vec![Step::Reset], keep_alive: false }
    }

    /// A whole answer with a JSON body.
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::body(status, &[("content-type", "application/json")], body.to_string())
    }

    /// A whole answer with a JSON body in gzip.
    pub(crate) fn gzipped_json(body: &Value) -> Self {
        let fields = [("content-type", "application/json"), ("content-encoding", "gzip")];
        Self::body(200, &fields, gzip(body.to_string().as_bytes()))
    }

    /// A whole answer with any body.
    pub(crate) fn body(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let mut bytes = head(status, headers, &format!("content-length: {}", body.len()));
        bytes.extend_from_slice(&body);
        Self { steps: vec![Step::Send(bytes.into())], keep_alive: true }
    }

    /// The head of an event stream; events follow with [`Self::event`] and end with [`Self::end`].
    pub(crate) fn stream() -> Self {
        Self::stream_with(&[])
    }

    /// Like [`Self::stream`], with more header fields.
    pub(crate) fn stream_with(headers: &[(&str, &str)]) -> Self {
        let mut all = vec![("content-type", "text/event-stream; charset=utf-8")];
        all.extend_from_slice(headers);
        Self { steps: vec![Step::Send(head(200, &all, "transfer-encoding: chunked").into())], keep_alive: true }
    }

    /// A stream of these chunk objects and `[DONE]`, all at once.
    pub(crate) fn events<'a>(chunks: impl IntoIterator<Item = &'a Value>) -> Self {
        chunks.into_iter().fold(Self::stream(), Self::event).done()
    }

    /// The next chunk object of a stream.
    pub(crate) fn event(self, chunk: &Value) -> Self {
        self.piece(format!("data: {chunk}\n\n"))
    }

    /// `data: [DONE]` and the end of the stream.
    pub(crate) fn done(self) -> Self {
        self.piece("data: [DONE]\n\n").end()
    }

    /// Bytes of a stream's body, whatever they are.
    pub(crate) fn piece(mut self, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(&bytes);
        framed.extend_from_slice(b"\r\n");
        self.steps.push(Step::Send(framed.into()));
        self
    }

    /// The proper end of a stream's body.
    pub(crate) fn end(mut self) -> Self {
        self.steps.push(Step::Send(Bytes::from_static(b"0\r\n\r\n")));
        self
    }

    /// A pause until `gate` opens.
    pub(crate) fn wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    /// Silence from here on.
    pub(crate) fn then_silence(mut self) -> Self {
        self.steps.push(Step::Silence);
        self
    }

    /// The same bytes without an end, with a pause after each time.
    pub(crate) fn then_again(mut self, bytes: impl Into<Bytes>, pause: Duration) -> Self {
        self.steps.push(Step::Again(bytes.into(), pause));
        self
    }

    /// A reset from here on.
    pub(crate) fn then_reset(mut self) -> Self {
        self.steps.push(Step::Reset);
        self
    }

    /// A pause until `gate` opens, before the first byte.
    pub(crate) fn after(mut self, gate: &Gate) -> Self {
        self.steps.insert(0, Step::Wait(gate.clone()));
        self
    }

    /// The connection is closed where the steps end, however little was sent.
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

/// A gzip member (RFC 1952) that stores `bytes`, at most 64 KiB, uncompressed.
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

/// Holds a reply back until the test has seen what it wants to see before: order without clocks.
#[derive(Clone)]
pub(crate) struct Gate {
    open: watch::Sender<bool>,
}

impl Gate {
    /// A closed gate.
    pub(crate) fn closed() -> Self {
        Self { open: watch::Sender::new(false) }
    }

    /// Opens the gate for all who wait and will wait.
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }

    pub(crate) async fn opened(&self) {
        // The sender lives as long as the gate, so waiting cannot fail.
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}
