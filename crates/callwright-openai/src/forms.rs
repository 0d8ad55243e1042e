//! Selection of the form of a protocol.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};

use crate::completion::Completion;
use crate::error::{AnswerError, ErrorBody, RequestError};
use crate::parts::{AnswerForm, EventWriter, RequestForm, StreamForm};
use crate::request::ModelRequest;
use crate::{emit, messages, responses};
use callwright_types::{Call, Protocol};

impl ModelRequest {
    /// Parses a body.
    ///
    /// # Errors
    /// Fails if it is not a JSON object, or if a field that the proxy uses has an invalid type. The upstream
    /// validates absent and unknown fields.
    pub fn parse(protocol: Protocol, body: Bytes) -> Result<Self, RequestError> {
        Self::read(protocol, request_form(protocol), body)
    }
}

impl Completion {
    /// Parses an answer.
    ///
    /// # Errors
    /// Fails if it is not a JSON object in UTF-8 with an array of choices or parts.
    pub fn parse(protocol: Protocol, body: Bytes) -> Result<Self, AnswerError> {
        Self::parse_in(protocol, answer_form(protocol), body)
    }

    /// Generates an answer with the content `text`.
    pub fn of_text(protocol: Protocol, model: &str, text: &str) -> Self {
        Self::minted_text(protocol, answer_form(protocol), model, text)
    }

    /// Generates an answer with these calls and no content.
    pub fn of_calls(protocol: Protocol, model: &str, calls: &[Call]) -> Self {
        Self::minted_calls(protocol, answer_form(protocol), model, calls)
    }
}

impl ErrorBody {
    /// Returns the JSON text in the form of a protocol, for a response with this status.
    pub fn to_bytes_in(&self, protocol: Protocol, status: StatusCode) -> Bytes {
        match answer_form(protocol) {
            Some(form) => form.error_body(self, status),
            None => self.to_bytes(),
        }
    }
}

/// Returns the request form of a protocol; `None` for chat completions.
pub(crate) fn request_form(protocol: Protocol) -> Option<&'static dyn RequestForm> {
    match protocol {
        Protocol::Chat => None,
        Protocol::Responses => Some(&responses::ResponsesRequest),
        Protocol::Messages => Some(&messages::MessagesRequest),
    }
}

/// Returns the answer form of a protocol; `None` for chat completions.
pub(crate) fn answer_form(protocol: Protocol) -> Option<&'static dyn AnswerForm> {
    match protocol {
        Protocol::Chat => None,
        Protocol::Responses => Some(&responses::ResponsesAnswer),
        Protocol::Messages => Some(&messages::MessagesAnswer),
    }
}

/// Returns the assembly of a streamed answer that is full with `max_bytes` bytes of content; `None` for chat completions,
/// which have an [`Assembler`](crate::Assembler).
pub fn stream_form(protocol: Protocol, max_bytes: usize) -> Option<Box<dyn StreamForm>> {
    match protocol {
        Protocol::Chat => None,
        Protocol::Responses => Some(Box::new(responses::ResponsesAssembly::new(max_bytes))),
        Protocol::Messages => Some(Box::new(messages::MessagesAssembly::new(max_bytes))),
    }
}

/// Returns the writer of a stream's events; `None` for chat completions, whose events [`emit`] writes.
pub fn event_writer(protocol: Protocol) -> Option<Box<dyn EventWriter>> {
    match protocol {
        Protocol::Chat => None,
        Protocol::Responses => Some(Box::new(responses::ResponsesWriter::default())),
        Protocol::Messages => Some(Box::new(messages::MessagesWriter::default())),
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
