//! Processing of the chunks of a streamed chat completion.

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use crate::pipeline::stages::answer::compose_begun;
use crate::pipeline::state::Turn;
use callwright_types::rules::Mode;
use callwright_wire::{Assembler, Chunk, Completion, ModelRequest, SseEvent, StreamItem, emit};

use super::forwarding::{BrokenStream, Forwarding, HoldSource, broken};
use super::passed_end::PassedEnd;
use super::texts::Texts;

/// Forwards text at once, and holds calls and the end until they are validated.
pub(super) struct ChatFlow<'a> {
    forwarding: Forwarding,
    pub(super) assembler: Assembler,
    pub(super) texts: Texts<'a>,
    /// Whether `[DONE]` was received.
    pub(super) done: bool,
    /// End of a stream that passes through but must be well-formed.
    passed_end: Option<PassedEnd>,
    /// Events whose content begins with all content so far.
    doubtful: Vec<SseEvent>,
    /// Number of bytes of the chunks that are held.
    held_bytes: usize,
    /// Whether the client has an event.
    is_open: bool,
}

impl<'a> ChatFlow<'a> {
    pub(super) fn new(
        forwarding: Forwarding,
        turn: &mut Turn,
        assembler: Assembler,
        is_open: bool,
        source: HoldSource<'a>,
    ) -> Self {
        turn.streamed.verbatim = true;
        let HoldSource { starts, rules, metrics, .. } = source;
        let is_guarded = turn.policy.mode == Mode::Guard;
        let is_passed = forwarding == Forwarding::Through && is_guarded && turn.request.choice_count() == 1;
        Self {
            forwarding,
            assembler: if is_guarded { assembler.with_snapshots() } else { assembler },
            texts: Texts::new(starts, rules, metrics),
            done: false,
            passed_end: is_passed.then(PassedEnd::default),
            doubtful: Vec::new(),
            held_bytes: 0,
            is_open,
        }
    }

    pub(super) fn take(
        &mut self,
        turn: &mut Turn,
        event: SseEvent,
        lenient: bool,
        out: &mut BytesMut,
    ) -> Result<(), BrokenStream> {
        if self.done {
            return Ok(());
        }
        match self.assembler.take(&event) {
            Ok(StreamItem::Chunk(chunk)) => {
                turn.streamed.chunks += 1;
                if turn.streamed.head.is_none() {
                    turn.streamed.head = self.assembler.head().cloned();
                }
                let is_rewritten = chunk.is_edited() && turn.policy.mode == Mode::Guard;
                let raw = if is_rewritten { chunk.to_event() } else { event.raw };
                self.take_chunk(turn, chunk, raw, out);
                if self.assembler.is_full() {
                    self.pass_on(turn, out);
                }
            }
            Ok(StreamItem::Repetition) => self.doubtful.push(event),
            Ok(StreamItem::Settled) => {
                self.take_doubtful(turn, lenient, out)?;
                return self.take(turn, event, lenient, out);
            }
            Ok(StreamItem::Done) => {
                self.done = true;
                if let (Some(end), Some(head)) = (self.passed_end.take(), &turn.streamed.head) {
                    end.finish(&self.assembler, head, out);
                }
                self.through(&event.raw, out);
            }
            Ok(StreamItem::Error) => return Err(BrokenStream::ErrorEvent(event.raw)),
            Ok(StreamItem::Other) => self.through(&event.raw, out),
            Err(_) if lenient => self.through(&event.raw, out),
            Err(error) => return Err(broken(turn, error)),
        }
        Ok(())
    }

    /// Takes the events that waited until it was known whether they repeat content.
    fn take_doubtful(&mut self, turn: &mut Turn, lenient: bool, out: &mut BytesMut) -> Result<(), BrokenStream> {
        for event in std::mem::take(&mut self.doubtful) {
            self.take(turn, event, lenient, out)?;
        }
        Ok(())
    }

    /// Takes the events that still wait at the end of the connection.
    pub(super) fn settle(&mut self, turn: &mut Turn, lenient: bool, out: &mut BytesMut) -> Result<(), BrokenStream> {
        if self.assembler.settle() { self.take_doubtful(turn, lenient, out) } else { Ok(()) }
    }

    fn take_chunk(&mut self, turn: &mut Turn, chunk: Chunk, raw: Bytes, out: &mut BytesMut) {
        let is_usage = chunk.is_usage_only() && chunk.usage().is_some();
        if is_usage && turn.streamed.requested_usage {
            return;
        }
        turn.streamed.has_usage_chunk |= is_usage;
        match (self.forwarding, &mut self.passed_end) {
            (Forwarding::Through, Some(end)) => end.take(chunk, raw, &self.assembler, out),
            (Forwarding::Through, None) => out.extend_from_slice(&raw),
            _ if turn.streamed.passed_on => self.pass_chunk(turn, &chunk, raw, out),
            (Forwarding::Hold, _) => {
                if self.has_room(turn, raw.len()) {
                    turn.streamed.unsent.push(chunk);
                }
            }
            (Forwarding::Text, _) => self.take_text(turn, chunk, raw, out),
        }
        self.is_open |= !out.is_empty();
    }

    fn take_text(&mut self, turn: &mut Turn, chunk: Chunk, raw: Bytes, out: &mut BytesMut) {
        let all_flows = self.texts.advance(&self.assembler);
        let is_usage = chunk.is_usage_only() && chunk.usage().is_some();
        if !(is_usage || chunk.is_held()) {
            if all_flows {
                out.extend_from_slice(&raw);
            } else {
                self.texts.drain(out);
                self.texts.divide(&chunk, Some(&raw), out);
            }
            return;
        }
        match chunk.without_held().filter(|_| !is_usage) {
            None => self.hold(turn, raw),
            // Nothing follows but the end of the stream, so that holding the text costs no time.
            Some(text) if chunk.is_end_of_text() && text.choice_count() == 1 => {
                self.texts.drain(out);
                self.texts.hold_end(&text, &raw);
            }
            Some(flows) => {
                self.texts.drain(out);
                self.texts.divide(&flows, None, out);
                if let Some(held) = chunk.held() {
                    self.hold(turn, held.to_event());
                }
            }
        }
    }

    fn hold(&mut self, turn: &mut Turn, event: Bytes) {
        if self.has_room(turn, event.len()) {
            turn.streamed.held.push(event);
        }
    }

    /// Whether a further chunk of this size may be held. The chunks of an answer can be many times as large as its
    /// content: beyond the limit, the content alone is kept, and the answer composed from it.
    fn has_room(&mut self, turn: &mut Turn, bytes: usize) -> bool {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        if self.held_bytes > turn.max_stream_bytes {
            turn.streamed.held.clear();
            turn.streamed.unsent.clear();
            turn.streamed.verbatim = false;
            turn.streamed.is_composed = self.forwarding == Forwarding::Hold;
        }
        self.held_bytes <= turn.max_stream_bytes
    }

    /// Number of bytes of the content and the chunks that are kept.
    pub(super) fn kept_bytes(&self) -> usize {
        self.assembler.kept_bytes() + self.held_bytes
    }

    /// Sends everything so far, because more content than is kept cannot be validated. The rest is forwarded as it comes.
    fn pass_on(&mut self, turn: &mut Turn, out: &mut BytesMut) {
        if self.forwarding == Forwarding::Text {
            turn.streamed.texts = self.texts.finish(&self.assembler);
        }
        let begun = self.assembler.pass();
        turn.streamed.passed_on = true;
        if self.forwarding == Forwarding::Through {
            return;
        }
        compose_begun(turn, &begun, self.is_open, out);
        self.is_open = true;
        turn.streamed.held.clear();
        turn.streamed.unsent.clear();
        turn.streamed.texts.clear();
    }

    /// Forwards a chunk whose content is not kept. Its calls continue those that were composed, and the end follows all
    /// deltas.
    fn pass_chunk(&mut self, turn: &mut Turn, chunk: &Chunk, raw: Bytes, out: &mut BytesMut) {
        let calls = self.assembler.take_passed();
        if chunk.is_usage_only() {
            return turn.streamed.held.push(raw);
        }
        let is_whole = !chunk.has_finish() && !chunk.has_calls();
        if is_whole && self.forwarding == Forwarding::Text {
            return out.extend_from_slice(&raw);
        }
        let Some(head) = &turn.streamed.head else { return };
        // A legacy call is one, and needs no index.
        let rest = if calls.is_empty() { Some(chunk.without_finish()) } else { chunk.without_calls_and_finish() };
        if let Some(mut rest) = rest.and_then(|rest| rest.without_role()) {
            rest.set_head(head);
            out.extend_from_slice(&rest.to_event());
        }
        for (index, elements) in calls {
            out.extend_from_slice(&emit::call_pieces(head, index, &elements));
        }
    }

    /// Forwards comments and the end marker, but only if everything is forwarded.
    pub(super) fn through(&self, raw: &[u8], out: &mut BytesMut) {
        if self.forwarding == Forwarding::Through {
            out.extend_from_slice(raw);
        }
    }

    /// Writes the end of a stream that passes through.
    pub(super) fn end_through(&mut self, out: &mut BytesMut) {
        if let Some(end) = self.passed_end.take() {
            end.give_up(out);
        }
    }

    /// Returns the earliest time at which something that is held expires.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let end = self.passed_end.as_ref().and_then(PassedEnd::deadline);
        self.texts.deadline().into_iter().chain(end).min()
    }

    /// Releases what was held for too long.
    pub(super) fn expire(&mut self, out: &mut BytesMut) {
        if let Some(end) = &mut self.passed_end {
            end.expire(out);
        }
        self.texts.expire();
        self.texts.drain(out);
    }

    /// Releases all held text of an aborted stream.
    pub(super) fn give_up(&mut self, out: &mut BytesMut) {
        self.end_through(out);
        self.texts.give_up();
        self.texts.drain(out);
    }

    /// Returns the answer, and records the state of its texts. Writes the end of an answer that was passed on.
    pub(super) fn finish(mut self, turn: &mut Turn, request: &ModelRequest, out: &mut BytesMut) -> Completion {
        turn.streamed.verbatim &= self.assembler.is_conformant();
        if turn.streamed.has_usage_chunk && request.requests_usage_chunk() {
            turn.upstream.reported_stream_usage();
        }
        if self.forwarding == Forwarding::Text && !turn.streamed.passed_on {
            turn.streamed.texts = self.texts.finish(&self.assembler);
        }
        let completion = self.assembler.into_completion();
        if turn.streamed.passed_on && self.forwarding != Forwarding::Through {
            end_passed(turn, &completion, out);
        }
        completion
    }
}

/// Writes the end of an answer that was passed on.
fn end_passed(turn: &mut Turn, completion: &Completion, out: &mut BytesMut) {
    let Some(head) = &turn.streamed.head else { return };
    for choice in completion.choices() {
        out.extend_from_slice(&emit::finish(head, choice.index, choice.derived_finish_reason()));
    }
    for usage in std::mem::take(&mut turn.streamed.held) {
        out.extend_from_slice(&usage);
    }
    out.extend_from_slice(emit::DONE);
}
