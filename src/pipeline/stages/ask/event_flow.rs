//! Processing of the ordered events of a streamed response or message.
//!
//! The events of a later part never precede those of an earlier one, because their indexes follow the order of the parts.
//! So everything behind a held event is held, too.

use bytes::BytesMut;
use tokio::time::Instant;

use crate::pipeline::state::{EventProgress, HeldEvent, SentText, Turn};
use callwright_judge::repair::rescue::hold::Hold;
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::HoldEnd;
use callwright_wire::{Completion, EventRole, SseEvent, StreamForm};

use super::forwarding::{BrokenStream, Forwarding, HoldSource, broken, malformed};
use super::texts::StreamHoldRules;

/// Forwards text and reasoning at once, and holds calls and the end until they are validated. Of a later attempt, it
/// forwards the reasoning at its beginning.
pub(super) struct EventFlow<'a> {
    forwarding: Forwarding,
    /// Whether head and reasoning flow at once. Otherwise they are held until the part behind them begins.
    is_reasoning_live: bool,
    form: Box<dyn StreamForm>,
    gate: Gate,
    hold: Hold<'a>,
    rules: StreamHoldRules,
    metrics: &'a Metrics,
    /// Start time of the current hold of text, and its first byte.
    since: Option<(Instant, usize)>,
    /// Number of bytes of the answer's text that the client has.
    sent: usize,
}

/// Whether held events may flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// Reasoning that is not live waits for the part behind it: a call that is not accepted takes its reasoning with it,
    /// because providers refuse reasoning without the part that it led to.
    Reasoning,
    /// A call began, or the answer ended: the rest waits for the validation.
    Closed,
}

impl<'a> EventFlow<'a> {
    pub(super) fn new(forwarding: Forwarding, form: Box<dyn StreamForm>, source: HoldSource<'a>) -> Self {
        let HoldSource { starts, rules, metrics, is_reasoning_live } = source;
        let hold = Hold::new(starts, rules.hold).with_residue(rules.residue);
        Self { forwarding, is_reasoning_live, form, gate: Gate::Open, hold, rules, metrics, since: None, sent: 0 }
    }

    pub(super) fn take(
        &mut self,
        turn: &mut Turn,
        event: SseEvent,
        lenient: bool,
        out: &mut BytesMut,
    ) -> Result<(), BrokenStream> {
        let role = match self.form.take(&event) {
            Ok(role) => role,
            Err(_) if lenient => EventRole::Other,
            Err(error) => return Err(broken(turn, error)),
        };
        if role == EventRole::Error {
            return Err(BrokenStream::ErrorEvent(event.raw));
        }
        turn.streamed.chunks += u64::from(role != EventRole::Ping);
        let (is_passed_on, max_bytes) = (turn.streamed.passed_on, turn.max_stream_bytes);
        let Some(progress) = &mut turn.streamed.events else { return Ok(()) };
        match (self.forwarding, role) {
            (Forwarding::Through, _) => progress.pass(event, out),
            _ if is_passed_on => progress.pass(event, out),
            // A ping has no place in the order, but it follows the head.
            (Forwarding::Text, EventRole::Ping) if progress.is_begun() => out.extend_from_slice(&event.raw),
            (Forwarding::Text, EventRole::Ping) => progress.hold_ping(event),
            (_, EventRole::Ping) => {}
            (Forwarding::Hold, EventRole::Head | EventRole::Reasoning)
                if self.is_reasoning_live && self.gate == Gate::Open && progress.is_begun() =>
            {
                // The client has a head.
                if role == EventRole::Reasoning && !progress.forward_further(&event, out) {
                    self.gate = Gate::Closed;
                }
            }
            (Forwarding::Hold, _) => {
                self.gate = Gate::Closed;
                progress.hold(HeldEvent { event, text_end: 0, waits: false }, max_bytes);
            }
            (Forwarding::Text, _) => {
                let before = self.hold.seen();
                self.advance(role);
                let text_end = self.hold.seen();
                // White space before a call that is rescued from the text would be a text part of its own, which providers
                // refuse.
                let is_blank = self.form.text().get(before..text_end).is_none_or(|piece| piece.trim().is_empty());
                let waits =
                    (role == EventRole::Head && !self.is_reasoning_live) || (role == EventRole::Text && is_blank);
                progress.hold(HeldEvent { event, text_end, waits }, max_bytes);
                self.drain(progress, out);
            }
        }
        if self.form.is_full() { self.pass_on(turn, out) } else { Ok(()) }
    }

    /// Number of bytes of the content and the events that are kept.
    pub(super) fn kept_bytes(&self, turn: &Turn) -> usize {
        self.form.kept_bytes() + turn.streamed.events.as_ref().map_or(0, EventProgress::held_bytes)
    }

    /// Sends everything so far, because more content than is kept cannot be validated. The rest is forwarded as it comes.
    /// An attempt cannot be continued in the stream of another one, whose indexes differ.
    fn pass_on(&mut self, turn: &mut Turn, out: &mut BytesMut) -> Result<(), BrokenStream> {
        let Some(progress) = &mut turn.streamed.events else { return Ok(()) };
        if self.forwarding == Forwarding::Hold && progress.is_begun() {
            let message = "the repeated answer is longer than pipeline.max_stream_bytes".to_owned();
            return Err(BrokenStream::Upstream(malformed(turn, message)));
        }
        self.form.pass();
        self.hold_ended(HoldEnd::Bytes);
        progress.pass_all(out);
        turn.streamed.passed_on = true;
        Ok(())
    }

    /// Updates gate and hold for the last event.
    fn advance(&mut self, role: EventRole) {
        self.gate = match (self.gate, role) {
            (Gate::Closed, _) | (_, EventRole::Call | EventRole::End) => Gate::Closed,
            (_, EventRole::Reasoning) if !self.is_reasoning_live => Gate::Reasoning,
            (gate, EventRole::Head) => gate,
            _ => Gate::Open,
        };
        if self.form.has_calls() && role == EventRole::Call && self.hold.switch_off() == self.hold.seen() {
            self.hold_ended(HoldEnd::NativeCall);
        }
        let overflows = self.hold.overflows();
        let released = match self.form.text().get(self.hold.seen()..) {
            Some(piece) if !piece.is_empty() => self.hold.push(piece),
            _ => self.hold.released(),
        };
        if self.since.is_some_and(|(_, from)| released > from) {
            self.hold_ended(if self.hold.overflows() > overflows { HoldEnd::Bytes } else { HoldEnd::Text });
        }
        if released < self.hold.seen() {
            self.since.get_or_insert_with(|| (Instant::now(), released));
        }
    }

    fn hold_ended(&mut self, end: HoldEnd) {
        if let Some((since, _)) = self.since.take() {
            self.metrics.stream_holds.inc(end);
            self.metrics.stream_hold.observe(since.elapsed().as_secs_f64());
        }
    }

    fn drain(&mut self, progress: &mut EventProgress, out: &mut BytesMut) {
        if self.gate == Gate::Open
            && let Some(end) = progress.drain(self.hold.released(), out)
        {
            self.sent = end;
        }
    }

    /// Returns the time at which the current hold of text expires.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let since = self.since.filter(|_| self.gate == Gate::Open);
        since.map(|(since, _)| since + self.rules.max_time)
    }

    /// Releases text that was held for too long.
    pub(super) fn expire(&mut self, turn: &mut Turn, out: &mut BytesMut) {
        self.release(HoldEnd::Time, turn, out);
    }

    /// Releases the held text of an aborted stream, up to the first call.
    pub(super) fn give_up(&mut self, turn: &mut Turn, out: &mut BytesMut) {
        self.release(HoldEnd::Text, turn, out);
    }

    fn release(&mut self, end: HoldEnd, turn: &mut Turn, out: &mut BytesMut) {
        self.hold.give_up();
        self.hold_ended(end);
        turn.streamed.events.iter_mut().for_each(|progress| self.drain(progress, out));
    }

    pub(super) fn is_finished(&self) -> bool {
        self.form.is_finished()
    }

    /// Returns the answer, and records the state of its text.
    pub(super) fn finish(mut self, turn: &mut Turn) -> Completion {
        self.hold_ended(HoldEnd::Judged);
        if let Some(progress) = &mut turn.streamed.events {
            progress.ended(self.form.is_conformant());
        }
        if self.forwarding == Forwarding::Text && !turn.streamed.passed_on {
            let text = self.form.text().get(..self.sent).unwrap_or_default().to_owned();
            let sent = SentText { text, released: self.hold.released(), ..SentText::default() };
            turn.streamed.texts.insert(0, sent);
        }
        self.form.into_completion()
    }
}
