//! The tools offered to each session before, in order.
//!
//! This state is a hint that is lost with the process: the conversation alone reproduces most of it (`choose`). It
//! cannot reproduce the tools that the proxy ran, the searches of the model, and selections with an older index.

use std::sync::Arc;

use callwright_common::cache::{ByteCache, Usage};
use callwright_types::PrefixChange;

use super::pool::Side;

/// Tools offered per session. Clones share one cache.
#[derive(Debug, Clone)]
pub(crate) struct OfferedBefore {
    sessions: ByteCache<String, Arc<RememberedOffer>>,
}

/// The tools sent last to a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RememberedOffer {
    /// Selected tools, in the order sent.
    pub(super) tools: Vec<RememberedTool>,
    /// Digest of the tools before them.
    pub(super) own: u64,
    /// Number of conversation steps so far.
    pub(super) step: u32,
}

/// A tool that was sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RememberedTool {
    pub(super) side: Side,
    pub(super) name: Arc<str>,
    /// Digest of its JSON text.
    pub(super) digest: u64,
    /// The last step that needed it.
    pub(super) used: u32,
    /// Whether it was called.
    pub(super) called: bool,
}

impl OfferedBefore {
    /// Creates an empty cache of at most this many bytes for all sessions together. The most recently used sessions
    /// stay.
    pub(crate) fn new(bytes: u64) -> Self {
        let weigh = |session: &String, remembered: &Arc<RememberedOffer>| {
            let tools = remembered.tools.iter().map(|kept| size_of::<RememberedTool>() + kept.name.len());
            session.len() + size_of::<RememberedOffer>() + tools.sum::<usize>()
        };
        Self { sessions: ByteCache::new(bytes, weigh) }
    }

    /// Returns the cache usage.
    pub(crate) fn usage(&self) -> Usage {
        self.sessions.usage()
    }

    /// Returns the tools offered to the session.
    pub(super) fn of(&self, session: &str) -> Option<Arc<RememberedOffer>> {
        self.sessions.get(session)
    }

    /// Stores the tools offered in a turn of the session.
    pub(super) fn note(&self, session: &str, remembered: RememberedOffer) {
        self.sessions.insert(session.to_owned(), Arc::new(remembered));
    }
}

impl RememberedOffer {
    /// Returns the first tool that is no longer at its place; `None` if the tools of `now` begin with these.
    pub(super) fn first_change(&self, now: &Self) -> Option<&RememberedTool> {
        let is_same = |(place, before): (usize, &RememberedTool)| {
            now.tools
                .get(place)
                .is_some_and(|kept| (kept.side, &kept.name, kept.digest) == (before.side, &before.name, before.digest))
        };
        let moved = self.own != now.own;
        self.tools.iter().enumerate().find(|(place, before)| moved || !is_same((*place, before))).map(|(_, kept)| kept)
    }

    /// Returns why the tools of `now` do not begin with these; `None` if they do. `text_now` returns the current digest
    /// of a tool, or `None` if it can no longer be offered. `evicted` is whether tools were evicted.
    pub(super) fn change(
        &self,
        now: &Self,
        evicted: bool,
        text_now: impl Fn(&RememberedTool) -> Option<u64>,
    ) -> Option<PrefixChange> {
        let first = self.first_change(now)?;
        Some(match text_now(first) {
            _ if self.own != now.own => PrefixChange::ClientTools,
            None if first.side == Side::Client => PrefixChange::ClientTools,
            Some(digest) if digest != first.digest && first.side == Side::Client => PrefixChange::ClientTools,
            None => PrefixChange::Reload,
            Some(digest) if digest != first.digest => PrefixChange::Reload,
            Some(_) if evicted => PrefixChange::Limit,
            Some(_) => PrefixChange::Policy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remembered(own: u64, tools: &[(&str, u64)]) -> RememberedOffer {
        let kept = |(name, digest): &(&str, u64)| RememberedTool {
            side: Side::Catalog,
            name: Arc::from(*name),
            digest: *digest,
            used: 0,
            called: false,
        };
        RememberedOffer { own, tools: tools.iter().map(kept).collect(), step: 0 }
    }

    #[test]
    fn appending_changes_nothing_and_everything_else_has_its_reason() {
        let before = remembered(7, &[("a", 1), ("b", 2)]);
        let text_now =
            |kept: &RememberedTool| [("a", 1), ("b", 2)].iter().find(|(name, _)| **name == *kept.name).map(|(_, d)| *d);
        let change = |now: &RememberedOffer, evicted| before.change(now, evicted, text_now);
        assert_eq!(change(&remembered(7, &[("a", 1), ("b", 2), ("c", 3)]), true), None);
        assert_eq!(change(&remembered(8, &[("a", 1), ("b", 2)]), false), Some(PrefixChange::ClientTools));
        assert_eq!(change(&remembered(7, &[("b", 2)]), true), Some(PrefixChange::Limit));
        assert_eq!(change(&remembered(7, &[("b", 2)]), false), Some(PrefixChange::Policy));
        let gone = before.change(&remembered(7, &[("b", 2)]), true, |_| None);
        let other = before.change(&remembered(7, &[("a", 9), ("b", 2)]), false, |_| Some(9));
        assert_eq!((gone, other), (Some(PrefixChange::Reload), Some(PrefixChange::Reload)));
        assert_eq!(
            remembered(7, &[]).change(&remembered(8, &[("a", 1)]), false, |_| None),
            None,
            "nothing stood behind"
        );
    }

    #[test]
    fn so_many_bytes_are_remembered_and_no_more() {
        const BYTES: u64 = 4_000;
        let memory = OfferedBefore::new(BYTES);
        for session in 0..100 {
            memory.note(&session.to_string(), remembered(0, &[("a", 1), ("b", 2), ("c", 3), ("d", 4)]));
            assert!(memory.usage().bytes <= BYTES);
        }
        let known = (0..100).filter(|session| memory.of(&session.to_string()).is_some()).count();
        assert!((5..20).contains(&known), "{known}");
    }
}
