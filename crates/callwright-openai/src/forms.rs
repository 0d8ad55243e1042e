//! Selection of the form of a protocol.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};

use crate::completion::ChatAnswer;
use crate::emit;
use crate::error::ErrorBody;
use crate::messages::{MessagesAnswer, MessagesAssembly, MessagesRequest, MessagesWriter};
use crate::parts::{CompletionForm, EventWriter, RequestForm, StreamForm};
use crate::request::ChatRequest;
use crate::responses::{ResponsesAnswer, ResponsesAssembly, ResponsesRequest, ResponsesWriter};
use callwright_types::Protocol;

impl ErrorBody {
    /// Returns the JSON text in the form of a protocol, for a response with this status.
    pub fn to_bytes_in(&self, protocol: Protocol, status: StatusCode) -> Bytes {
        answer_form(protocol).error_body(self, status)
    }
}

/// Returns the request form of a protocol.
pub(crate) fn request_form(protocol: Protocol) -> &'static dyn RequestForm {
    match protocol {
        Protocol::Chat => &ChatRequest,
        Protocol::Responses => &ResponsesRequest,
        Protocol::Messages => &MessagesRequest,
    }
}

/// Returns the answer form of a protocol.
pub(crate) fn answer_form(protocol: Protocol) -> &'static dyn CompletionForm {
    match protocol {
        Protocol::Chat => &ChatAnswer,
        Protocol::Responses => &ResponsesAnswer,
        Protocol::Messages => &MessagesAnswer,
    }
}

/// Returns the assembly of a streamed answer that is full with `max_bytes` bytes of content; `None` for chat completions,
/// which have an [`Assembler`](crate::Assembler).
pub fn stream_form(protocol: Protocol, max_bytes: usize) -> Option<Box<dyn StreamForm>> {
    match protocol {
        Protocol::Chat => None,
        Protocol::Responses => Some(Box::new(ResponsesAssembly::new(max_bytes))),
        Protocol::Messages => Some(Box::new(MessagesAssembly::new(max_bytes))),
    }
}

/// Returns the writer of a stream's events; `None` for chat completions, whose events [`emit`] writes.
pub fn event_writer(protocol: Protocol) -> Option<Box<dyn EventWriter>> {
    match protocol {
        Protocol::Chat => None,
        Protocol::Responses => Some(Box::new(ResponsesWriter::default())),
        Protocol::Messages => Some(Box::new(MessagesWriter::default())),
    }
}

/// Returns an error response as the last event of a stream of which the client has only the status. `body` is the error's
/// body in any form; `headers` may have `retry-after`.
pub fn late_error(protocol: Protocol, body: &[u8], status: StatusCode, headers: &HeaderMap) -> Bytes {
    match event_writer(protocol) {
        None => emit::late_error(body, status, headers),
        Some(mut writer) => {
            let mut out = BytesMut::new();
            writer.error(body, status, headers, &mut out);
            out.freeze()
        }
    }
}
