//! The tools of one side from which a turn selects, the selected ones, and their eviction beyond a limit.

use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use callwright_types::OfferReason;
use callwright_types::rules::{ExecuteRules, OfferRules};

use super::candidates::{Candidates, RuledTools};

/// Divisor for the share of the upstream's limit that is left free after an eviction, so that not every turn evicts
/// tools.
const SLACK: usize = 4;

/// An offered tool, with the reason.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pick {
    pub(crate) tool: ToolAt,
    pub(crate) reason: OfferReason,
    /// Score relative to the best score.
    pub(crate) share: Option<f32>,
    pub(crate) pattern: Option<String>,
    /// The last step that needed the tool.
    pub(crate) used: u32,
}

/// The offered tools, in the order of their first offer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ChosenTools {
    pub(crate) picks: Vec<Pick>,
    /// Number of processed steps.
    pub(crate) step: u32,
    /// Whether tools were evicted.
    pub(crate) evicted: bool,
}

impl ChosenTools {
    /// Adds tools for a reason that occurs while the turn runs.
    pub(crate) fn add(&mut self, tools: &[ToolAt], reason: OfferReason, room: usize) {
        for tool in tools {
            let pick = Pick { tool: *tool, reason, share: None, pattern: None, used: self.step };
            let fresh = self.merge(vec![pick]);
            self.picks.extend(fresh);
        }
        self.fit(room);
    }

    /// Updates the tools that are already offered; returns the others.
    pub(crate) fn merge(&mut self, needed: Vec<Pick>) -> Vec<Pick> {
        let known: HashMap<ToolAt, usize> =
            self.picks.iter().enumerate().map(|(place, pick)| (pick.tool, place)).collect();
        let mut fresh = Vec::new();
        for pick in needed {
            match known.get(&pick.tool).and_then(|place| self.picks.get_mut(*place)) {
                Some(before) => {
                    before.reason = before.reason.min(pick.reason);
                    (before.share, before.pattern) = (pick.share.or(before.share), pick.pattern);
                    before.used = self.step;
                }
                None => fresh.push(pick),
            }
        }
        fresh
    }

    /// Evicts tools beyond the limit: first those that the conversation does not use now, the least recently used ones
    /// first.
    pub(crate) fn fit(&mut self, room: usize) {
        if self.picks.len() <= room {
            return;
        }
        self.evicted = true;
        let busy = self.picks.iter().filter(|pick| self.is_in_use(pick)).count();
        let left = busy.max(room - room / SLACK).min(room);
        let mut order: Vec<(usize, &Pick)> = self.picks.iter().enumerate().collect();
        order.sort_by(|(_, one), (_, other)| {
            let precedences = (precedence(one, self.is_in_use(one)), precedence(other, self.is_in_use(other)));
            precedences.0.partial_cmp(&precedences.1).unwrap_or(Ordering::Equal)
        });
        let mut stays: Vec<usize> = order.into_iter().take(left).map(|(place, _)| place).collect();
        stays.sort_unstable();
        let mut kept = Vec::with_capacity(stays.len());
        for place in stays {
            kept.extend(self.picks.get(place).cloned());
        }
        self.picks = kept;
    }

    fn is_in_use(&self, pick: &Pick) -> bool {
        pick.used == self.step || pick.reason < OfferReason::Whole
    }
}

/// Returns the sort key for evictions: tools in use first, by reason and then by score; then the most recently used.
fn precedence(pick: &Pick, in_use: bool) -> (bool, OfferReason, Reverse<u32>, f32) {
    let reason = if in_use { pick.reason } else { OfferReason::Sticky };
    // A tool that was offered before and is ranked now counts as ranked.
    let reason = if in_use && reason == OfferReason::Sticky { OfferReason::Ranked } else { reason };
    (!in_use, reason, Reverse(pick.used), -pick.share.unwrap_or_default())
}

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
    pub(crate) free: usize,
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
