//! Selection and order of the offered tools: the tools offered before, followed by those that the conversation needs
//! now.
//!
//! The selection is a pure function of the conversation, the rules and the tools offered before. Replaying all steps
//! from the beginning of a conversation gives the same result as turn by turn. A session without stored state therefore
//! starts with the same tools.

use std::collections::HashMap;

use callwright_types::OfferReason;
use callwright_types::rules::OfferRules;

use super::conversation::ConversationStep;
use super::pool::{Pool, ToolAt};
use super::ranking::Ranked;

/// Divisor for the share of the upstream's limit that is left free after an eviction, so that not every turn evicts
/// tools.
const SLACK: usize = 4;

/// An offered tool, with the reason.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pick {
    pub(super) tool: ToolAt,
    pub(super) reason: OfferReason,
    /// Score relative to the best score.
    pub(super) share: Option<f32>,
    pub(super) pattern: Option<String>,
    /// The last step that needed the tool.
    pub(super) used: u32,
}

/// The offered tools, in the order of their first offer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ChosenTools {
    pub(super) picks: Vec<Pick>,
    /// Number of processed steps.
    pub(super) step: u32,
    /// Whether tools were evicted.
    pub(super) evicted: bool,
}

/// Rules for the selection in a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChoiceRules<'a> {
    pub(super) offer: &'a OfferRules,
    /// Maximum number of selected tools: the upstream's limit minus the other tools.
    pub(super) room: usize,
    /// Names that `tool_choice` requires.
    pub(super) required: &'a [String],
}

impl ChosenTools {
    /// Adds the tools that the step needs. `rank` ranks the tools of a pool for the user messages.
    pub(super) fn advance(
        &mut self,
        pools: &[Pool],
        rules: ChoiceRules<'_>,
        step: ConversationStep<'_>,
        rank: &dyn Fn(&Pool, ConversationStep<'_>) -> Vec<Ranked>,
    ) {
        self.step += 1;
        for pick in &mut self.picks {
            // The reasons of this step are set below; called tools stay in use.
            if !matches!(pick.reason, OfferReason::Called) {
                pick.reason = OfferReason::Sticky;
            }
            (pick.share, pick.pattern) = (None, None);
        }
        let mut fresh: Vec<Pick> = Vec::new();
        for pool in pools {
            let mut wanted = WantedTools { pool, step: self.step, picks: Vec::new(), places: HashMap::new() };
            wanted.ask(self, rules, step, rank);
            fresh.extend(self.merge(wanted.picks));
        }
        fresh.sort_by_key(|pick| pick.tool);
        self.picks.extend(fresh);
        self.fit(rules.room);
    }

    /// Adds tools for a reason that occurs while the turn runs.
    pub(super) fn add(&mut self, tools: &[ToolAt], reason: OfferReason, room: usize) {
        for tool in tools {
            let pick = Pick { tool: *tool, reason, share: None, pattern: None, used: self.step };
            let fresh = self.merge(vec![pick]);
            self.picks.extend(fresh);
        }
        self.fit(room);
    }

    /// Updates the tools that are already offered; returns the others.
    fn merge(&mut self, wanted: Vec<Pick>) -> Vec<Pick> {
        let known: HashMap<ToolAt, usize> =
            self.picks.iter().enumerate().map(|(place, pick)| (pick.tool, place)).collect();
        let mut fresh = Vec::new();
        for pick in wanted {
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
    fn fit(&mut self, room: usize) {
        if self.picks.len() <= room {
            return;
        }
        self.evicted = true;
        let in_use = |pick: &Pick| pick.used == self.step || pick.reason < OfferReason::Whole;
        let busy = self.picks.iter().filter(|pick| in_use(pick)).count();
        let left = busy.max(room - room / SLACK).min(room);
        let mut order: Vec<usize> = (0..self.picks.len()).collect();
        order.sort_by(|one, other| {
            let key = |place: &usize| self.picks.get(*place).map(|pick| precedence(pick, in_use(pick)));
            key(one).partial_cmp(&key(other)).unwrap_or(std::cmp::Ordering::Equal)
        });
        let mut stays: Vec<usize> = order.into_iter().take(left).collect();
        stays.sort_unstable();
        let mut kept = Vec::with_capacity(stays.len());
        for place in stays {
            kept.extend(self.picks.get(place).cloned());
        }
        self.picks = kept;
    }
}

/// Returns the sort key for evictions: tools in use first, by reason and then by score; then the most recently used.
fn precedence(pick: &Pick, in_use: bool) -> (bool, OfferReason, std::cmp::Reverse<u32>, f32) {
    let reason = if in_use { pick.reason } else { OfferReason::Sticky };
    // A tool that was offered before and is ranked now counts as ranked.
    let reason = if in_use && reason == OfferReason::Sticky { OfferReason::Ranked } else { reason };
    (!in_use, reason, std::cmp::Reverse(pick.used), -pick.share.unwrap_or_default())
}

/// Tools that a step needs from one pool, most important first.
struct WantedTools<'a> {
    pool: &'a Pool,
    step: u32,
    picks: Vec<Pick>,
    places: HashMap<usize, usize>,
}

impl WantedTools<'_> {
    fn ask(
        &mut self,
        before: &ChosenTools,
        rules: ChoiceRules<'_>,
        step: ConversationStep<'_>,
        rank: &dyn Fn(&Pool, ConversationStep<'_>) -> Vec<Ranked>,
    ) {
        let pool = self.pool;
        let named = |names: &[String]| names.iter().filter_map(|name| pool.named(name)).collect::<Vec<_>>();
        self.take(named(rules.required), OfferReason::Required);
        self.take(pool.always(), OfferReason::Always);
        // Most recently called tools first.
        self.take(named(step.called).into_iter().rev(), OfferReason::Called);
        if pool.is_whole(rules.offer, rules.room) {
            return self.take(pool.positions(), OfferReason::Whole);
        }
        self.take(named(step.words), OfferReason::Named);
        self.rank(before, rules.offer, rank(pool, step));
    }

    /// Takes the best tools above the cut-off. Fills up to the minimum with those below it, then in document order.
    fn rank(&mut self, before: &ChosenTools, rules: &OfferRules, ranked: Vec<Ranked>) {
        let (k, min) = (rules.k as usize, rules.min as usize);
        let mut above: Vec<Ranked> = ranked.into_iter().filter(|found| self.pool.is_free(found.position)).collect();
        let cut = above.iter().take(k).take_while(|found| f64::from(found.share) >= rules.gap).count();
        let below = above.split_off(cut);
        for Ranked { position, share, pattern } in above {
            self.take([position], OfferReason::Ranked);
            if let Some(pick) = self.places.get(&position).and_then(|place| self.picks.get_mut(*place)) {
                (pick.share, pick.pattern) = (Some(share), pattern);
            }
        }
        let others = before.picks.iter().filter(|pick| pick.tool.side == self.pool.side);
        let others: Vec<usize> = others.map(|pick| pick.tool.position as usize).collect();
        let mut missing = min.saturating_sub(
            self.picks.len() + others.iter().filter(|position| !self.places.contains_key(position)).count(),
        );
        for position in below.into_iter().map(|found| found.position).chain(self.pool.positions()) {
            if missing == 0 {
                break;
            }
            if !self.places.contains_key(&position) && !others.contains(&position) {
                self.take([position], OfferReason::Filled);
                missing -= 1;
            }
        }
    }

    /// Takes tools that are not taken for a better reason.
    fn take(&mut self, positions: impl IntoIterator<Item = usize>, reason: OfferReason) {
        for position in positions {
            let Some(tool) = self.pool.at(position) else { continue };
            if let std::collections::hash_map::Entry::Vacant(place) = self.places.entry(position) {
                place.insert(self.picks.len());
                self.picks.push(Pick { tool, reason, share: None, pattern: None, used: self.step });
            }
        }
    }
}
