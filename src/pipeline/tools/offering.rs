//! The tools offered in a turn, which may grow while it runs.

use std::sync::Arc;

use callwright_types::{OfferNote, OfferReason, OfferedTool, PrefixChange, Tool, ToolKind};
use callwright_wire::{SentTool, ToolsElsewhere, WrittenTool};

use super::candidates::digest;
use super::chosen::{ChosenTools, Pick, Pool, Side, ToolAt};
use super::offer::{Offer, OfferKey, SentToolList};
use crate::pipeline::caches::{RememberedOffer, RememberedTool};
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::Turn;

/// The offered and the available tools of a turn.
#[derive(Debug)]
pub(crate) struct Offering {
    pub(crate) offer: Arc<Offer>,
    /// Pools to select from; empty if there is no selection.
    pub(crate) pools: Vec<Pool>,
    pub(crate) chosen: ChosenTools,
    /// Maximum number of selected tools: the upstream's limit minus the other tools.
    pub(crate) room: usize,
    pub(crate) search: Option<Arc<WrittenTool>>,
    /// Tools that are not in the client's list.
    pub(crate) elsewhere: ToolsElsewhere,
    /// Indexes in the client's list of entries that cannot be omitted; used only if others can.
    pub(crate) fixed: Vec<usize>,
    /// Digest of the tools before the selected ones.
    pub(crate) own: u64,
    /// Cache key of the session.
    pub(crate) session: Option<String>,
    /// The tools sent last to the session.
    pub(crate) before: Option<Arc<RememberedOffer>>,
    pub(crate) prefix_change: Option<PrefixChange>,
    /// Whether the query vectors were missing.
    pub(crate) words_alone: bool,
    /// Whether descriptions include the learned patterns.
    pub(crate) learned: bool,
    /// Number of tool searches answered in this turn.
    pub(crate) searches: u32,
}

/// Whether the provider defines a tool. Such tools are sent unless a selection left them out.
fn is_providers(tool: &Tool) -> bool {
    matches!(tool.kind, ToolKind::Predefined | ToolKind::BuiltIn)
}

impl Offering {
    /// Adds the available tools with these called names that are not offered; returns whether there was any. The model
    /// knows such names from earlier in the conversation, or guesses them.
    pub(crate) fn take_in<'a>(
        &mut self,
        pipeline: &Pipeline,
        turn: &mut Turn,
        called: impl Iterator<Item = &'a str>,
    ) -> bool {
        if self.pools.is_empty() {
            return false;
        }
        let tool_set = &self.offer.tool_set;
        let unknown = called.filter(|name| tool_set.get(name).is_none() && tool_set.literal(name).is_empty());
        let requested: Vec<ToolAt> = unknown.filter_map(|name| self.meant(name)).collect();
        self.grow(pipeline, turn, &requested, OfferReason::Asked)
    }

    /// Adds tools to the offer; returns whether there was any.
    pub(crate) fn grow(&mut self, pipeline: &Pipeline, turn: &mut Turn, tools: &[ToolAt], reason: OfferReason) -> bool {
        if tools.is_empty() {
            return false;
        }
        self.chosen.add(tools, reason, self.room);
        self.offer = self.compile(pipeline, turn, self.key(turn));
        self.note(pipeline, turn);
        true
    }

    /// Records that tools were called: they stay in the offer.
    pub(crate) fn called<'a>(&mut self, pipeline: &Pipeline, turn: &mut Turn, names: impl Iterator<Item = &'a str>) {
        let tools: Vec<ToolAt> = names.filter_map(|name| self.meant(name)).collect();
        self.chosen.add(&tools, OfferReason::Called, self.room);
        if !tools.is_empty() {
            self.note(pipeline, turn);
        }
    }

    /// Returns the tool at a place.
    pub(crate) fn tool(&self, tool: ToolAt) -> Option<&Arc<Tool>> {
        self.pool(tool.side)?.candidates.tool(tool.position as usize)
    }

    /// Whether the catalog's tools may be called.
    pub(crate) fn has_catalog(&self) -> bool {
        self.pool(Side::Catalog).is_some()
    }

    /// Whether tools are selected from the client's list.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.pool(Side::Client).is_some()
    }

    /// Whether the client's own list is offered, whole and alone.
    pub(crate) fn is_clients_list(&self) -> bool {
        !self.has_catalog() && !self.is_narrowed()
    }

    /// Returns the names of the offered tools: ranked tools first, best first; then the others in the order sent.
    pub(crate) fn best_first(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<(f32, &str)> =
            self.offer.names.iter().map(|name| (self.share(name), name.as_str())).collect();
        names.sort_by(|one, other| other.0.total_cmp(&one.0));
        names.into_iter().map(|(_, name)| name)
    }

    /// Returns the score of an offered tool, relative to the best one; 0 without a ranking.
    fn share(&self, name: &str) -> f32 {
        let mut ranked = self.chosen.picks.iter().filter_map(|pick| Some((self.tool(pick.tool)?, pick.share?)));
        ranked.find(|(tool, _)| tool.name == name).map_or(0.0, |(_, share)| share)
    }

    fn meant(&self, name: &str) -> Option<ToolAt> {
        self.pools.iter().find_map(|pool| pool.meant(name))
    }

    fn pool(&self, side: Side) -> Option<&Pool> {
        self.pools.iter().find(|pool| pool.side == side)
    }

    /// Compiles the offer of the selected tools.
    pub(crate) fn compile(&self, pipeline: &Pipeline, turn: &Turn, key: OfferKey) -> Arc<Offer> {
        turn.tooling.offers.get(key, || {
            let client = turn.request.client_tools();
            let brought = turn.request.read_tools_elsewhere(&self.elsewhere);
            let client_sent_tools = !client.is_empty() || !brought.is_empty();
            let (mut tools, sent) = if self.is_narrowed() { self.instead(client) } else { self.behind(client) };
            tools.extend(brought.into_iter().map(Arc::new));
            Offer::compile(tools, sent, client_sent_tools, &self.elsewhere, &pipeline.validators)
        })
    }

    /// Returns the cache key of the offer.
    pub(crate) fn key(&self, turn: &Turn) -> OfferKey {
        let chosen = self.chosen.picks.iter().map(|pick| pick.tool);
        OfferKey {
            tools: turn.request.tools_text().unwrap_or_default().to_owned(),
            elsewhere: self.elsewhere.clone(),
            toolsets: if self.has_catalog() { turn.toolsets.clone() } else { Vec::new() },
            dialect: turn.upstream.settings().schema_dialect,
            narrowed: self.is_narrowed(),
            chosen: chosen.clone().collect(),
            withheld: chosen.filter(|tool| self.is_denied(*tool)).collect(),
            search: self.search.as_ref().map(|search| digest(&[search.text()])),
            representations: self.learned,
        }
    }

    /// Returns the client's unchanged tools, followed by the selected ones.
    fn behind(&self, client: Vec<Tool>) -> (Vec<Arc<Tool>>, SentToolList) {
        let chosen = self.sent().filter_map(|pick| {
            let candidates = &self.pool(pick.tool.side)?.candidates;
            candidates.written(pick.tool.position as usize, self.learned).cloned()
        });
        let added: Vec<Arc<WrittenTool>> = self.search.iter().cloned().chain(chosen).collect();
        let tools = client.into_iter().map(Arc::new).chain(added.iter().map(|tool| tool.tool().clone()));
        (tools.chain(self.withheld()).collect(), SentToolList::Behind(added))
    }

    /// Returns the selected tools, which replace the client's list, and the provider's tools of that list.
    fn instead(&self, client: Vec<Tool>) -> (Vec<Arc<Tool>>, SentToolList) {
        let mut sent: Vec<SentTool> = self.fixed.iter().copied().map(SentTool::Own).collect();
        let mut tools: Vec<Arc<Tool>> = Vec::new();
        if let Some(search) = &self.search {
            tools.push(search.tool().clone());
            sent.push(SentTool::Added(search.clone()));
        }
        for Pick { tool: ToolAt { side, position }, .. } in self.sent() {
            let position = *position as usize;
            let Some(candidates) = self.pool(*side).map(|pool| &pool.candidates) else { continue };
            tools.extend(candidates.tool(position).cloned());
            sent.extend(match side {
                Side::Client => candidates.own_place(position).map(SentTool::Own),
                Side::Catalog => candidates.written(position, self.learned).cloned().map(SentTool::Added),
            });
        }
        tools.extend(self.withheld());
        tools.extend(client.into_iter().filter(is_providers).map(Arc::new));
        (tools, SentToolList::Instead(sent))
    }

    /// Returns the selected tools without those that the policy can only deny.
    fn sent(&self) -> impl Iterator<Item = &Pick> {
        self.chosen.picks.iter().filter(|pick| !self.is_denied(pick.tool))
    }

    /// Returns the called tools that the policy can only deny. Their calls are judged, but they are not sent.
    fn withheld(&self) -> impl Iterator<Item = Arc<Tool>> {
        let denied = self.chosen.picks.iter().filter(|pick| self.is_denied(pick.tool));
        denied.filter_map(|pick| self.tool(pick.tool).cloned())
    }

    fn is_denied(&self, tool: ToolAt) -> bool {
        self.pool(tool.side).is_some_and(|pool| pool.is_denied(tool.position as usize))
    }

    /// Records the offered tools in the trace, and for later turns of the session.
    pub(crate) fn note(&mut self, pipeline: &Pipeline, turn: &mut Turn) {
        turn.record.trace.tools_offered = self.offered_names();
        if self.pools.is_empty() {
            return;
        }
        if let Some(session) = &self.session {
            let now = self.remembered();
            if let Some(before) = &self.before {
                let change = before.change(&now, self.chosen.evicted, |kept| {
                    let candidates = &self.pool(kept.side)?.candidates;
                    candidates.digest(candidates.position(&kept.name)?, self.learned)
                });
                self.prefix_change = self.prefix_change.or(change);
            }
            let now = Arc::new(now);
            pipeline.caches.offers.insert(session.clone(), Arc::clone(&now));
            self.before = Some(now);
        }
        self.note_in_trace(turn);
    }

    /// Returns the names of the offered tools, without those whose calls are only judged.
    fn offered_names(&self) -> Arc<[String]> {
        let withheld: Vec<Arc<Tool>> = self.withheld().collect();
        if withheld.is_empty() {
            return self.offer.names.clone();
        }
        let names = self.offer.names.iter();
        names.filter(|name| withheld.iter().all(|tool| tool.name != **name)).cloned().collect()
    }

    fn note_in_trace(&self, turn: &mut Turn) {
        let is_choice = self.chosen.picks.iter().any(|pick| pick.reason != OfferReason::Whole);
        if !is_choice && self.prefix_change.is_none() {
            return;
        }
        let tools = self.sent().filter_map(|pick| {
            let name = self.tool(pick.tool)?.name.clone();
            Some(OfferedTool { name, reason: pick.reason, share: pick.share, pattern: pick.pattern.clone() })
        });
        turn.record.trace.offer = Some(OfferNote {
            candidates: self.pools.iter().map(|pool| pool.free).sum(),
            tools: tools.collect(),
            prefix_change: self.prefix_change,
            words_alone: self.words_alone,
        });
    }

    fn remembered(&self) -> RememberedOffer {
        let tools = self.sent().filter_map(|pick| {
            let (candidates, position) = (&self.pool(pick.tool.side)?.candidates, pick.tool.position as usize);
            Some(RememberedTool {
                side: pick.tool.side,
                name: candidates.name(position)?.clone(),
                digest: candidates.digest(position, self.learned)?,
                used: pick.used,
                called: pick.reason == OfferReason::Called,
            })
        });
        RememberedOffer { tools: tools.collect(), own: self.own, step: self.chosen.step }
    }
}
