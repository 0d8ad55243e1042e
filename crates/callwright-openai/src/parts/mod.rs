//! Operations that differ between the protocols. The rest of this crate is written once on top of these.
//!
//! [`RequestForm`] and [`AnswerForm`] have an implementation for each protocol; [`PartsForm`], [`StreamForm`] and
//! [`EventWriter`] have one for each protocol whose answer is one ordered list of parts: Responses (`output` items) and
//! Messages (`content` blocks). All values are JSON texts that are kept as they came; an implementation changes only the
//! subject of its operation.

mod message;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};
use serde_json::value::RawValue;

use crate::request::{Additions, RequestFields};
use crate::tools::WrittenToolFields;
use crate::{
    AnswerError, AssistantMessage, Choice, Completion, ErrorBody, KeptPart, MessageView, ReasoningPart, RequestError,
    SseEvent, ToolChoice,
};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Protocol, Tool, Usage};
pub(crate) use message::{MAX_PARTS, PartsMessage};

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
    /// Returns why the answer ended, in the words of the protocol: `stop_reason`, or else `status` with the reason of an
    /// incomplete response. `None` if it is absent.
    fn finish_reason(&self, fields: &RawObject) -> Option<String>;

    /// Whether a finish reason marks an incomplete answer: a token limit or a content filter.
    fn is_cut_off(&self, reason: &str) -> bool;

    /// Whether an answer that ended for this reason contradicts the calls in its message: Messages with `end_turn`, with a
    /// word of another protocol, or without a reason.
    fn contradicts_calls(&self, message: &AssistantMessage, reason: Option<&str>) -> bool;

    /// Returns the token counts; cached tokens are part of the prompt's tokens.
    fn usage(&self, fields: &RawObject) -> Option<Usage>;

    /// Replaces the token counts; other members of `usage` are kept.
    fn set_usage(&self, fields: &mut RawObject, usage: Usage);

    /// Returns the body of an error response of the proxy for this status.
    fn error_body(&self, error: &ErrorBody, _status: StatusCode) -> Bytes {
        error.to_bytes()
    }
}

/// Reading and writing of the complete answers of a protocol.
pub(crate) trait CompletionForm: AnswerForm {
    /// Parses an answer.
    ///
    /// # Errors
    /// Fails if it is not an answer, with a description that quotes nothing.
    fn parse(&'static self, body: &Bytes) -> Result<Completion, AnswerError>;

    /// Reads the model's message in an object: of a choice, or an answer that is a list of parts.
    fn read_message(&'static self, fields: RawObject) -> Result<AssistantMessage, AnswerError>;

    /// Returns a complete answer of the proxy without text and calls; its finish reason is that of text.
    fn minted(&'static self, model: &str) -> Completion;

    /// Writes the choices into the answer.
    fn write_choices(&self, fields: &mut RawObject, choices: &[Choice]);
}

/// Complete answers of a protocol that are lists of parts.
pub(crate) trait PartsForm: AnswerForm {
    /// Protocol of the answers.
    fn protocol(&self) -> Protocol;

    /// Member with the parts: `output` or `content`.
    fn parts_key(&self) -> &'static str;

    /// Reads a part. A call of a tool that the provider defines and the client executes is a call as well.
    fn read_part(&self, part: &RawValue) -> PartKind;

    /// Returns the identity of a part of kind [`PartKind::Reasoning`]; `None` if nothing identifies it.
    fn reasoning_part(&self, part: &RawValue) -> Option<ReasoningPart>;

    /// Returns the namespace of the tool that a call names, in a protocol that has such.
    fn namespace(&self, _part: &RawValue) -> Option<String> {
        None
    }

    /// Returns the members that the calls which were divided from one call have in common with it.
    fn members_of_divided(&self) -> &'static [&'static str];

    /// Returns the part of a function's call: `part` with the call's id, name and arguments, or a new part if it is `None`.
    /// Members that already have the right value keep their text, and so do unknown members. Ids of new parts have the form that
    /// the protocol requires.
    fn with_call(&self, part: Option<&RawValue>, call: &Call) -> Box<RawValue>;

    /// Returns the call in a part that is a call of a custom tool: its input is the arguments. `None` for other parts,
    /// and in a protocol without such calls.
    fn custom_call(&self, _part: &RawValue) -> Option<Call> {
        None
    }

    /// Returns the part of a call as a call of a custom tool with this input; `None` in a protocol without such calls.
    fn with_custom_call(&self, _part: &RawValue, _input: &str) -> Option<Box<RawValue>> {
        None
    }

    /// Returns a text part: `part` with its text replaced, or a new part if it is `None`.
    fn with_text(&self, part: Option<&RawValue>, text: &str) -> Box<RawValue>;

    /// Sets the finish reason, unless the answer was cut off or already ends this way.
    fn set_finish(&self, fields: &mut RawObject, finish: Finish);

    /// Returns a complete answer of the proxy without parts and without usage; its finish reason is that of text.
    fn minted_members(&self, model: &str) -> RawObject;

    /// Returns the error of an answer with a success status that is an error object or a failed response: a description
    /// that quotes nothing.
    fn failure(&self, fields: &RawObject) -> Option<AnswerError>;
}

impl<F: PartsForm + 'static> CompletionForm for F {
    fn parse(&'static self, body: &Bytes) -> Result<Completion, AnswerError> {
        Completion::parse_parts(self, body)
    }

    fn read_message(&'static self, fields: RawObject) -> Result<AssistantMessage, AnswerError> {
        PartsMessage::read_message(self, &fields).map(Into::into)
    }

    fn minted(&'static self, model: &str) -> Completion {
        Completion::of_parts(self, self.minted_members(model))
    }

    fn write_choices(&self, fields: &mut RawObject, choices: &[Choice]) {
        choices.iter().for_each(|choice| choice.write_parts(self, fields));
    }
}

/// Requests of a protocol. `fields` are the members of the client's body; `added` is what the proxy appended to it.
pub(crate) trait RequestForm: ConversationForm {
    /// Checks the types of the members that the proxy reads. The upstream validates all others.
    ///
    /// # Errors
    /// Fails if a member has another type; the error names it.
    fn check(&self, fields: &RequestFields) -> Result<(), RequestError>;

    /// Returns the limit of tokens of one choice of the answer.
    fn max_answer_tokens(&self, fields: &RequestFields) -> Option<u64>;

    /// Whether an answer may have several calls.
    fn parallel_tool_calls(&self, fields: &RequestFields) -> bool {
        fields.get_as("parallel_tool_calls").unwrap_or(true)
    }

    /// Whether the answer's text must be JSON.
    fn requires_json(&self, fields: &RequestFields) -> bool;

    /// Returns which tools the model may or must call.
    fn tool_choice(&self, fields: &RequestFields) -> ToolChoice;

    /// Returns the member of the tool choice with its value for another choice; `None` removes it. Settings in the same
    /// member that are not about the choice are kept.
    fn new_tool_choice(&self, fields: &RequestFields, choice: &ToolChoice) -> (&'static str, Option<Box<RawValue>>);

    /// Returns the tools that an element of the client's `tools` defines: one tool, those of a namespace or server as far
    /// as the element names them, or none.
    fn read_tools(&self, element: &RawValue) -> Vec<Tool>;

    /// Returns the element of `tools` for a tool of the catalog; `legacy` selects the form of `functions`.
    fn write_tool(&self, tool: WrittenToolFields<'_>, legacy: bool) -> Box<RawValue>;

    /// Appends an answer of the model, unmodified except for generated ids: every part, with reasoning in its place.
    fn push_assistant(&self, added: &mut Additions, message: &AssistantMessage);

    /// Appends the result of a call of the last pushed answer. `is_error` marks feedback on a call that was not executed
    /// or that failed. Messages: all results of an answer go into one user message, before any text.
    fn push_result(&self, added: &mut Additions, call: &Call, text: &str, is_error: bool);

    /// Appends text of the user; in Messages to the last pushed user message, if that is the last element.
    fn push_user(&self, added: &mut Additions, text: &str);

    /// Returns the members of an answer, objects with an `id`, that the next request must name.
    fn carried(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Conversations of the requests of a protocol.
pub(crate) trait ConversationForm: Debug + Sync {
    /// Member with the conversation: `input` or `messages`.
    fn conversation_key(&self) -> &'static str;

    /// Returns the JSON text of a conversation as a list: one that is a string becomes one element.
    fn as_list<'a>(&self, conversation: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(conversation)
    }

    /// Returns views of the conversation, in order: system text (`instructions`, `system`), then one view for each
    /// message, result of a call, and run of elements that the model wrote (reasoning, text, calls), which is one view
    /// with role `assistant` and all its calls. A result has role `tool` and the id of its call. Elements of other kinds
    /// have an empty role and no text. `position` of a view is its index in this list.
    fn views<'a>(&self, fields: &'a RequestFields, added: &'a [Arc<RawValue>]) -> Vec<MessageView<'a>>;

    /// Returns the client's conversation with a note after the texts of some views, by position: the text keeps its
    /// bytes and stays first. A note never goes before the last `cache_control` breakpoint: the text itself keeps its
    /// block and the note becomes a new block. Positions of views without text are ignored.
    fn with_notes(&self, fields: &RequestFields, notes: &BTreeMap<usize, String>) -> Box<RawValue>;

    /// Returns the client's conversation with kept parts put back, by position of the assistant's view: the elements
    /// before it, the calls of the proxy among the client's in the model's order, and the results of the proxy's calls
    /// where the protocol expects them. A missing result becomes `lost`.
    fn rejoined(&self, fields: &RequestFields, parts: &BTreeMap<usize, KeptPart>, lost: &str) -> Rejoined;

    /// Returns the reasoning in the client's conversation, in order. References to items count, because they may refer to
    /// reasoning.
    fn reasoning(&self, _fields: &RequestFields) -> Vec<ReasoningPart> {
        Vec::new()
    }

    /// Returns the client's conversation without some of its reasoning, by position in [`Self::reasoning`]. All other
    /// parts keep their bytes; an element of which nothing remains is left out.
    fn without_reasoning(&self, fields: &RequestFields, _positions: &BTreeSet<usize>) -> Box<RawValue> {
        fields.get_as(self.conversation_key()).unwrap_or_else(|| raw::<[(); 0]>(&[]))
    }

    /// Returns words of which the text of a conversation with calls has at least one.
    fn call_words(&self) -> &'static [&'static str];
}

/// A conversation into which kept parts were put back.
#[derive(Debug)]
pub(crate) struct Rejoined {
    /// The new value of the conversation member.
    pub(crate) conversation: Box<RawValue>,
    /// New position of each view of the old conversation that is still one view; `None` for a view that was rewritten.
    pub(crate) positions: Vec<Option<usize>>,
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
    /// Fails if the data is not a JSON object, or the answer exceeds the maximum number of parts.
    fn take(&mut self, event: &SseEvent) -> Result<EventRole, AnswerError>;

    /// Number of bytes of the content kept.
    fn kept_bytes(&self) -> usize;

    /// Whether the content kept exceeds the limit.
    fn is_full(&self) -> bool;

    /// Stops keeping content. Further events are read for their role, the end of the answer and its token counts.
    fn pass(&mut self);

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

    /// Begins a further attempt in the same stream: ends the part that is open as it is.
    fn begin_attempt(&mut self, out: &mut BytesMut);

    /// Writes an event of the further attempt with the indexes and numbers of this stream. Returns false, and writes
    /// nothing, if that is impossible: the event belongs to no open part, or begins one with an id that the client has.
    fn forward_further(&mut self, event: &SseEvent, out: &mut BytesMut) -> bool;

    /// Returns the reasoning at the end of what the client has of the last attempt, which the part that it led to does not
    /// follow.
    fn trailing_reasoning(&self) -> Vec<ReasoningPart>;

    /// Writes all events that the client lacks of `answer`, up to the end of the stream. Indexes continue without gaps,
    /// ids of items stay constant, the id of the stream is that of the head the client has.
    ///
    /// `attempt` is the attempt of the answer, from 0 in the order of this stream: the parts that the client has of it are
    /// the first parts of `answer`, and the part that is open is completed. `None` if the client has nothing of it: the
    /// open part is ended as it is, and all parts of `answer` follow. The final object has the parts of all attempts. A
    /// text part that begins with all the text that the client has of earlier attempts is written without that beginning,
    /// or left out if nothing remains.
    fn rest(&mut self, answer: &Completion, attempt: Option<usize>, out: &mut BytesMut);

    /// Writes an error as the last event, for a stream whose status is sent. `body` is the upstream's or the proxy's
    /// error body, in any form; `headers` may have `retry-after`.
    fn error(&mut self, body: &[u8], status: StatusCode, headers: &HeaderMap, out: &mut BytesMut);
}
