//! Processing of the chunks of a streamed chat completion.

use bytes::{Bytes, BytesMut};

use crate::pipeline::state::Turn;
use callwright_openai::{Assembler, Chunk, Completion, ModelRequest, SseEvent, StreamItem};

use super::forwarding::{BrokenStream, Forwarding, HoldSource, broken};
use super::texts::Texts;

/// Forwards text at once, and holds calls and the end until they are validated.
pub(super) struct ChatFlow<'a> {
    forwarding: Forwarding,
    pub(super) assembler: Assembler,
    pub(super) texts: Texts<'a>,
    /// Whether `[DONE]` was received.
    pub(super) done: bool,
}

impl<'a> ChatFlow<'a> {
    pub(super) fn new(forwarding: Forwarding, turn: &mut Turn, source: HoldSource<'a>) -> Self {
        turn.streamed.verbatim = true;
        let HoldSource { starts, notations, rules, metrics } = source;
        Self {
            forwarding,
            assembler: Assembler::new(turn.max_stream_bytes),
            texts: Texts::new(starts, notations, rules, metrics),
            done: false,
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
                self.take_chunk(turn, chunk, event.raw, out);
            }
            Ok(StreamItem::Done) => {
                self.done = true;
                self.through(&event.raw, out);
            }
            Ok(StreamItem::Error(_)) => return Err(BrokenStream::ErrorEvent(event.raw)),
            Ok(StreamItem::Other) => self.through(&event.raw, out),
            Err(_) if lenient => self.through(&event.raw, out),
            Err(error) => return Err(broken(turn, error)),
        }
        Ok(())
    }

    fn take_chunk(&mut self, turn: &mut Turn, chunk: Chunk, raw: Bytes, out: &mut BytesMut) {
        let is_usage = chunk.is_usage_only() && chunk.usage().is_some();
        if is_usage && turn.streamed.requested_usage {
            return;
        }
        turn.streamed.has_usage_chunk |= is_usage;
        match self.forwarding {
            Forwarding::Through => out.extend_from_slice(&raw),
            Forwarding::Hold => turn.streamed.unsent.push(chunk),
            Forwarding::Text => self.take_text(turn, chunk, raw, out),
        }
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
            None => turn.streamed.held.push(raw),
            // Nothing follows but the end of the stream, so that holding the text costs no time.
            Some(text) if chunk.is_end_of_text() && text.choice_count() == 1 => {
                self.texts.drain(out);
                self.texts.hold_end(&text, &raw);
            }
            Some(flows) => {
                self.texts.drain(out);
                self.texts.divide(&flows, None, out);
                turn.streamed.held.extend(chunk.held().map(|held| held.to_event()));
            }
        }
    }

    /// Forwards comments and the end marker, but only if everything is forwarded.
    pub(super) fn through(&self, raw: &[u8], out: &mut BytesMut) {
        if self.forwarding == Forwarding::Through {
            out.extend_from_slice(raw);
        }
    }

    /// Releases text that was held for too long.
    pub(super) fn expire(&mut self, out: &mut BytesMut) {
        self.texts.expire();
        self.texts.drain(out);
    }

    /// Releases all held text of an aborted stream.
    pub(super) fn give_up(&mut self, out: &mut BytesMut) {
        self.texts.give_up();
        self.texts.drain(out);
    }

    /// Returns the answer, and records the state of its texts.
    pub(super) fn finish(self, turn: &mut Turn, request: &ModelRequest) -> Completion {
        turn.streamed.verbatim &= self.assembler.is_conformant();
        if turn.streamed.has_usage_chunk && request.requests_usage_chunk() {
            turn.upstream.reported_stream_usage();
        }
        if self.forwarding == Forwarding::Text {
            turn.streamed.texts = self.texts.finish(&self.assembler);
        }
        self.assembler.into_completion()
    }
}
