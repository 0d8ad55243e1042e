//! Collects the advice that the rules give.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::files::ValuePosition;
use super::{Advice, Rule};

/// Advice given so far, and the rule that is running.
#[derive(Default)]
pub(super) struct Findings {
    code: &'static str,
    fix: &'static str,
    advice: Vec<Advice>,
    /// Hashes of the advice given (rule, place, message): a place that several operations share is reported once.
    said: HashSet<u64>,
}

impl Findings {
    /// Sets the rule to which the following [`Self::add`] calls belong.
    pub(super) fn begin(&mut self, rule: &Rule) {
        (self.code, self.fix) = (rule.code, rule.fix);
    }

    /// Adds one piece of advice about `operation` (empty: the whole document); `at` is the place to change.
    pub(super) fn add(&mut self, operation: &str, at: &ValuePosition<'_>, message: impl Into<String>) {
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
