//! The tools of one side from which a turn selects.

use std::collections::HashSet;
use std::sync::Arc;

use callwright_types::rules::{ExecuteRules, OfferRules};

use super::candidates::{Candidates, RuledTools};

/// Owner of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Side {
    /// The client's own tools.
    Client,
    /// The catalog's tools.
    Catalog,
}

/// Reference to a tool by side and position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ToolAt {
    pub(crate) side: Side,
    pub(crate) position: u32,
}

/// The tools of one side, with the rules of a turn applied.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) side: Side,
    pub(crate) candidates: Arc<Candidates>,
    ruled: Arc<RuledTools>,
    /// Tools whose name the other side has.
    hidden: HashSet<usize>,
    /// Number of tools that may be offered.
    free: usize,
}

impl Pool {
    /// Creates a pool without the tools that have one of the `taken` names, those that policy never offers, and those
    /// whose calls it can only deny.
    pub(crate) fn new<'a>(
        side: Side,
        candidates: Arc<Candidates>,
        rules: &OfferRules,
        execute: &ExecuteRules,
        taken: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let ruled = candidates.ruled(rules, execute);
        let hidden: HashSet<usize> = taken.into_iter().filter_map(|name| candidates.position(name)).collect();
        let ruled_out = ruled.never.iter().chain(&ruled.denied).filter(|position| !hidden.contains(position)).count();
        let barred = hidden.len() + ruled_out;
        let free = candidates.len().saturating_sub(barred);
        Self { side, candidates, ruled, hidden, free }
    }

    /// Returns the number of tools that may be offered.
    pub(crate) fn free(&self) -> usize {
        self.free
    }

    /// Whether there are so few tools that all of them are offered.
    pub(crate) fn is_whole(&self, rules: &OfferRules, room: usize) -> bool {
        self.free <= usize::try_from(rules.whole).unwrap_or(usize::MAX).min(room)
    }

    /// Whether the tool at a position may be offered.
    pub(crate) fn is_free(&self, position: usize) -> bool {
        self.is_callable(position) && !self.ruled.denied.contains(&position)
    }

    /// Whether a call of the tool at a position is judged as a call of this tool, offered or not.
    fn is_callable(&self, position: usize) -> bool {
        position < self.candidates.len() && !self.hidden.contains(&position) && !self.ruled.never.contains(&position)
    }

    /// Whether the policy can only deny calls of the tool at a position.
    pub(crate) fn is_denied(&self, position: usize) -> bool {
        self.ruled.denied.contains(&position)
    }

    /// Returns the positions of all tools that may be offered.
    pub(crate) fn positions(&self) -> impl Iterator<Item = usize> {
        (0..self.candidates.len()).filter(|position| self.is_free(*position))
    }

    /// Returns the positions of the tools that policy always offers.
    pub(crate) fn always(&self) -> impl Iterator<Item = usize> {
        self.ruled.always.iter().copied().filter(|position| self.is_free(*position))
    }

    /// Returns the position of the tool with exactly this name if it may be offered.
    pub(crate) fn named(&self, name: &str) -> Option<usize> {
        self.candidates.position(name).filter(|position| self.is_free(*position))
    }

    /// Returns the tool that a name refers to, in any spelling variant, if it may be offered or is denied.
    pub(crate) fn meant(&self, name: &str) -> Option<ToolAt> {
        self.candidates
            .meant(name)
            .filter(|position| self.is_callable(*position))
            .and_then(|position| self.at(position))
    }

    pub(crate) fn at(&self, position: usize) -> Option<ToolAt> {
        Some(ToolAt { side: self.side, position: u32::try_from(position).ok()? })
    }
}
