//! Gathers what rules find.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::files::Place;
use super::{Advice, Rule};

/// What was found so far.
#[derive(Default)]
pub(super) struct Findings {
    code: &'static str,
    fix: &'static str,
    advice: Vec<Advice>,
    /// Hashes of what was said where: a place that several operations share is told once.
    said: HashSet<u64>,
}

impl Findings {
    /// What follows is found by `rule`.
    pub(super) fn begin(&mut self, rule: &Rule) {
        (self.code, self.fix) = (rule.code, rule.fix);
    }

    /// Something about `operation` (empty: the document) that is to be changed at `at`.
    pub(super) fn add(&mut self, operation: &str, at: &Place<'_>, message: impl Into<String>) {
        let message = message.into();
        let mut hasher = DefaultHasher::new();
        (self.code, at.id(), &message).hash(&mut hasher);
        if self.said.insert(hasher.finish()) {
            let (operation, at) = (operation.to_owned(), at.to_string());
            self.advice.push(Advice { code: self.code, operation, at, message, fix: self.fix });
        }
    }

    pub(super) fn finish(self) -> Vec<Advice> {
        self.advice
    }
}
