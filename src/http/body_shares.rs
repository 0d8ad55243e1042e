//! Shares of callers in the memory of large request bodies.
//!
//! Two rules keep the memory usable while someone fills it:
//!
//! - The large bodies of one caller hold at most [`SHARE`] times what all large bodies leave free. With `n` callers at
//!   this limit, `1 / (1 + SHARE * n)` of the memory is free for others ("dynamic threshold", Choudhury and Hahne,
//!   IEEE/ACM Transactions on Networking 6(2), 1998). A caller without another large body only needs room.
//! - A body that finds no room ends unfinished bodies that arrive slowly, those of the caller with the most memory first,
//!   and never those of a caller with less memory than its own.
//!
//! Small bodies are not counted here and pay nothing.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Settings;
use crate::pipeline::{MemoryFull, MemoryLimit};

/// Multiple of the free memory that the bodies of one caller may hold.
const SHARE: usize = 2;

/// Rate in bytes per second below which an unfinished body is slow if others need its memory.
const SLOW_RATE: f64 = 32.0 * 1024.0;

/// Divisor of the read timeout for the time over which that rate is measured: 5 s by default.
const WINDOWS_OF_TIMEOUT: u32 = 6;

/// Time for the release of the memory of bodies that were ended.
const RELEASE_TIME: Duration = Duration::from_secs(1);

/// Address of the client that sends a large body, as an extension of its request.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientAddress(pub(super) IpAddr);

/// A caller: the hash of its virtual key or of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CallerId(u64);

/// Memory of large bodies by caller.
#[derive(Debug)]
pub struct BodyShares {
    limit: usize,
    /// Time over which the rate of an unfinished body is measured.
    window: Duration,
    hasher: RandomState,
    held: Mutex<Held>,
    released: Notify,
}

#[derive(Debug, Default)]
struct Held {
    total: usize,
    callers: HashMap<CallerId, usize>,
    unfinished: Vec<Arc<UnfinishedBody>>,
}

/// A body that has not arrived in full.
#[derive(Debug)]
struct UnfinishedBody {
    caller: CallerId,
    arrival: Mutex<Arrival>,
    ended: CancellationToken,
}

/// Recent arrival of a body's bytes.
#[derive(Debug)]
struct Arrival {
    held: usize,
    window_since: Instant,
    window_bytes: usize,
    /// Whether the last full window was slow.
    was_slow: bool,
}

/// Share of one large body; dropping it releases its memory.
#[derive(Debug)]
pub(super) struct BodyShare {
    shares: Arc<BodyShares>,
    caller: CallerId,
    bytes: usize,
    body: Arc<UnfinishedBody>,
}

impl BodyShares {
    /// Creates the shares of the memory that the settings leave to large bodies.
    pub fn of_settings(settings: &Settings) -> Arc<Self> {
        let window = Duration::from_secs(settings.body_timeout_seconds) / WINDOWS_OF_TIMEOUT;
        Self::new(MemoryLimit::of_large_bodies(settings.body_memory()), window)
    }

    /// Creates shares of this number of bytes. The rate of unfinished bodies is measured over `window`.
    fn new(limit: usize, window: Duration) -> Arc<Self> {
        Arc::new(Self { limit, window, hasher: RandomState::new(), held: Mutex::default(), released: Notify::new() })
    }

    /// Returns the caller with a virtual key, or with an address.
    pub(super) fn caller(&self, key: Option<&str>, address: Option<ClientAddress>) -> CallerId {
        let address = address.map(|address| match address.0 {
            // One client may have all addresses of a network, which the first 64 bits identify.
            IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
            address @ IpAddr::V4(_) => address,
        });
        CallerId(match key {
            Some(key) => self.hasher.hash_one(key),
            None => self.hasher.hash_one(address),
        })
    }

    /// Starts to count a large body.
    pub(super) fn open(self: &Arc<Self>, caller: CallerId) -> BodyShare {
        let arrival = Arrival { held: 0, window_since: Instant::now(), window_bytes: 0, was_slow: false };
        let body = UnfinishedBody { caller, arrival: Mutex::new(arrival), ended: CancellationToken::new() };
        let body = Arc::new(body);
        self.held().unfinished.push(Arc::clone(&body));
        BodyShare { shares: Arc::clone(self), caller, bytes: 0, body }
    }

    /// Ends unfinished bodies that are slow until they release `bytes` for a caller, and waits for a release. Returns whether
    /// any was ended.
    pub(super) async fn make_room(&self, caller: CallerId, bytes: usize) -> bool {
        let released = self.released.notified();
        if !self.end_slow(caller, bytes, Instant::now()) {
            return false;
        }
        let _ = timeout_at(Instant::now() + RELEASE_TIME, released).await;
        true
    }

    fn end_slow(&self, caller: CallerId, bytes: usize, now: Instant) -> bool {
        let held = self.held();
        let own = held.callers.get(&caller).copied().unwrap_or_default();
        let mut slow: Vec<(usize, usize, &UnfinishedBody)> = Vec::new();
        for body in &held.unfinished {
            let arrival = body.arrival();
            let of_caller = held.callers.get(&body.caller).copied().unwrap_or_default();
            if of_caller >= own && arrival.is_slow(now, self.window) && !body.ended.is_cancelled() {
                slow.push((of_caller, arrival.held, body));
            }
        }
        slow.sort_unstable_by_key(|(of_caller, held, _)| (*of_caller, *held));
        let mut freed = 0;
        while freed < bytes
            && let Some((_, held, body)) = slow.pop()
        {
            body.ended.cancel();
            freed += held;
        }
        freed > 0
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnfinishedBody {
    fn arrival(&self) -> MutexGuard<'_, Arrival> {
        self.arrival.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrival {
    fn received(&mut self, bytes: usize, now: Instant, window: Duration) {
        self.window_bytes += bytes;
        if now.duration_since(self.window_since) >= window {
            self.was_slow = self.is_slow(now, window);
            (self.window_since, self.window_bytes) = (now, 0);
        }
    }

    fn is_slow(&self, now: Instant, window: Duration) -> bool {
        let time = now.duration_since(self.window_since);
        if time < window {
            return self.was_slow;
        }
        (self.window_bytes as f64) < SLOW_RATE * time.as_secs_f64()
    }
}

impl BodyShare {
    /// Returns the number of counted bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts `more` bytes.
    ///
    /// # Errors
    /// [`MemoryFull`] if the caller exceeds its share; then nothing is counted.
    pub(super) fn add(&mut self, more: usize) -> Result<(), MemoryFull> {
        let mut held = self.shares.held();
        let total = held.total + more;
        let of_caller = held.callers.entry(self.caller).or_default();
        let is_only = *of_caller == self.bytes;
        if !is_only && *of_caller + more > SHARE * self.shares.limit.saturating_sub(total) {
            return Err(MemoryFull);
        }
        *of_caller += more;
        held.total = total;
        drop(held);
        self.bytes += more;
        self.body.arrival().held = self.bytes;
        Ok(())
    }

    /// Releases `bytes` bytes.
    pub(super) fn release(&mut self, bytes: usize) {
        self.bytes -= bytes;
        let mut held = self.shares.held();
        held.total -= bytes;
        if let Some(of_caller) = held.callers.get_mut(&self.caller) {
            *of_caller -= bytes;
            if *of_caller == 0 {
                held.callers.remove(&self.caller);
            }
        }
    }

    /// Records that bytes have arrived.
    pub(super) fn received(&self, bytes: usize) {
        self.body.arrival().received(bytes, Instant::now(), self.shares.window);
    }

    /// Records that the body has arrived in full, so that it is not ended any more.
    pub(super) fn finish(&self) {
        self.shares.held().unfinished.retain(|body| !Arc::ptr_eq(body, &self.body));
    }

    /// Waits until the body is ended because others need its memory.
    pub(super) async fn ended(&self) {
        self.body.ended.cancelled().await;
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        self.finish();
        self.release(self.bytes);
        self.shares.released.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(5);

    fn shares() -> (Arc<BodyShares>, [CallerId; 3]) {
        let shares = BodyShares::new(1_000, WINDOW);
        let callers = ["a", "b", "c"].map(|key| shares.caller(Some(key), None));
        (shares, callers)
    }

    /// Opens bodies of 10 bytes until one is refused.
    fn filled(shares: &Arc<BodyShares>, caller: CallerId) -> Vec<BodyShare> {
        let mut bodies = Vec::new();
        loop {
            let mut body = shares.open(caller);
            if body.add(10).is_err() {
                return bodies;
            }
            bodies.push(body);
        }
    }

    #[test]
    fn each_caller_leaves_room_for_the_next() {
        let (shares, [first, second, third]) = shares();
        let bodies = filled(&shares, first);
        assert_eq!(bodies.len(), 66, "two thirds");
        let others = filled(&shares, second);
        assert_eq!(others.len(), 22, "two thirds of the rest");
        assert_eq!(filled(&shares, third).len(), 8);
        drop((bodies, others));
        assert_eq!(shares.held().total, 0);
        assert!(shares.held().callers.is_empty() && shares.held().unfinished.is_empty());
        shares.open(first).add(900).unwrap();
    }

    #[test]
    fn addresses_of_one_network_are_one_caller() {
        let (shares, _) = shares();
        let of = |address: &str| shares.caller(None, Some(ClientAddress(address.parse().unwrap())));
        assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    #[test]
    fn slow_bodies_are_ended_for_others_and_fast_ones_are_not() {
        let (shares, [first, second, third]) = shares();
        let mut bodies: Vec<BodyShare> = [first, first, second, third].map(|caller| shares.open(caller)).into();
        for (body, bytes) in bodies.iter_mut().zip([100, 100, 100, 50]) {
            body.add(bytes).unwrap();
        }
        let mut now = Instant::now();
        assert!(!shares.end_slow(third, 100, now), "none is known to be slow");
        for _ in 0..2 {
            now += WINDOW;
            for (body, bytes) in bodies.iter().zip([1_000, 1_000, 1_000, 200 * 1024]) {
                body.body.arrival().received(bytes, now, WINDOW);
            }
        }
        bodies[0].finish();
        let ended = |bodies: &[BodyShare]| bodies.iter().map(|body| body.body.ended.is_cancelled()).collect::<Vec<_>>();
        assert!(shares.end_slow(third, 100, now));
        assert_eq!(ended(&bodies), [false, true, false, false], "the unfinished one of the caller with more memory");
        assert!(!shares.end_slow(first, 1_000, now), "the others hold less");
        assert!(shares.end_slow(third, 1_000, now));
        assert_eq!(ended(&bodies), [false, true, true, false]);
        assert!(!shares.end_slow(third, 1_000, now), "the last one is fast");
        assert!(shares.end_slow(third, 1_000, now + WINDOW), "and is not any more");
    }
}
