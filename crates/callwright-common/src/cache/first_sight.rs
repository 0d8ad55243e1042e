//! What was seen before, in a few bytes each.

use std::hash::{BuildHasher, Hash, RandomState};

use super::ByteCache;

/// Bytes of memory for what was seen: some 10,000 digests.
const SEEN_BYTES: u64 = 2 * 1024 * 1024;

/// Says whether something was seen before: what is large is worth its room in a cache only if it comes again. Clones share one memory.
#[derive(Debug, Clone)]
pub struct FirstSight {
    /// With a key of its own, so that no client finds two texts of one digest.
    hasher: RandomState,
    seen: ByteCache<u64, ()>,
    small_bytes: usize,
}

impl FirstSight {
    /// Nothing was seen yet. What is at most `small_bytes` large is cached when it is seen first.
    pub fn new(small_bytes: usize) -> Self {
        Self { hasher: RandomState::new(), seen: ByteCache::new(SEEN_BYTES, |_, ()| 0), small_bytes }
    }

    /// Whether something of so many bytes is to be cached; it was seen now.
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
