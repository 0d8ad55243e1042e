//! Events of a stream.

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};

use crate::fields::ObjectFields;
use crate::sse::EventData;
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

/// An event with its members.
#[derive(Debug)]
pub(super) struct StreamEvent<'a> {
    /// `type` of the data, or else the `event` line; empty if both are missing.
    pub(super) kind: Cow<'a, str>,
    pub(super) fields: ObjectFields<'a>,
    /// Whether the `event` line has the type of the data. Strict clients skip other events.
    pub(super) is_named: bool,
}

impl<'a> StreamEvent<'a> {
    /// Parses an event; `None` for one without an object.
    pub(super) fn read(event: &'a SseEvent) -> Result<Option<Self>, AnswerError> {
        let EventData::Json(data) = event.data() else { return Ok(None) };
        let fields =
            ObjectFields::parse(data).ok_or_else(|| AnswerError::new("an event of the stream is not a JSON object"))?;
        let name = event.name();
        let kind = fields.string("type");
        let is_named = kind.is_some() && kind.as_deref() == name;
        let kind = match (kind, name) {
            (Some(kind), _) => kind,
            (None, _) if fields.get(ERROR).is_some() => Cow::Borrowed(ERROR),
            (None, name) => Cow::Borrowed(name.unwrap_or_default()),
        };
        Ok(Some(Self { kind, fields, is_named }))
    }

    /// Returns the index of the block that the event belongs to.
    pub(super) fn index(&self) -> Option<u64> {
        self.fields.get_as("index")
    }
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
