//! One chunk of a streamed answer.

use bytes::Bytes;
use serde_json::Value;

use super::{AnswerError, SseEvent};
use crate::domain::Usage;
use crate::domain::json::RawObject;

/// What an event of the stream is.
#[derive(Debug, Clone)]
pub enum StreamItem {
    /// A `chat.completion.chunk`.
    Chunk(Chunk),
    /// `[DONE]`.
    Done,
    /// An upstream's error object inside the stream: the value of its member `error`.
    Error(Value),
    /// Comments, pings, empty events.
    Other,
}

/// Reads an event.
///
/// # Errors
/// When its data is neither JSON nor `[DONE]`.
pub fn read_item(_event: &SseEvent) -> Result<StreamItem, AnswerError> {
    todo!()
}

/// The members that are the same in every chunk of a stream.
#[derive(Debug, Clone)]
pub struct StreamHead {
    /// `id`.
    pub id: String,
    /// `model`.
    pub model: String,
    /// `created`, in seconds since the Unix epoch.
    pub created: i64,
    /// Other top-level members of the first chunk, such as `system_fingerprint`.
    pub extra: RawObject,
}

/// A `chat.completion.chunk`: its JSON text and what was seen in it.
#[derive(Debug, Clone)]
pub struct Chunk {
    text: String,
}

impl Chunk {
    /// Does it carry a piece of a call?
    pub fn has_calls(&self) -> bool {
        todo!()
    }

    /// Does it carry a finish reason?
    pub fn has_finish(&self) -> bool {
        todo!()
    }

    /// Is its list of choices empty, as in the chunk that carries the usage?
    pub fn is_usage_only(&self) -> bool {
        todo!()
    }

    /// Does it carry a non-empty piece of text or refusal?
    pub fn has_text(&self) -> bool {
        todo!()
    }

    /// `usage`, where it is there and not null.
    pub fn usage(&self) -> Option<Usage> {
        todo!()
    }

    /// What may flow at once: the chunk without pieces of calls and finish reasons; `None` if nothing is left.
    pub fn without_calls_and_finish(&self) -> Option<Chunk> {
        todo!()
    }

    /// Replaces id, model, creation time and the other members of the head that the chunk has.
    pub fn set_head(&mut self, _head: &StreamHead) {
        todo!()
    }

    /// Replaces the token counts; the other members of `usage` stay.
    pub fn set_usage(&mut self, _usage: Usage) {
        todo!()
    }

    /// The chunk as a server-sent event.
    pub fn to_event(&self) -> Bytes {
        let _ = &self.text;
        todo!()
    }
}
