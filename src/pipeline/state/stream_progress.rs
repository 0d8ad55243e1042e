//! The sent and the held parts of a streamed answer.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use bytes::{Bytes, BytesMut};

use callwright_types::Protocol;
use callwright_wire::{Chunk, ReasoningPart, StreamHead, event_writer};

use super::event_progress::{EventProgress, EventsAside};

/// The sent and the held parts of a turn's stream.
#[derive(Debug, Default)]
pub(crate) struct StreamProgress {
    /// Id, model and other head fields of the client's stream, from the first attempt.
    pub(crate) head: Option<StreamHead>,
    /// Text by choice index.
    pub(crate) texts: BTreeMap<u32, SentText>,
    /// Held events of the last attempt, unchanged; they follow the held text.
    pub(crate) held: Vec<Bytes>,
    /// Whether the held events may be sent unchanged if they are valid.
    pub(crate) verbatim: bool,
    /// Chunks of the last attempt, none of which is sent.
    pub(crate) unsent: Vec<Chunk>,
    /// Whether the chunks of the last attempt took too much memory, so that its answer is composed from its content.
    pub(crate) is_composed: bool,
    /// Whether the last attempt was longer than what is kept, so that the client has it without validation.
    pub(crate) passed_on: bool,
    /// Whether the client has the whole last attempt, including `[DONE]`.
    pub(crate) delivered: bool,
    /// Whether the proxy, not the client, requested the usage chunk of the last attempt.
    pub(crate) requested_usage: bool,
    /// Whether the last attempt had a usage chunk for the client.
    pub(crate) has_usage_chunk: bool,
    /// Number of received chunks of the last attempt.
    pub(crate) chunks: u64,
    /// Events for the client that precede all others.
    pub(crate) pending: BytesMut,
    /// Reasoning that the client has of answers that were not accepted, as far as it is stored, with the attempt.
    pub(crate) retracted: Vec<(u32, ReasoningPart)>,
    /// Events of a protocol with ordered events; the other members are those of chat completions, except for the texts.
    pub(crate) events: Option<EventProgress>,
}

impl StreamProgress {
    /// Creates the progress of a stream of which the client has nothing.
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self { events: event_writer(protocol).map(|writer| EventProgress::new(protocol, writer)), ..Self::default() }
    }

    /// Whether a stream of an upstream has begun or was delivered.
    pub(crate) fn is_begun(&self) -> bool {
        self.head.is_some() || self.delivered || self.events.as_ref().is_some_and(EventProgress::is_begun)
    }

    /// Returns the number of text bytes of a choice in the last attempt that may be sent, because no call begins there.
    pub(crate) fn released(&self, index: u32) -> usize {
        self.texts.get(&index).map_or(0, |text| text.released)
    }

    /// Returns the number of the last attempt, in protocols with ordered events.
    pub(crate) fn attempt(&self) -> u32 {
        self.events.as_ref().map_or(0, EventProgress::attempt)
    }

    /// States that the answer of this attempt is the last one after all, because a later request failed.
    pub(crate) fn return_to(&mut self, attempt: u32) {
        self.events.iter_mut().for_each(|progress| progress.return_to(attempt));
    }

    /// Returns the id of the stream that the client has, in protocols with ordered events.
    pub(crate) fn stream_id(&self) -> Option<&str> {
        self.events.as_ref().and_then(EventProgress::stream_id)
    }

    /// Returns the text of a choice that the client has.
    pub(crate) fn sent(&self, index: u32) -> &str {
        self.texts.get(&index).map(|sent| sent.text.as_str()).unwrap_or_default()
    }

    /// Whether text of this choice is held.
    pub(crate) fn holds(&self, index: u32) -> bool {
        self.texts.get(&index).is_some_and(|text| !text.held.is_empty())
    }

    /// Returns the unsent text of a choice whose `spans` were converted to calls. White space alone is not sent, unless
    /// it was released before the calls.
    pub(crate) fn unsaid(&self, index: u32, text: &str, spans: &[Range<usize>]) -> String {
        let known = self.texts.get(&index);
        let sent = known.map(|sent| sent.text.as_str()).unwrap_or_default();
        // A later attempt may begin with the text of an earlier one.
        let mut at = if text.starts_with(sent) { sent.len() } else { 0 };
        let first_call = spans.first().map_or(text.len(), |span| span.start);
        let released = known.map_or(0, |sent| sent.released).min(first_call);
        let mut left = text.get(at..released).unwrap_or_default().to_owned();
        at = at.max(released);
        let flowed = left.len();
        for span in spans {
            left.push_str(text.get(at..span.start).unwrap_or_default());
            at = at.max(span.end);
        }
        left.push_str(text.get(at..).unwrap_or_default());
        if left[flowed..].trim().is_empty() {
            left.truncate(flowed);
        }
        left
    }

    /// States that a plan gave the last answer: no event of the upstream belongs to it, in protocols with ordered events.
    pub(crate) fn planned(&mut self) {
        self.events.iter_mut().for_each(EventProgress::begin_attempt);
    }

    /// Discards all held parts, because the proxy answers with its own text.
    pub(crate) fn replaced(&mut self) {
        self.release_text();
        self.events.iter_mut().for_each(EventProgress::replaced);
        self.held.clear();
        self.unsent.clear();
        for text in self.texts.values_mut() {
            text.held.clear();
        }
    }

    /// Takes out the held parts of the last attempt, which may still become the answer.
    pub(crate) fn set_aside(&mut self) -> StreamAside {
        self.release_text();
        StreamAside {
            held: std::mem::take(&mut self.held),
            unsent: std::mem::take(&mut self.unsent),
            verbatim: self.verbatim,
            is_composed: self.is_composed,
            has_usage_chunk: self.has_usage_chunk,
            texts: self.texts.clone(),
            events: self.events.as_mut().map(EventProgress::set_aside),
        }
    }

    /// Restores the parts that were set aside, and discards newer ones.
    pub(crate) fn restore(&mut self, aside: StreamAside) {
        let StreamAside { held, unsent, verbatim, is_composed, has_usage_chunk, texts, events } = aside;
        if let (Some(progress), Some(events)) = (&mut self.events, events) {
            progress.restore(events);
        }
        (self.held, self.unsent, self.texts) = (held, unsent, texts);
        (self.verbatim, self.is_composed, self.has_usage_chunk) = (verbatim, is_composed, has_usage_chunk);
    }

    /// Discards the held parts of the previous attempt. Returns the pending events.
    pub(crate) fn begin_attempt(&mut self) -> Bytes {
        let pending = self.take_pending();
        self.events.iter_mut().for_each(EventProgress::begin_attempt);
        self.held.clear();
        self.unsent.clear();
        self.verbatim = false;
        self.is_composed = false;
        self.has_usage_chunk = false;
        self.chunks = 0;
        for text in self.texts.values_mut() {
            text.held.clear();
            text.released = 0;
        }
        pending
    }

    /// Returns the events of text that was released but not sent, because its chunk also has the beginning of a
    /// possible call. They are sent before anything else.
    pub(crate) fn take_pending(&mut self) -> Bytes {
        self.release_text();
        self.pending.split().freeze()
    }

    /// Moves the released part of the held text to the pending events.
    fn release_text(&mut self) {
        for text in self.texts.values_mut() {
            // The finish reason of a piece that is sent without it is composed.
            self.verbatim &= !text.write_released(&mut self.pending);
        }
    }
}

/// Held parts of an attempt.
#[derive(Debug)]
pub(crate) struct StreamAside {
    held: Vec<Bytes>,
    unsent: Vec<Chunk>,
    verbatim: bool,
    is_composed: bool,
    has_usage_chunk: bool,
    texts: BTreeMap<u32, SentText>,
    events: Option<EventsAside>,
}

/// A held piece of text.
#[derive(Debug, Clone)]
pub(crate) struct HeldText {
    /// Byte range in the text of its choice.
    pub(crate) range: Range<usize>,
    pub(crate) chunk: Chunk,
    /// The original event, if it contains only this choice.
    pub(crate) event: Option<Bytes>,
    /// Whether the original event also has the finish reason. It is sent only if the whole answer is unchanged.
    pub(crate) finishes: bool,
}

/// State of a choice's text at the end of its stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct SentText {
    /// Text that the client has.
    pub(crate) text: String,
    /// Number of bytes of the last attempt's text that were released as text, not as part of a call.
    pub(crate) released: usize,
    /// Held pieces of the last attempt.
    pub(crate) held: VecDeque<HeldText>,
}

impl SentText {
    /// Writes the released part of the held text. Returns whether that separated a text from its finish reason.
    fn write_released(&mut self, out: &mut BytesMut) -> bool {
        while let Some(held) = self.held.front_mut().filter(|held| held.range.start < self.released) {
            let finishes = held.finishes;
            let piece = match self.released < held.range.end {
                true => held.cut(self.released),
                false => self.held.pop_front().map(|held| held.chunk),
            };
            let Some(piece) = piece else { return false };
            self.text.push_str(&piece.text());
            out.extend_from_slice(&piece.to_event());
            if finishes {
                return true;
            }
        }
        false
    }
}

impl HeldText {
    /// Splits off the part before byte `at` of the choice's text, with the other members of the chunk that may be sent.
    pub(crate) fn cut(&mut self, at: usize) -> Option<Chunk> {
        let (first, rest) = self.chunk.cut_text(at.saturating_sub(self.range.start));
        let first = first?;
        *self =
            Self { range: self.range.start.max(at)..self.range.end, chunk: rest, event: None, finishes: self.finishes };
        Some(first)
    }

    /// Writes the piece without a finish reason, as the original event if possible.
    pub(crate) fn write(&self, out: &mut BytesMut) {
        match &self.event {
            Some(event) if !self.finishes => out.extend_from_slice(event),
            _ => out.extend_from_slice(&self.chunk.to_event()),
        }
    }

    /// Writes the original event, with its finish reason.
    pub(crate) fn write_original(&self, out: &mut BytesMut) {
        match &self.event {
            Some(event) => out.extend_from_slice(event),
            None => out.extend_from_slice(&self.chunk.to_event()),
        }
    }
}
