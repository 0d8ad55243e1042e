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
use super::ranking::{Ranked, Ranker};
use crate::pipeline::tools::{ChosenTools, Pick, Pool};

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
    /// Adds the tools that the step needs.
    pub(super) fn advance(
        &mut self,
        pools: &[Pool],
        rules: ChoiceRules<'_>,
        step: ConversationStep<'_>,
        ranker: &Ranker,
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
            let mut needed = NeededTools { pool, step: self.step, picks: Vec::new(), places: HashMap::new() };
            needed.select(self, rules, step, ranker);
            fresh.extend(self.merge(needed.picks));
        }
        fresh.sort_by_key(|pick| pick.tool);
        self.picks.extend(fresh);
        self.fit(rules.room);
    }
}

/// Tools that a step needs from one pool, most important first.
struct NeededTools<'a> {
    pool: &'a Pool,
    step: u32,
    picks: Vec<Pick>,
    places: HashMap<usize, usize>,
}

impl NeededTools<'_> {
    fn select(&mut self, before: &ChosenTools, rules: ChoiceRules<'_>, step: ConversationStep<'_>, ranker: &Ranker) {
        let pool = self.pool;
        self.take(named(pool, rules.required), OfferReason::Required);
        self.take(pool.always(), OfferReason::Always);
        // Most recently called tools first.
        self.take(named(pool, step.called).into_iter().rev(), OfferReason::Called);
        if pool.is_whole(rules.offer, rules.room) {
            return self.take(pool.positions(), OfferReason::Whole);
        }
        self.take(named(pool, step.words), OfferReason::Named);
        self.rank(before, rules.offer, ranker.rank(pool, step.user_messages));
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

/// Returns the positions of the tools with exactly these names that may be offered.
fn named(pool: &Pool, names: &[String]) -> Vec<usize> {
    names.iter().filter_map(|name| pool.named(name)).collect()
}
