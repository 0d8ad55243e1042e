//! The texts of a stream's choices: forwards text, and holds text that may be a call.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use crate::pipeline::state::{HeldText, SentText};
use callwright_judge::repair::rescue::hold::{Hold, HoldRules, Starts};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::HoldEnd;
use callwright_wire::{Assembler, Chunk};

/// Maximum number of bytes of sendable text in a chunk that is held with the rest of the chunk. A longer chunk is cut,
/// so that a client waits for at most a few words more; a shorter one leaves unchanged. A token has about four bytes.
const UNCUT_BYTES: usize = 64;

#[derive(Debug, Clone, Copy)]
pub(super) struct StreamHoldRules {
    /// Rules for the text to hold.
    pub(super) hold: HoldRules,
    /// Maximum hold time.
    pub(super) max_time: Duration,
    /// Whether marks that a native call may follow are held.
    pub(super) residue: bool,
}

/// Texts of all choices.
#[derive(Debug)]
pub(super) struct Texts<'a> {
    starts: &'a Starts,
    rules: StreamHoldRules,
    metrics: &'a Metrics,
    /// Boxed, because a node of the map has room for eleven values.
    choices: BTreeMap<u32, Box<ChoiceText<'a>>>,
}

#[derive(Debug)]
struct ChoiceText<'a> {
    hold: Hold<'a>,
    /// Held pieces in order; all bytes before them are sent.
    held: VecDeque<HeldText>,
    /// Start time of the current hold, and its first byte.
    since: Option<(Instant, usize)>,
    /// Number of bytes before the current chunk.
    before: usize,
    calls: bool,
}

impl<'a> Texts<'a> {
    pub(super) fn new(starts: &'a Starts, rules: StreamHoldRules, metrics: &'a Metrics) -> Self {
        Self { starts, rules, metrics, choices: BTreeMap::new() }
    }

    /// Processes the last chunk. Returns whether all text so far may be sent, with the last chunk unchanged.
    pub(super) fn advance(&mut self, assembler: &Assembler) -> bool {
        let mut all_flows = true;
        for (index, text, calls) in assembler.texts() {
            let choice = self.choices.entry(index).or_insert_with(|| {
                let hold = Hold::new(self.starts, self.rules.hold);
                Box::new(ChoiceText::new(hold.with_residue(self.rules.residue)))
            });
            all_flows &= choice.advance(text, calls, self.metrics);
        }
        all_flows
    }

    /// Writes the held text that may be sent now.
    pub(super) fn drain(&mut self, out: &mut BytesMut) {
        self.choices.values_mut().for_each(|choice| choice.drain(out));
    }

    /// Writes the part of the last chunk that may be sent, and holds the rest. `event` is the original event of the
    /// whole chunk.
    pub(super) fn divide(&mut self, chunk: &Chunk, event: Option<&Bytes>, out: &mut BytesMut) {
        let parts = chunk.by_choice();
        let event = event.filter(|_| parts.len() == 1);
        for (index, part) in parts {
            match self.choices.get_mut(&index) {
                Some(choice) => choice.divide(&part, event, out),
                None => out.extend_from_slice(&part.to_event()),
            }
        }
    }

    /// Holds the last chunk, which has the end of a text and the finish reason, until the answer is validated. `text` is
    /// the chunk without its finish reason.
    pub(super) fn hold_end(&mut self, text: &Chunk, event: &Bytes) {
        for (index, chunk) in text.by_choice() {
            if let Some(choice) = self.choices.get_mut(&index) {
                let range = choice.before..choice.hold.seen();
                choice.held.push_back(HeldText { range, chunk, event: Some(event.clone()), finishes: true });
            }
        }
    }

    /// Returns the earliest time at which a hold expires.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.choices.values().filter_map(|choice| choice.since).map(|(since, _)| since + self.rules.max_time).min()
    }

    /// Releases expired holds as text.
    pub(super) fn expire(&mut self) {
        let now = Instant::now();
        for choice in self.choices.values_mut() {
            if choice.since.is_some_and(|(since, _)| since + self.rules.max_time <= now) {
                choice.hold.give_up();
                choice.ended(HoldEnd::Time, self.metrics);
            }
        }
    }

    /// Releases all holds as text: the stream was aborted, so nothing will be validated.
    pub(super) fn give_up(&mut self) {
        for choice in self.choices.values_mut() {
            choice.hold.give_up();
            choice.ended(HoldEnd::Text, self.metrics);
            // The end of the stream is reported by the failure, not by a finish reason.
            for held in choice.held.iter_mut().filter(|held| held.finishes) {
                (held.event, held.finishes) = (None, false);
            }
        }
    }

    /// Returns the state of the texts at the end of the stream, and forgets them.
    pub(super) fn finish(&mut self, assembler: &Assembler) -> BTreeMap<u32, SentText> {
        let mut sent = BTreeMap::new();
        for (index, text, _) in assembler.texts() {
            let Some(mut choice) = self.choices.remove(&index) else { continue };
            choice.ended(HoldEnd::Judged, self.metrics);
            let end = choice.held.front().map_or(text.len(), |held| held.range.start);
            let text = text.get(..end).unwrap_or_default().to_owned();
            sent.insert(index, SentText { text, released: choice.hold.released(), held: choice.held });
        }
        sent
    }
}

impl<'a> ChoiceText<'a> {
    fn new(hold: Hold<'a>) -> Self {
        Self { hold, held: VecDeque::new(), since: None, before: 0, calls: false }
    }

    fn advance(&mut self, text: &str, calls: bool, metrics: &Metrics) -> bool {
        let overflows = self.hold.overflows();
        if calls && !self.calls {
            self.calls = true;
            if self.hold.switch_off() == self.hold.seen() {
                self.ended(HoldEnd::NativeCall, metrics);
            }
        }
        self.before = self.hold.seen();
        let released = match text.get(self.before..) {
            Some(piece) if !piece.is_empty() => {
                self.continues();
                self.hold.push(piece)
            }
            _ => self.hold.released(),
        };
        if self.since.is_some_and(|(_, from)| released > from) {
            self.ended(if self.hold.overflows() > overflows { HoldEnd::Bytes } else { HoldEnd::Text }, metrics);
        }
        if released == self.hold.seen() {
            return self.held.is_empty();
        }
        self.since.get_or_insert_with(|| (Instant::now(), released));
        false
    }

    /// States that text follows: a finish reason before it was not the end.
    fn continues(&mut self) {
        for held in self.held.iter_mut().rev().take_while(|held| held.finishes) {
            (held.event, held.finishes) = (None, false);
        }
    }

    fn ended(&mut self, end: HoldEnd, metrics: &Metrics) {
        if let Some((since, _)) = self.since.take() {
            metrics.stream_holds.inc(end);
            metrics.stream_hold.observe(since.elapsed().as_secs_f64());
        }
    }

    fn drain(&mut self, out: &mut BytesMut) {
        let released = self.hold.released();
        while let Some(held) = self.held.front_mut() {
            if held.finishes {
                return;
            }
            if held.range.end > released {
                if released.saturating_sub(held.range.start) > UNCUT_BYTES
                    && let Some(flows) = held.cut(released)
                {
                    out.extend_from_slice(&flows.to_event());
                }
                return;
            }
            held.write(out);
            self.held.pop_front();
        }
    }

    fn divide(&mut self, chunk: &Chunk, event: Option<&Bytes>, out: &mut BytesMut) {
        let range = self.before..self.hold.seen();
        let flows = if self.held.is_empty() { self.hold.released().saturating_sub(self.before) } else { 0 };
        // Chunks without text, such as reasoning, bypass the held text.
        if range.is_empty() || (self.held.is_empty() && flows >= range.len()) {
            return match event {
                Some(event) => out.extend_from_slice(event),
                None => out.extend_from_slice(&chunk.to_event()),
            };
        }
        let mut held = HeldText { range: range.clone(), chunk: chunk.clone(), event: event.cloned(), finishes: false };
        // Other content, such as reasoning, does not wait for the text.
        if (flows > UNCUT_BYTES || chunk.without_text().is_some())
            && let Some(part) = held.cut(range.start + flows)
        {
            out.extend_from_slice(&part.to_event());
        }
        self.held.push_back(held);
    }
}
