//! Members of error bodies that are the same in most failures of an API (`type`, `help_url`), learned from failures.

use std::collections::{HashMap, HashSet};

/// Minimum number of failures before a member counts as constant.
const LEAST_FAILURES: usize = 8;

/// Minimum number of different failures with a constant member.
const LEAST_VARIETY: usize = 5;

/// Maximum number of members that are counted; further ones never become constant.
const MAX_MEMBERS: usize = 1_000;

/// Maximum length in bytes of a value that is counted.
const MAX_VALUE_BYTES: usize = 300;

/// Member of a body: its path, without positions in arrays, and its value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct BodyMember {
    /// Names from the outermost to the member's.
    pub(crate) path: String,
    /// Value as text.
    pub(crate) value: String,
}

/// Members of the failures of one API.
#[derive(Debug, Default)]
pub(crate) struct Envelope {
    failures: usize,
    counts: HashMap<BodyMember, MemberCount>,
}

#[derive(Debug, Default)]
struct MemberCount {
    failures: usize,
    /// Hashes of the rest of the bodies, up to [`LEAST_VARIETY`].
    others: HashSet<u64>,
}

impl Envelope {
    /// Counts the members of a failure. `others` is a hash of what the failure reports apart from a given member.
    pub(crate) fn learn(&mut self, members: Vec<BodyMember>, others: impl Fn(&BodyMember) -> u64) {
        self.failures = self.failures.saturating_add(1);
        let distinct: HashSet<BodyMember> =
            members.into_iter().filter(|member| member.value.len() <= MAX_VALUE_BYTES).collect();
        for member in distinct {
            let hash = others(&member);
            if self.counts.len() >= MAX_MEMBERS && !self.counts.contains_key(&member) {
                continue;
            }
            let count = self.counts.entry(member).or_default();
            count.failures = count.failures.saturating_add(1);
            if count.others.len() < LEAST_VARIETY {
                count.others.insert(hash);
            }
        }
    }

    /// Whether a member has this value in most failures, whatever else they report.
    pub(crate) fn is_constant(&self, member: &BodyMember) -> bool {
        self.counts.get(member).is_some_and(|count| {
            count.failures >= LEAST_FAILURES
                && 2 * count.failures >= self.failures
                && count.others.len() >= LEAST_VARIETY
        })
    }
}
