//! End of a chat stream that passes through: one finish reason, behind the last delta.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::time::Instant;

use callwright_wire::{Assembler, Chunk, StreamHead, emit};

/// Maximum wait for more events, or for the end of the connection, after the event that ends an answer.
pub(super) const AFTER_END: Duration = Duration::from_millis(200);

/// Holds a chunk with a finish reason until the next event shows whether it is the last one, or for [`AFTER_END`].
#[derive(Debug, Default)]
pub(super) struct PassedEnd {
    /// The chunk, and its event as it came.
    ending: Option<(Chunk, Bytes)>,
    /// Time at which the chunk is released.
    held_until: Option<Instant>,
}

impl PassedEnd {
    /// Takes the next chunk, which the assembler has.
    pub(super) fn take(&mut self, chunk: Chunk, raw: Bytes, assembler: &Assembler, out: &mut BytesMut) {
        match self.ending.take() {
            Some((ending, _)) if assembler.continues_after_end() && !chunk.is_usage_only() => {
                out.extend_from_slice(&ending.without_finish().to_event());
            }
            Some((_, ending)) => out.extend_from_slice(&ending),
            None => {}
        }
        if chunk.has_finish() {
            self.ending = Some((chunk, raw));
            self.held_until = Some(Instant::now() + AFTER_END);
        } else {
            out.extend_from_slice(&raw);
        }
    }

    /// Returns the time at which the held end is released.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.held_until.filter(|_| self.ending.is_some())
    }

    /// Writes the end if it was held for too long.
    pub(super) fn expire(&mut self, out: &mut BytesMut) {
        if self.deadline().is_some_and(|until| until <= Instant::now())
            && let Some((_, ending)) = self.ending.take()
        {
            out.extend_from_slice(&ending);
        }
    }

    /// Writes the end before the end marker. A missing finish reason is added.
    pub(super) fn finish(self, assembler: &Assembler, head: &StreamHead, out: &mut BytesMut) {
        self.give_up(out);
        for (index, reason) in assembler.unfinished() {
            out.extend_from_slice(&emit::finish(head, index, reason));
        }
    }

    /// Writes what is held.
    pub(super) fn give_up(self, out: &mut BytesMut) {
        if let Some((_, ending)) = self.ending {
            out.extend_from_slice(&ending);
        }
    }
}
