//! The tools offered to each session before, in order.

use std::sync::Arc;

use callwright_types::PrefixChange;

use super::Weight;
use crate::pipeline::tools::Side;

/// The tools sent last to a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RememberedOffer {
    /// Selected tools, in the order sent.
    pub(crate) tools: Vec<RememberedTool>,
    /// Digest of the tools before them.
    pub(crate) own: u64,
    /// Number of conversation steps so far.
    pub(crate) step: u32,
}

/// A tool that was sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RememberedTool {
    pub(crate) side: Side,
    pub(crate) name: Arc<str>,
    /// Digest of its JSON text.
    pub(crate) digest: u64,
    /// The last step that needed it.
    pub(crate) used: u32,
    /// Whether it was called.
    pub(crate) called: bool,
}

impl RememberedTool {
    fn is_same(&self, other: &Self) -> bool {
        (self.side, &self.name, self.digest) == (other.side, &other.name, other.digest)
    }
}

impl RememberedOffer {
    /// Returns the first tool that is no longer at its place; `None` if the tools of `now` begin with these.
    pub(crate) fn first_change(&self, now: &Self) -> Option<&RememberedTool> {
        if self.own != now.own {
            return self.tools.first();
        }
        let mut placed = self.tools.iter().enumerate();
        let changed = placed.find(|(place, before)| now.tools.get(*place).is_none_or(|kept| !kept.is_same(before)));
        changed.map(|(_, before)| before)
    }

    /// Returns why the tools of `now` do not begin with these; `None` if they do. `text_now` returns the current digest
    /// of a tool, or `None` if it can no longer be offered. `evicted` is whether tools were evicted.
    pub(crate) fn change(
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

impl Weight for RememberedOffer {
    fn bytes(&self) -> usize {
        let tools = self.tools.iter().map(|kept| size_of::<RememberedTool>() + kept.name.len());
        size_of::<Self>() + tools.sum::<usize>()
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
        let memory = super::super::by_text(BYTES);
        for session in 0..100 {
            memory.insert(session.to_string(), remembered(0, &[("a", 1), ("b", 2), ("c", 3), ("d", 4)]).into());
            assert!(memory.usage().bytes <= BYTES);
        }
        let known = (0..100).filter(|session| memory.get(&session.to_string()).is_some()).count();
        assert!((5..20).contains(&known), "{known}");
    }
}
