//! Limits of the memory that all request bodies, and all answers, may hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use callwright_telemetry::IntGauge;

/// Maximum number of bytes of a small body.
pub(crate) const SMALL_BODY_BYTES: usize = 256 * 1024;

/// Divisor for the share of the memory reserved for small bodies, so that large ones cannot block them.
pub(crate) const PARTS_OF_SMALL_BODIES: usize = 8;

/// Counter of the bytes reserved for bodies of one kind, with its limit.
#[derive(Debug)]
pub struct MemoryLimit {
    /// Maximum number of bytes held.
    pub(crate) limit: usize,
    held: AtomicUsize,
    /// Reports the held bytes.
    gauge: IntGauge,
}

/// Bytes held by one body; dropping it releases them.
#[derive(Debug)]
pub(crate) struct Reservation {
    memory: Arc<MemoryLimit>,
    bytes: usize,
}

/// Returns a body that holds the memory reserved for it until its last reference is dropped.
pub(crate) fn held(body: impl AsRef<[u8]> + Send + 'static, room: impl Send + 'static) -> Bytes {
    Bytes::from_owner(HeldBody { body, _room: room })
}

struct HeldBody<B, R> {
    body: B,
    _room: R,
}

impl<B: AsRef<[u8]>, R> AsRef<[u8]> for HeldBody<B, R> {
    fn as_ref(&self) -> &[u8] {
        self.body.as_ref()
    }
}

/// Error: the memory limit leaves no room for a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryFull;

impl MemoryLimit {
    /// Creates a counter with a limit in bytes, which reports to a metric.
    pub fn new(limit: usize, gauge: &IntGauge) -> Arc<Self> {
        Arc::new(Self { limit, held: AtomicUsize::new(0), gauge: gauge.clone() })
    }

    /// Creates an empty reservation.
    pub(crate) fn reservation(self: &Arc<Self>) -> Reservation {
        Reservation { memory: Arc::clone(self), bytes: 0 }
    }

    /// Whether a body of `size` bytes that needs `cost` bytes fits now.
    pub(crate) fn has_room(&self, cost: usize, size: usize) -> bool {
        self.held.load(Ordering::Relaxed).saturating_add(cost) <= self.ceiling(size)
    }

    /// Returns the limit of all held bytes for bodies that are not small, as a part of `limit`.
    pub(crate) fn of_large_bodies(limit: usize) -> usize {
        limit - limit / PARTS_OF_SMALL_BODIES
    }

    /// Returns the limit of all held bytes after a body has grown to `body` bytes.
    fn ceiling(&self, body: usize) -> usize {
        if body <= SMALL_BODY_BYTES { self.limit } else { Self::of_large_bodies(self.limit) }
    }

    fn measure(&self, change: usize, is_more: bool) {
        let change = i64::try_from(change).unwrap_or(i64::MAX);
        self.gauge.add(if is_more { change } else { -change });
    }
}

impl Reservation {
    /// Reserves `more` bytes for a body that then has `size` bytes.
    ///
    /// # Errors
    /// [`MemoryFull`]; then nothing is reserved.
    pub(crate) fn add(&mut self, more: usize, size: usize) -> Result<(), MemoryFull> {
        let ceiling = self.memory.ceiling(size);
        let reserved = self.memory.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            held.checked_add(more).filter(|held| *held <= ceiling)
        });
        reserved.map_err(|_| MemoryFull)?;
        self.bytes += more;
        self.memory.measure(more, true);
        Ok(())
    }

    /// Releases up to `bytes` bytes.
    pub(crate) fn release(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.memory.held.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.measure(bytes, false);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_telemetry::Metrics;

    const MIB: usize = 1024 * 1024;

    #[test]
    fn what_is_reserved_is_bounded_and_released() {
        let memory = MemoryLimit::new(8 * MIB, &Metrics::new().request_body_bytes);
        let mut large = memory.reservation();
        large.add(7 * MIB, 7 * MIB).unwrap();
        assert_eq!(large.add(1, 7 * MIB + 1), Err(MemoryFull), "the rest is kept for small bodies");
        assert!(!memory.has_room(MIB, MIB) && memory.has_room(SMALL_BODY_BYTES, SMALL_BODY_BYTES));
        let mut small: Vec<Reservation> = (0..4).map(|_| memory.reservation()).collect();
        for reservation in &mut small {
            reservation.add(SMALL_BODY_BYTES, SMALL_BODY_BYTES).unwrap();
        }
        assert_eq!(memory.reservation().add(1, 1), Err(MemoryFull));
        assert_eq!(memory.gauge.get(), 8 * 1024 * 1024);
        large.release(MIB);
        memory.reservation().add(1, 1).unwrap();
        drop((large, small));
        assert_eq!((memory.held.load(Ordering::Relaxed), memory.gauge.get()), (0, 0));
    }
}
