//! Members of error bodies that are the same in most failures of an API (`type`, `help_url`), learned from failures.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::MAX_FOUND;
use super::member_names::{Meaning, meaning};
use callwright_common::json::scalar_text;
use callwright_common::limits::SEARCHED_DEPTH;

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
    /// Hashes of different bodies with the member, up to [`LEAST_VARIETY`].
    bodies: HashSet<u64>,
}

impl Envelope {
    /// Counts the members of the body of a failure.
    pub(crate) fn learn(&mut self, body: &[u8]) {
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return };
        let mut members = Vec::new();
        collect(&body, "", "", 0, &mut members);
        let hash = members.iter().fold(0, |hash, member| hash ^ skeleton_hash(member));
        self.failures = self.failures.saturating_add(1);
        members.retain(|member| member.value.len() <= MAX_VALUE_BYTES);
        for member in HashSet::<BodyMember>::from_iter(members) {
            if self.counts.len() >= MAX_MEMBERS && !self.counts.contains_key(&member) {
                continue;
            }
            let count = self.counts.entry(member).or_default();
            count.failures = count.failures.saturating_add(1);
            if count.bodies.len() < LEAST_VARIETY {
                count.bodies.insert(hash);
            }
        }
    }

    /// Whether a member has this value in most failures, whatever else they report.
    pub(crate) fn is_constant(&self, member: &BodyMember) -> bool {
        self.counts
            .get(member)
            .is_some_and(|count| 2 * count.failures >= self.failures && count.bodies.len() >= LEAST_VARIETY)
    }
}

/// Collects the scalar members of a body, the first ones, without those that differ in every failure.
fn collect(value: &Value, path: &str, name: &str, depth: usize, members: &mut Vec<BodyMember>) {
    if depth > SEARCHED_DEPTH || members.len() >= MAX_FOUND || meaning(name) == Meaning::Noise {
        return;
    }
    match value {
        Value::Object(inner) => {
            for (name, value) in inner {
                collect(value, &format!("{path}/{name}"), name, depth + 1, members);
            }
        }
        Value::Array(elements) => {
            elements.iter().for_each(|element| collect(element, path, name, depth + 1, members));
        }
        scalar => {
            members.extend(scalar_text(scalar).map(|value| BodyMember { path: path.to_owned(), value }));
        }
    }
}

/// Hash of a member without words that contain digits, which may be ids.
fn skeleton_hash(member: &BodyMember) -> u64 {
    let mut hasher = DefaultHasher::new();
    member.path.hash(&mut hasher);
    let is_code = member.value.len() <= MAX_SHORT_VALUE;
    for word in member.value.split_whitespace() {
        if is_code || !word.bytes().any(|byte| byte.is_ascii_digit()) {
            word.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Maximum length in bytes of a value that may be a code rather than an id.
const MAX_SHORT_VALUE: usize = 8;
