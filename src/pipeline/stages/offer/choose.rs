//! Which tools are offered, and in which order: what was offered before, and behind it what the conversation asks for now.
//!
//! A pure function of the conversation, the rules and what was offered before. Gone through step by step from the beginning of a
//! conversation it gives what it gave turn by turn, so that a session that is not remembered begins with the same tools all the same.

use std::collections::HashMap;

use callwright_types::OfferReason;
use callwright_types::rules::OfferRules;

use super::conversation::Step;
use super::pool::{Pool, ToolAt};
use super::ranking::Ranked;

/// The part of an upstream's room that is left free, as a divisor, when some tools have to make room for others: then they need not do
/// so again with every turn.
const SLACK: usize = 4;

/// A tool that is offered, and why.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pick {
    pub(super) tool: ToolAt,
    pub(super) reason: OfferReason,
    /// Its score as a share of the best one's.
    pub(super) share: Option<f32>,
    pub(super) pattern: Option<String>,
    /// The step that asked for it last.
    pub(super) used: u32,
}

/// The tools offered, in the order of their first offering.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Chosen {
    pub(super) picks: Vec<Pick>,
    /// Steps that were gone through.
    pub(super) step: u32,
    /// Did tools have to make room for others?
    pub(super) evicted: bool,
}

/// What a step is judged by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) offer: &'a OfferRules,
    /// Tools that the upstream takes besides those that are not chosen.
    pub(super) room: usize,
    /// Names that `tool_choice` asks for.
    pub(super) required: &'a [String],
}

impl Chosen {
    /// Offers what the step asks for. `rank` ranks the tools of a pool for what the user said.
    pub(super) fn advance(
        &mut self,
        pools: &[Pool],
        rules: Rules<'_>,
        step: Step<'_>,
        rank: &dyn Fn(&Pool, Step<'_>) -> Vec<Ranked>,
    ) {
        self.step += 1;
        for pick in &mut self.picks {
            // Later turns tell it anew; what was called stays in use.
            if !matches!(pick.reason, OfferReason::Called) {
                pick.reason = OfferReason::Sticky;
            }
            (pick.share, pick.pattern) = (None, None);
        }
        let mut fresh: Vec<Pick> = Vec::new();
        for pool in pools {
            let mut wanted = Wanted { pool, step: self.step, picks: Vec::new(), places: HashMap::new() };
            wanted.ask(self, rules, step, rank);
            fresh.extend(self.merge(wanted.picks));
        }
        fresh.sort_by_key(|pick| pick.tool);
        self.picks.extend(fresh);
        self.fit(rules.room);
    }

    /// Adds tools for a reason that comes up while the turn runs.
    pub(super) fn add(&mut self, tools: &[ToolAt], reason: OfferReason, room: usize) {
        for tool in tools {
            let pick = Pick { tool: *tool, reason, share: None, pattern: None, used: self.step };
            let fresh = self.merge(vec![pick]);
            self.picks.extend(fresh);
        }
        self.fit(room);
    }

    /// Notes what is wanted of what is offered already; gives back the rest.
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

    /// Leaves out what finds no room: what the conversation does not use now, and of that what was used longest ago.
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

/// What goes first where there is too little room: what is used now, by its reason and then by how well it serves; then what was used
/// last.
fn precedence(pick: &Pick, in_use: bool) -> (bool, OfferReason, std::cmp::Reverse<u32>, f32) {
    let reason = if in_use { pick.reason } else { OfferReason::Sticky };
    // What is ranked now and was there before is worth what is ranked now.
    let reason = if in_use && reason == OfferReason::Sticky { OfferReason::Ranked } else { reason };
    (!in_use, reason, std::cmp::Reverse(pick.used), -pick.share.unwrap_or_default())
}

/// What a step asks for in one pool, the most important first.
struct Wanted<'a> {
    pool: &'a Pool,
    step: u32,
    picks: Vec<Pick>,
    places: HashMap<usize, usize>,
}

impl Wanted<'_> {
    fn ask(
        &mut self,
        before: &Chosen,
        rules: Rules<'_>,
        step: Step<'_>,
        rank: &dyn Fn(&Pool, Step<'_>) -> Vec<Ranked>,
    ) {
        let pool = self.pool;
        let named = |names: &[String]| names.iter().filter_map(|name| pool.named(name)).collect::<Vec<_>>();
        self.take(named(rules.required), OfferReason::Required);
        self.take(pool.always(), OfferReason::Always);
        // Of many, those that were called last.
        self.take(named(step.called).into_iter().rev(), OfferReason::Called);
        if pool.is_whole(rules.offer, rules.room) {
            return self.take(pool.positions(), OfferReason::Whole);
        }
        self.take(named(step.words), OfferReason::Named);
        self.rank(before, rules.offer, rank(pool, step));
    }

    /// The best ones above the cut-off; below it, and in the order of the documents, as many as the minimum asks for.
    fn rank(&mut self, before: &Chosen, rules: &OfferRules, ranked: Vec<Ranked>) {
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
