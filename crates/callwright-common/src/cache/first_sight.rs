//! Admission filter for caches: remembers what was seen before, in a few bytes per item.

use std::hash::{BuildHasher, Hash, RandomState};

use crate::limits::SMALL_CACHE_BYTES;

use super::ByteCache;

/// Decides whether to cache an item: a large one is worth its memory only if it recurs. Clones share one memory.
#[derive(Debug, Clone)]
pub struct FirstSight {
    /// Randomly keyed, so that clients cannot construct two texts with the same digest.
    hasher: RandomState,
    seen: ByteCache<u64, ()>,
    small_bytes: usize,
}

impl FirstSight {
    /// Creates an empty filter. Items of at most `small_bytes` bytes are admitted at first sight.
    pub fn new(small_bytes: usize) -> Self {
        Self { hasher: RandomState::new(), seen: ByteCache::new(SMALL_CACHE_BYTES, |_, ()| 0), small_bytes }
    }

    /// Whether an item of this size is to be cached. Records the item as seen.
    pub fn admits<K: Hash + ?Sized>(&self, key: &K, bytes: usize) -> bool {
        if bytes <= self.small_bytes {
            return true;
        }
        let digest = self.hasher.hash_one(key);
        let is_known = self.seen.get(&digest).is_some();
        if !is_known {
            self.seen.insert(digest, ());
        }
        is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_things_are_admitted_when_they_come_again() {
        let first_sight = FirstSight::new(100);
        assert!(first_sight.admits("a", 100));
        assert!(!first_sight.admits("a", 101));
        assert!(first_sight.admits("a", 101));
        assert!(!first_sight.admits("b", 101));
        assert!(first_sight.clone().admits("b", 101));
    }
}
