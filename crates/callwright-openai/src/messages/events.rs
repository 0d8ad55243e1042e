//! Events of a stream.

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};

use crate::fields::ObjectFields;
use crate::{AnswerError, SseEvent};
use callwright_common::json::RawObject;

/// Type of the event that begins a stream.
pub(super) const MESSAGE_START: &str = "message_start";

/// Type of the event that begins a block.
pub(super) const BLOCK_START: &str = "content_block_start";

/// Type of the event that continues a block.
pub(super) const BLOCK_DELTA: &str = "content_block_delta";

/// Type of the event that ends a block.
pub(super) const BLOCK_STOP: &str = "content_block_stop";

/// Type of the event with the reason of the end and the final token counts.
pub(super) const MESSAGE_DELTA: &str = "message_delta";

/// Type of the event that ends a stream.
pub(super) const MESSAGE_STOP: &str = "message_stop";

/// Type of an event that keeps the connection alive.
pub(super) const PING: &str = "ping";

/// Type of an event that reports an error.
pub(super) const ERROR: &str = "error";

/// Data of an event.
#[derive(Debug)]
pub(super) enum EventData<'a> {
    /// No data: a comment, or an event without a `data` line.
    Empty,
    /// `[DONE]`, which ends streams of other protocols.
    Done,
    /// An event of this protocol.
    Object(StreamEvent<'a>),
}

/// An event with its members.
#[derive(Debug)]
pub(super) struct StreamEvent<'a> {
    /// `type` of the data, or else the `event` line; empty if both are missing.
    pub(super) kind: Cow<'a, str>,
    pub(super) fields: ObjectFields<'a>,
    /// Whether the `event` line has the type of the data. Strict clients skip other events.
    pub(super) is_named: bool,
}

impl<'a> EventData<'a> {
    /// Parses an event.
    pub(super) fn read(event: &'a SseEvent) -> Result<Self, AnswerError> {
        let Some(data) = event.data.as_deref().map(str::trim).filter(|data| !data.is_empty()) else {
            return Ok(Self::Empty);
        };
        if data == "[DONE]" {
            return Ok(Self::Done);
        }
        let fields =
            ObjectFields::parse(data).ok_or_else(|| AnswerError::new("an event of the stream is not a JSON object"))?;
        let name = event_name(&event.raw);
        let kind = fields.string("type");
        let is_named = kind.is_some() && kind.as_deref() == name;
        let kind = match (kind, name) {
            (Some(kind), _) => kind,
            (None, _) if fields.get(ERROR).is_some() => Cow::Borrowed(ERROR),
            (None, name) => Cow::Borrowed(name.unwrap_or_default()),
        };
        Ok(Self::Object(StreamEvent { kind, fields, is_named }))
    }
}

impl StreamEvent<'_> {
    /// Returns the index of the block that the event belongs to.
    pub(super) fn index(&self) -> Option<u64> {
        self.fields.get_as("index")
    }
}

/// Returns the value of the last `event` line.
fn event_name(raw: &[u8]) -> Option<&str> {
    let lines = raw.split(|byte| matches!(byte, b'\n' | b'\r'));
    let name = lines.filter_map(|line| line.strip_prefix(b"event:")).next_back()?;
    std::str::from_utf8(name.strip_prefix(b" ").unwrap_or(name)).ok()
}

/// Writes an event on two lines. Line ends in JSON are white space between values, and become spaces.
pub(crate) fn write_event(kind: &str, data: &RawObject, out: &mut BytesMut) {
    out.put_slice(b"event: ");
    out.put_slice(kind.as_bytes());
    out.put_slice(b"\ndata: ");
    let start = out.len();
    out.put_slice(data.to_raw().get().as_bytes());
    for byte in out.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
    out.put_slice(b"\n\n");
}
