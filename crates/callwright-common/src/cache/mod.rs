//! Caches bounded in bytes of memory rather than in entries, because clients control the size of an entry.
//!
//! Owns eviction by size and by idle time, and the rule that large items are not cached at first sight. Must not depend
//! on the cached types or on the metrics.

mod first_sight;

use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ahash::RandomState;
use indexmap::Equivalent;
use moka::sync::Cache;

pub use first_sight::FirstSight;

/// Time without access after which an entry is evicted.
pub const IDLE: Duration = Duration::from_secs(60 * 60);

/// Memory overhead per entry in bytes, besides its key and value: hash table, access order and counters.
const ENTRY_BYTES: usize = 200;

/// Minimum size of an entry in bytes that triggers evictions immediately. With small entries they are done in batches.
const LARGE_BYTES: usize = 64 * 1024;

/// A cache with a limit in bytes, estimated by a function of key and value. Clones share one cache.
pub struct ByteCache<K, V> {
    /// Keys may be texts of many kilobytes, so they are hashed by a fast function, with random keys of the process.
    entries: Cache<K, V, RandomState>,
    weigh: fn(&K, &V) -> usize,
    /// Whether an entry was ever inserted. An empty cache is recognised by this flag: a search takes microseconds.
    is_used: Arc<AtomicBool>,
}

/// Fill level of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of entries.
    pub entries: u64,
    /// Estimated memory in bytes.
    pub bytes: u64,
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { entries: self.entries + other.entries, bytes: self.bytes + other.bytes }
    }
}

impl<K, V> ByteCache<K, V>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Creates an empty cache of at most `bytes` bytes. `weigh` estimates the heap memory of a key and its value.
    pub fn new(bytes: u64, weigh: fn(&K, &V) -> usize) -> Self {
        let entries = Cache::builder()
            .max_capacity(bytes)
            .weigher(move |key, value| u32::try_from(weigh(key, value) + ENTRY_BYTES).unwrap_or(u32::MAX))
            .time_to_idle(IDLE)
            .build_with_hasher(random_state());
        Self { entries, weigh, is_used: Arc::default() }
    }

    /// Returns the value of a key.
    pub fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<V> {
        self.entries.get(key)
    }

    /// Returns the value of a key, or inserts the result of `make`, which is called once even if several threads wait
    /// for it.
    pub fn get_with(&self, key: K, make: impl FnOnce() -> V) -> V {
        let mut is_new = false;
        self.is_used.store(true, Ordering::Relaxed);
        let value = self.entries.get_with(key, || {
            is_new = true;
            make()
        });
        if is_new {
            self.entries.run_pending_tasks();
        }
        value
    }

    pub fn insert(&self, key: K, value: V) {
        let is_large = (self.weigh)(&key, &value) >= LARGE_BYTES;
        self.is_used.store(true, Ordering::Relaxed);
        self.entries.insert(key, value);
        if is_large {
            self.entries.run_pending_tasks();
        }
    }

    /// Whether the cache is empty. Approximate: an entry inserted a moment ago may not be counted yet.
    pub fn is_empty(&self) -> bool {
        let is_used = self.is_used.load(Ordering::Relaxed);
        !is_used || (self.entries.entry_count() == 0 && self.entries.iter().next().is_none())
    }

    /// Returns the fill level, after evicting expired entries.
    pub fn usage(&self) -> Usage {
        self.entries.run_pending_tasks();
        Usage { entries: self.entries.entry_count(), bytes: self.entries.weighted_size() }
    }
}

/// Returns a hash function with random keys. They come from the standard library, which needs no device file for them: a
/// root file system of a single program has none.
fn random_state() -> RandomState {
    let key = || std::hash::RandomState::new().hash_one(());
    RandomState::with_seeds(key(), key(), key(), key())
}

impl<K, V> Clone for ByteCache<K, V> {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone(), weigh: self.weigh, is_used: Arc::clone(&self.is_used) }
    }
}

// Keys and values are client data, so debug output omits them.
impl<K, V> fmt::Debug for ByteCache<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ByteCache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(bytes: u64) -> ByteCache<String, String> {
        ByteCache::new(bytes, |key, value| key.len() + value.len())
    }

    #[test]
    fn a_cache_holds_no_more_bytes_than_it_may() {
        let cache = cache(1_000_000);
        for number in 0..1_000 {
            cache.insert(number.to_string(), "x".repeat(100_000));
            assert!(cache.usage().bytes <= 1_000_000, "after {number}");
        }
        assert!(cache.usage().entries >= 5);
    }

    #[test]
    fn what_is_larger_than_the_cache_is_not_cached() {
        let cache = cache(1_000);
        assert_eq!(cache.get_with("a".to_owned(), || "x".repeat(2_000)).len(), 2_000);
        assert_eq!((cache.get("a"), cache.usage()), (None, Usage::default()));
        assert!(cache.is_empty());
    }

    #[test]
    fn a_value_is_made_once_while_it_is_cached() {
        let cache = cache(1_000_000);
        assert_eq!(cache.get_with("a".to_owned(), || "1".to_owned()), "1");
        assert_eq!(cache.get_with("a".to_owned(), || "2".to_owned()), "1");
        assert_eq!(cache.get("a").as_deref(), Some("1"));
        assert!(!cache.is_empty());
    }

    #[test]
    fn many_small_entries_take_their_own_bytes_too() {
        let cache = cache(100_000);
        for number in 0..10_000 {
            cache.insert(number.to_string(), String::new());
        }
        assert!(cache.usage().entries <= 100_000 / ENTRY_BYTES as u64);
    }
}
