//! The selected tools, and their eviction beyond a limit.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;

use callwright_types::OfferReason;

use super::pool::ToolAt;

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
