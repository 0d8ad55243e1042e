//! Protocols whose answer is one ordered list of parts: Responses (`output` items) and Messages (`content` blocks).
//!
//! [`RequestForm`], [`AnswerForm`] and [`StreamForm`] are the operations that differ between them. The rest of this
//! crate is written once on top of these. All values are JSON texts that are kept as they came; an implementation
//! changes only what its operation is about.

mod message;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;

use crate::{AnswerError, AssistantMessage, Completion, ErrorBody, KeptPart, MessageView, RequestError, SseEvent};
use crate::{ToolChoice, WrittenToolFields};
use callwright_common::json::RawObject;
use callwright_types::{Call, Protocol, Tool, Usage};

pub(crate) use message::{MAX_PARTS, PartsMessage};

use crate::{emit, messages, responses};

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

/// Returns the assembly of a streamed answer that rejects answers whose events exceed `max_bytes` bytes in total; `None`
/// for chat completions, which have an [`Assembler`](crate::Assembler).
pub fn stream_form(protocol: Protocol, max_bytes: usize) -> Option<Box<dyn StreamForm>> {
    match protocol {
        Protocol::Chat => None,
        Protocol::Responses => Some(Box::new(responses::ResponsesAssembly::new(max_bytes))),
        Protocol::Messages => Some(Box::new(messages::MessagesAssembly::new(max_bytes))),
    }
}

/// Returns the writer of a stream's events; `None` for chat completions, whose events [`emit`](crate::emit) writes.
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

/// Requests of a protocol. `fields` are the members of the client's body; `added` are the elements that the proxy
/// appended to its conversation (`input`, `messages`), in order.
pub(crate) trait RequestForm: Debug + Sync {
    /// Member with the conversation: `input` or `messages`.
    fn conversation_key(&self) -> &'static str;

    /// Checks the types of the members that the proxy reads. The upstream validates all others.
    ///
    /// # Errors
    /// Fails if a member has another type; the error names it.
    fn check(&self, fields: &RawObject) -> Result<(), RequestError>;

    /// Returns the limit of tokens of the answer.
    fn max_answer_tokens(&self, fields: &RawObject) -> Option<u64>;

    /// Whether an answer may have several calls.
    fn parallel_tool_calls(&self, fields: &RawObject) -> bool;

    /// Whether the answer's text must be JSON.
    fn requires_json(&self, fields: &RawObject) -> bool;

    /// Returns which tools the model may or must call.
    fn tool_choice(&self, fields: &RawObject) -> ToolChoice;

    /// Replaces the tool choice; `Auto` removes it. Keeps settings in the same member that are not about the choice.
    fn set_tool_choice(&self, fields: &mut RawObject, choice: &ToolChoice);

    /// Returns the tools that an element of the client's `tools` defines: one function, the functions of a namespace, or
    /// none. Tools that take free text, or have no schema, are marked as free text, so that they are not judged.
    fn read_tools(&self, element: &RawValue) -> Vec<Tool>;

    /// Returns the element of `tools` for a tool of the catalog.
    fn write_tool(&self, tool: WrittenToolFields<'_>) -> Box<RawValue>;

    /// Returns the elements of the client's conversation: a conversation that is one string becomes one element.
    fn elements(&self, fields: &RawObject) -> Vec<Box<RawValue>>;

    /// Returns views of the conversation, in order: system text (`instructions`, `system`), then one view for each
    /// message, result of a call, and run of elements that the model wrote (reasoning, text, calls), which is one view
    /// with role `assistant` and all its calls. A result has role `tool` and the id of its call. Elements of other kinds
    /// have an empty role and no text. `position` of a view is its index in this list.
    fn views<'a>(&self, fields: &'a RawObject, added: &'a [Arc<RawValue>]) -> Vec<MessageView<'a>>;

    /// Returns the client's conversation with a note after the texts of some views, by position: the text keeps its
    /// bytes and stays first. A note never goes before the last `cache_control` breakpoint: the text itself keeps its
    /// block and the note becomes a new block. Positions of views without text are ignored.
    fn with_notes(&self, fields: &RawObject, notes: &BTreeMap<usize, String>) -> Box<RawValue>;

    /// Returns the client's conversation with kept parts put back, by position of the assistant's view: the elements
    /// before it, the calls of the proxy among the client's in the model's order, and the results of the proxy's calls
    /// where the protocol expects them. A missing result becomes `lost`.
    fn rejoined(&self, fields: &RawObject, parts: &BTreeMap<usize, KeptPart>, lost: &str) -> Rejoined;

    /// Appends an answer of the model, unmodified except for generated ids: every part, with reasoning in its place.
    fn push_assistant(&self, added: &mut Vec<Arc<RawValue>>, message: &AssistantMessage);

    /// Appends the result of a call of the last pushed answer. `is_error` marks feedback on a call that was not executed
    /// or that failed. Messages: all results of an answer go into one user message, before any text.
    fn push_result(&self, added: &mut Vec<Arc<RawValue>>, call: &Call, text: &str, is_error: bool);

    /// Appends text of the user; in Messages to the last pushed user message, if that is the last element.
    fn push_user(&self, added: &mut Vec<Arc<RawValue>>, text: &str);

    /// Whether the text of a conversation may contain calls: a search for their type, without parsing.
    fn may_have_calls(&self, conversation: &str) -> bool;
}

/// A conversation into which kept parts were put back.
#[derive(Debug)]
pub(crate) struct Rejoined {
    /// The new value of the conversation member.
    pub(crate) conversation: Box<RawValue>,
    /// New position of each view of the old conversation that is still one view; `None` for a view that was rewritten.
    pub(crate) positions: Vec<Option<usize>>,
}

/// Kind of a part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// Call of a function tool. Missing members are empty; `arguments` is JSON text.
    Call {
        /// The call.
        call: Call,
        /// Whether the part conforms to the API reference: a non-empty id, a name, and arguments of the right type.
        is_well_formed: bool,
    },
    /// Call that is not judged: of a custom tool, a server tool or a typed client tool, for which the client returns a
    /// result. Id, name and input as text, as far as present.
    Unjudged(Call),
    /// Text for the user.
    Text(String),
    /// Reasoning, with its readable text, if any.
    Reasoning(String),
    /// Refusal of the model.
    Refusal(String),
    /// Any other part, such as the call and result of a server tool or a generated image.
    Other,
}

/// Result of an answer's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The answer ends with text.
    Text,
    /// The client is to execute calls.
    Calls,
}

/// Complete answers of a protocol. `fields` are the members of the answer object.
pub(crate) trait AnswerForm: Debug + Sync {
    /// Member with the parts: `output` or `content`.
    fn parts_key(&self) -> &'static str;

    /// Reads a part. `seen` tells whether the tool of this name was offered as a function; a typed client tool has no
    /// schema and is read as a call as well, because its tool is marked as free text.
    fn read_part(&self, part: &RawValue) -> PartKind;

    /// Returns the part of a call: `part` with the call's id, name and arguments, or a new part if it is `None`. Members
    /// that already have the right value keep their text, and so do unknown members. Ids of new parts have the form that
    /// the protocol requires.
    fn with_call(&self, part: Option<&RawValue>, call: &Call) -> Box<RawValue>;

    /// Returns a text part: `part` with its text replaced, or a new part if it is `None`.
    fn with_text(&self, part: Option<&RawValue>, text: &str) -> Box<RawValue>;

    /// Returns why the answer ended, in the words of the protocol: `stop_reason`, or else `status` with the reason of an
    /// incomplete response. `None` if it is absent.
    fn finish_reason(&self, fields: &RawObject) -> Option<String>;

    /// Whether a finish reason marks an incomplete answer: a token limit or a content filter.
    fn is_cut_off(&self, reason: &str) -> bool;

    /// Whether an answer that ended for this reason contradicts calls in it: Messages with `end_turn`.
    fn contradicts_calls(&self, reason: &str) -> bool;

    /// Sets the finish reason, unless the answer was cut off or already ends this way.
    fn set_finish(&self, fields: &mut RawObject, finish: Finish);

    /// Returns the token counts; cached tokens are part of the prompt's tokens in both.
    fn usage(&self, fields: &RawObject) -> Option<Usage>;

    /// Replaces the token counts; other members of `usage` are kept.
    fn set_usage(&self, fields: &mut RawObject, usage: Usage);

    /// Returns a complete answer of the proxy without parts and without usage; its finish reason is that of text.
    fn minted(&self, model: &str) -> RawObject;

    /// Returns the error of an answer with a success status that is an error object or a failed response: a description
    /// that quotes nothing.
    fn failure(&self, fields: &RawObject) -> Option<AnswerError>;

    /// Returns the body of an error response of the proxy for this status.
    fn error_body(&self, error: &ErrorBody, status: StatusCode) -> Bytes;
}

/// Place of an event in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventRole {
    /// Begins the stream, before any part: `response.created`, `response.in_progress`, `message_start`.
    Head,
    /// Begins, continues or ends text that may contain a call.
    Text,
    /// Begins, continues or ends reasoning.
    Reasoning,
    /// Begins, continues or ends a call of the client, judged or not.
    Call,
    /// Belongs to any other part, or is unknown.
    Other,
    /// Ends the answer, or states how it ended: `message_delta`, `message_stop`, `response.completed`,
    /// `response.incomplete`, `[DONE]`.
    End,
    /// Keeps the connection alive: `ping`, comments, empty events. It has no place in the order.
    Ping,
    /// Reports an error: `error`, `response.failed`.
    Error,
}

/// A streamed answer that is being assembled from its events.
pub trait StreamForm: Debug + Send + Sync {
    /// Reads the next event and adds it. Tolerates deviations of servers: events without `event:` line, missing or
    /// repeated indexes, missing `.done` events, arguments only in the final item.
    ///
    /// # Errors
    /// Fails if the data is not a JSON object, or the answer exceeds `max_bytes` or the maximum number of parts.
    fn take(&mut self, event: &SseEvent) -> Result<EventRole, AnswerError>;

    /// Returns the text of all text parts so far, concatenated in the order of the parts. It only grows.
    fn text(&self) -> &str;

    /// Whether there is a call so far.
    fn has_calls(&self) -> bool;

    /// Whether the answer has ended: its finish reason is known.
    fn is_finished(&self) -> bool;

    /// Whether all events so far conform to the API reference, so that they may be forwarded as they came: indexes without
    /// gaps, each part begun and ended once, calls with id and name, `response.completed` with the same parts.
    fn is_conformant(&self) -> bool;

    /// Returns the answer that a non-streamed request would have returned: the object of `response.completed` or
    /// `message_start` with the assembled parts, each with all its members.
    fn into_completion(self: Box<Self>) -> Completion;
}

/// The events of a stream that the client has, and the writer of the others.
pub trait EventWriter: Debug + Send + Sync {
    /// Records an event of the upstream that is forwarded unchanged.
    fn forwarded(&mut self, event: &SseEvent);

    /// Returns the id of the answer in the events that the client has.
    fn stream_id(&self) -> Option<&str> {
        None
    }

    /// Writes all events that the client lacks of `answer`, up to the end of the stream. Indexes continue without gaps,
    /// ids of items stay constant, the id of the stream is that of the head the client has.
    ///
    /// `is_same` states that the forwarded events are of the same attempt: the parts that the client has are the first
    /// parts of `answer`, and the part that is open is completed. Otherwise the open part is ended as it is, all parts of
    /// `answer` follow, and the final object has the parts of both. A text part that begins with all the text that the
    /// client has of earlier attempts is written without that beginning, or left out if nothing remains.
    fn rest(&mut self, answer: &Completion, is_same: bool, out: &mut BytesMut);

    /// Writes an error as the last event, for a stream whose status is sent. `body` is the upstream's or the proxy's
    /// error body, in any form; `headers` may have `retry-after`.
    fn error(&mut self, body: &[u8], status: StatusCode, headers: &HeaderMap, out: &mut BytesMut);
}
