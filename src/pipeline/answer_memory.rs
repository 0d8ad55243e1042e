//! Memory that the answer of one turn holds.

use std::sync::Arc;

use bytes::Bytes;
use callwright_common::limits::BUFFER_BYTES;

use super::memory_limit::{MemoryFull, MemoryLimit, Reservation, held};

/// Memory of an answer: what is read of it and kept until it is judged and has left.
#[derive(Debug)]
pub(crate) struct AnswerMemory {
    /// Number of bytes that may be held.
    granted: usize,
    /// The counted ones of them.
    reservation: Option<Reservation>,
}

impl Default for AnswerMemory {
    /// Grants the bytes that each answer may hold uncounted: most need no more, and are never refused.
    fn default() -> Self {
        Self { granted: BUFFER_BYTES, reservation: None }
    }
}

impl AnswerMemory {
    /// Makes sure that the answer may hold this many bytes. They are released with the answer.
    ///
    /// # Errors
    /// [`MemoryFull`] if all answers together hold too much.
    pub(crate) fn hold(&mut self, bytes: usize, limit: &Arc<MemoryLimit>) -> Result<(), MemoryFull> {
        if bytes <= self.granted { Ok(()) } else { self.grow(bytes, limit) }
    }

    #[cold]
    fn grow(&mut self, bytes: usize, limit: &Arc<MemoryLimit>) -> Result<(), MemoryFull> {
        let granted = bytes.saturating_add(BUFFER_BYTES);
        let reservation = self.reservation.get_or_insert_with(|| limit.reservation());
        reservation.add(granted - self.granted, granted)?;
        self.granted = granted;
        Ok(())
    }

    /// Moves the counted bytes to the body of the answer, which holds them until it has left.
    pub(crate) fn keep(&mut self, body: Bytes) -> Bytes {
        match std::mem::take(self).reservation {
            Some(reservation) => held(body, reservation),
            None => body,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_telemetry::Metrics;

    #[test]
    fn large_answers_count_until_they_have_left_and_small_never() {
        let metrics = Metrics::new();
        let limit = MemoryLimit::new(8 * BUFFER_BYTES, &metrics.answer_bytes);
        let mut small = AnswerMemory::default();
        small.hold(BUFFER_BYTES, &limit).unwrap();
        assert_eq!(metrics.answer_bytes.get(), 0);
        let mut large = AnswerMemory::default();
        large.hold(BUFFER_BYTES + 1, &limit).unwrap();
        let counted = usize::try_from(metrics.answer_bytes.get()).unwrap();
        assert_eq!(counted, BUFFER_BYTES + 1);
        assert_eq!(large.hold(9 * BUFFER_BYTES, &limit), Err(MemoryFull));
        assert_eq!(small.hold(BUFFER_BYTES, &limit), Ok(()), "small answers are never refused");
        let body = large.keep(Bytes::from_static(b"answer"));
        drop(large);
        assert_ne!(metrics.answer_bytes.get(), 0);
        assert_eq!(body, "answer");
        drop(body);
        assert_eq!(metrics.answer_bytes.get(), 0);
    }
}
