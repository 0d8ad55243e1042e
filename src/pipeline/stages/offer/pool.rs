//! The tools of one side among which a turn chooses.

use std::collections::HashSet;
use std::sync::Arc;

use callwright_types::rules::OfferRules;

use super::candidates::{Candidates, Ruled};

/// Whose a tool is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Side {
    /// The client's own.
    Client,
    /// The catalog's.
    Catalog,
}

/// A tool by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ToolAt {
    pub(super) side: Side,
    pub(super) position: u32,
}

/// The tools of one side, under the rules of a turn.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) side: Side,
    pub(super) candidates: Arc<Candidates>,
    ruled: Arc<Ruled>,
    /// Those whose name the other side has.
    hidden: HashSet<usize>,
    /// How many may be offered.
    free: usize,
}

impl Pool {
    /// The candidates without those that are hidden behind one of the `taken` names, and those that policy never offers.
    pub(super) fn new<'a>(
        side: Side,
        candidates: Arc<Candidates>,
        rules: &OfferRules,
        taken: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let ruled = candidates.ruled(rules);
        let hidden: HashSet<usize> = taken.into_iter().filter_map(|name| candidates.position(name)).collect();
        let barred = hidden.union(&ruled.never).count();
        let free = candidates.len().saturating_sub(barred);
        Self { side, candidates, ruled, hidden, free }
    }

    /// How many may be offered.
    pub(super) fn free(&self) -> usize {
        self.free
    }

    /// Are there so few that all of them are offered?
    pub(super) fn is_whole(&self, rules: &OfferRules, room: usize) -> bool {
        self.free <= usize::try_from(rules.whole).unwrap_or(usize::MAX).min(room)
    }

    /// May the tool at a position be offered?
    pub(super) fn is_free(&self, position: usize) -> bool {
        position < self.candidates.len() && !self.hidden.contains(&position) && !self.ruled.never.contains(&position)
    }

    /// Positions of all that may be offered.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        (0..self.candidates.len()).filter(|position| self.is_free(*position))
    }

    /// Positions of those that policy always offers.
    pub(super) fn always(&self) -> impl Iterator<Item = usize> {
        self.ruled.always.iter().copied().filter(|position| self.is_free(*position))
    }

    /// The position of the tool of exactly this name, where it may be offered.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.candidates.position(name).filter(|position| self.is_free(*position))
    }

    /// The tool that a name means, in whatever writing, where it may be offered.
    pub(super) fn meant(&self, name: &str) -> Option<ToolAt> {
        self.candidates.meant(name).filter(|position| self.is_free(*position)).and_then(|position| self.at(position))
    }

    /// The tool at a position.
    pub(super) fn at(&self, position: usize) -> Option<ToolAt> {
        Some(ToolAt { side: self.side, position: u32::try_from(position).ok()? })
    }
}
