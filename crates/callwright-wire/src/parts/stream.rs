//! Streams.

use std::fmt::Debug;

use bytes::BytesMut;
use http::{HeaderMap, StatusCode};

use crate::{AnswerError, Completion, ReasoningPart, SseEvent};

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
