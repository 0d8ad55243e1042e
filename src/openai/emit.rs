//! Well-formed events of a streamed answer.

use bytes::Bytes;
use serde_json::Value;

use super::{AssistantMessage, ErrorBody, StreamHead};
use crate::domain::{Call, Usage};

/// The event that ends a stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// Keeps a silent connection alive: a comment line without a blank line, which some parsers would take for an empty event.
pub const KEEP_ALIVE: &[u8] = b": ping\n";

/// The first delta of a choice.
pub fn role(_head: &StreamHead, _index: u32) -> Bytes {
    todo!()
}

/// A piece of text.
pub fn text(_head: &StreamHead, _index: u32, _text: &str) -> Bytes {
    todo!()
}

/// Whole calls: for each a delta with index, id and name, and one with the arguments. `first_call_index` is the number of calls
/// that the choice already had on this stream. In the legacy form there is one `function_call`, the first.
pub fn calls(_head: &StreamHead, _index: u32, _first_call_index: usize, _calls: &[Call], _legacy: bool) -> Vec<Bytes> {
    todo!()
}

/// The calls of a message, judged and unjudged, with the unknown fields that they came with (signatures).
pub fn message_calls(
    _head: &StreamHead,
    _index: u32,
    _first_call_index: usize,
    _message: &AssistantMessage,
) -> Vec<Bytes> {
    todo!()
}

/// The finish chunk of a choice.
pub fn finish(_head: &StreamHead, _index: u32, _reason: &str) -> Bytes {
    todo!()
}

/// The usage chunk.
pub fn usage(_head: &StreamHead, _usage: Usage) -> Bytes {
    todo!()
}

/// A chunk without choices that carries the debug object.
pub fn debug(_head: &StreamHead, _debug: &Value) -> Bytes {
    todo!()
}

/// An error inside a stream.
pub fn error(_error: &ErrorBody) -> Bytes {
    todo!()
}
