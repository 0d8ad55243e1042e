//! The sent and the held events of a stream whose events are ordered (Responses, Messages).

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};

use callwright_types::Protocol;
use callwright_wire::{Completion, DeltaRun, EventWriter, ReasoningPart, SseEvent};

/// The sent and the held events of a turn's stream. The first attempt is forwarded while it arrives. Of later attempts, the
/// reasoning at their beginning is; everything behind it is held.
#[derive(Debug)]
pub(crate) struct EventProgress {
    protocol: Protocol,
    /// The events that the client has.
    writer: Box<dyn EventWriter>,
    /// Number of the last attempt.
    attempt: u32,
    /// Attempts of which the client has events, in order.
    forwarded: Vec<u32>,
    /// Last event of a stream that passes through. Only an error event behind it depends on it.
    passed: Option<SseEvent>,
    held: HeldEvents,
}

/// Events of the last attempt that the client does not have, in order.
#[derive(Debug, Clone, Default)]
struct HeldEvents {
    events: VecDeque<HeldEvent>,
    /// Number of bytes of the events.
    bytes: usize,
    /// Number of bytes beyond which their deltas are merged, if deltas were merged before.
    merged_from: usize,
    /// Whether they end the stream and may be sent as they came.
    are_final: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct HeldEvent {
    pub(crate) event: SseEvent,
    /// Number of bytes of the answer's text up to the end of this event.
    pub(crate) text_end: usize,
    /// Whether it begins or ends a text, or begins a stream whose reasoning is not live. Such an event is sent with the next
    /// other one, so that the client has no text that turns out to be only a call, and an answer of which it has nothing
    /// can be replaced as a whole.
    pub(crate) waits: bool,
}

impl HeldEvents {
    /// Merges deltas of the same part.
    fn merge(&mut self, protocol: Protocol) {
        let mut merged: VecDeque<HeldEvent> = VecDeque::new();
        let mut run: Option<(DeltaRun, HeldEvent)> = None;
        for next in std::mem::take(&mut self.events) {
            if let Some((deltas, last)) = &mut run
                && deltas.push(protocol, &next.event)
            {
                *last = HeldEvent { waits: last.waits && next.waits, ..next };
                continue;
            }
            merged.extend(run.take().map(merged_event));
            match DeltaRun::new(protocol, &next.event) {
                Some(deltas) => run = Some((deltas, next)),
                None => merged.push_back(next),
            }
        }
        merged.extend(run.take().map(merged_event));
        self.events = merged;
        self.bytes = self.events.iter().map(HeldEvent::size).sum();
        // Merging takes time for each event, so it is worth it when their size has doubled.
        self.merged_from = self.bytes.saturating_mul(2);
    }
}

/// Returns the event of a run of deltas, of which this is the last one.
fn merged_event((deltas, last): (DeltaRun, HeldEvent)) -> HeldEvent {
    HeldEvent { event: deltas.into_event(), ..last }
}

impl HeldEvent {
    /// Number of bytes that the event takes.
    fn size(&self) -> usize {
        self.event.raw.len() + self.event.data.as_ref().map_or(0, String::len) + size_of::<Self>()
    }
}

/// Held events of an attempt that may still become the answer.
#[derive(Debug)]
pub(crate) struct EventsAside {
    attempt: u32,
    held: HeldEvents,
}

impl EventProgress {
    /// Creates the progress of a stream of which the client has nothing.
    pub(crate) fn new(protocol: Protocol, writer: Box<dyn EventWriter>) -> Self {
        Self { protocol, writer, attempt: 0, forwarded: Vec::new(), passed: None, held: HeldEvents::default() }
    }

    /// Discards the held events of the previous attempt.
    pub(crate) fn begin_attempt(&mut self) {
        self.attempt += 1;
        self.held = HeldEvents::default();
    }

    /// Discards the held events, because another answer replaces theirs.
    pub(crate) fn replaced(&mut self) {
        self.begin_attempt();
    }

    /// Takes out the held events of the last attempt.
    pub(crate) fn set_aside(&mut self) -> EventsAside {
        EventsAside { attempt: self.attempt, held: std::mem::take(&mut self.held) }
    }

    /// Restores an attempt that was set aside, and discards newer ones.
    pub(crate) fn restore(&mut self, aside: EventsAside) {
        (self.attempt, self.held) = (aside.attempt, aside.held);
    }

    /// Returns the number of the last attempt.
    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    /// States that the answer of this attempt is the last one after all, because a later request failed.
    pub(crate) fn return_to(&mut self, attempt: u32) {
        (self.attempt, self.held) = (attempt, HeldEvents::default());
    }

    /// Returns the last attempt of which the client has events, and the reasoning at their end: the part that it led to
    /// does not follow.
    pub(crate) fn trailing_reasoning(&self) -> Option<(u32, Vec<ReasoningPart>)> {
        self.forwarded.last().map(|attempt| (*attempt, self.writer.trailing_reasoning()))
    }

    /// Returns the id of the answer in the events that the client has.
    pub(crate) fn stream_id(&self) -> Option<&str> {
        self.writer.stream_id()
    }

    /// Whether the client has an event.
    pub(crate) fn is_begun(&self) -> bool {
        !self.forwarded.is_empty()
    }

    fn note_forwarded(&mut self) {
        if self.forwarded.last() != Some(&self.attempt) {
            self.forwarded.push(self.attempt);
        }
    }

    /// Holds an event. Beyond `max_bytes` in total, deltas of the same part are merged.
    pub(crate) fn hold(&mut self, event: HeldEvent, max_bytes: usize) {
        self.held.bytes += event.size();
        self.held.events.push_back(event);
        if self.held.bytes > max_bytes.max(self.held.merged_from) {
            self.held.merge(self.protocol);
        }
    }

    /// Number of bytes of the held events.
    pub(crate) fn held_bytes(&self) -> usize {
        self.held.bytes
    }

    /// Writes all held events as they came, because the answer is not validated. Further ones are passed.
    pub(crate) fn pass_all(&mut self, out: &mut BytesMut) {
        for held in std::mem::take(&mut self.held).events {
            self.pass(held.event, out);
        }
    }

    /// Holds a ping behind the head. One of several equal ones in a row is held, so that a silent upstream fills no memory.
    pub(crate) fn hold_ping(&mut self, event: SseEvent) {
        if let Some(last) = self.held.events.back().filter(|last| last.event.raw != event.raw) {
            let text_end = last.text_end;
            self.hold(HeldEvent { event, text_end, waits: true }, usize::MAX);
        }
    }

    /// Writes an event of a stream that nothing is added to.
    pub(crate) fn pass(&mut self, event: SseEvent, out: &mut BytesMut) {
        if self.passed.is_none() && self.writer.stream_id().is_none() {
            // The head has the id of the answer.
            self.writer.forwarded(&event);
        }
        out.extend_from_slice(&event.raw);
        self.note_forwarded();
        self.passed = Some(event);
    }

    /// Writes an event as it came.
    pub(crate) fn forward(&mut self, event: &SseEvent, out: &mut BytesMut) {
        self.writer.forwarded(event);
        self.note_forwarded();
        out.extend_from_slice(&event.raw);
    }

    /// Writes an event of a later attempt behind those of the earlier ones. Returns whether that is possible.
    pub(crate) fn forward_further(&mut self, event: &SseEvent, out: &mut BytesMut) -> bool {
        if self.forwarded.last() != Some(&self.attempt) {
            self.writer.begin_attempt(out);
            self.note_forwarded();
        }
        self.writer.forward_further(event, out)
    }

    /// Writes the held events up to the end of the released text, whose number of bytes is `released`. Returns the end of
    /// the text of the last event, if one was written.
    pub(crate) fn drain(&mut self, released: usize, out: &mut BytesMut) -> Option<usize> {
        let released = self.held.events.iter().take_while(|held| held.text_end <= released);
        let last = released.enumerate().filter(|(_, held)| !held.waits).map(|(at, _)| at).last()?;
        let mut end = None;
        for _ in 0..=last {
            let Some(held) = self.held.events.pop_front() else { break };
            self.held.bytes = self.held.bytes.saturating_sub(held.size());
            self.forward(&held.event, out);
            end = Some(held.text_end);
        }
        end
    }

    /// States that the last attempt has ended, and whether its events may be sent as they came.
    pub(crate) fn ended(&mut self, is_conformant: bool) {
        // Merged deltas have gaps in their numbers.
        self.held.are_final = is_conformant && self.held.merged_from == 0;
    }

    /// Writes the rest of the stream for this answer: the held events if it is unchanged, else its composed events.
    pub(crate) fn finish(&mut self, answer: &Completion, is_changed: bool, out: &mut BytesMut) {
        // The events of a later attempt have indexes of their own.
        let is_alone = self.forwarded.iter().all(|forwarded| *forwarded == self.attempt);
        let attempt = self.forwarded.iter().position(|forwarded| *forwarded == self.attempt);
        if self.held.are_final && !is_changed && is_alone {
            for held in std::mem::take(&mut self.held.events) {
                self.forward(&held.event, out);
            }
            // Some servers omit the last event.
            self.writer.rest(answer, Some(0), out);
        } else {
            self.writer.rest(answer, attempt, out);
        }
    }

    /// Returns an error response as the last event of the stream.
    pub(crate) fn error(&mut self, body: &[u8], status: StatusCode, headers: &HeaderMap) -> Bytes {
        self.passed.take().into_iter().for_each(|event| self.writer.forwarded(&event));
        let mut out = BytesMut::new();
        self.writer.error(body, status, headers, &mut out);
        out.freeze()
    }
}
