//! Offer: selects the tools for the model, and compiles them for validation.
//!
//! `conversation` extracts the needs of a request, a [`Pool`] applies the rules of the turn to the available tools,
//! `choose` selects, and [`Offering`] holds the result, which may grow while the turn runs. The tools offered to a
//! session before come first, so that the list sent upstream only grows at its end.

mod choose;
#[cfg(test)]
mod choose_tests;
mod conversation;
mod prerequisites;
mod ranking;
mod search;

use std::sync::Arc;
use std::time::Instant;

use crate::pipeline::caches::RememberedOffer;
use crate::pipeline::cpu::CpuWork;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::Turn;
use crate::pipeline::tools::{Candidates, ChosenTools, Offer, Offering, Pick, PlanContext, Pool, Side, digest};
use callwright_telemetry::OperationKind;
use callwright_telemetry::labels::Stage;
use callwright_types::rules::{Action, ClientOffer, Mode};
use callwright_types::{FaultCode, OfferReason, Tool};
use callwright_wire::{ToolChoice, WrittenTool};

use choose::ChoiceRules;
use conversation::OfferConversation;
use prerequisites::prerequisites;
use ranking::Ranker;

pub use search::NAME as SEARCH_TOOL;
pub(crate) use search::{find, is_search};

/// Selects the tools for the model. Without tools, the offer is empty and nothing is validated.
pub(crate) async fn offer(pipeline: &Pipeline, turn: &mut Turn) -> Offering {
    let started = Instant::now();
    let mut offering = begin_beside(pipeline, turn).await;
    if !offering.pools.is_empty()
        && let Some(started) = choose(pipeline, turn, &mut offering).await
    {
        turn.record.operation(OperationKind::Retrieval, started, offering.chosen.picks.len());
    }
    offering.offer = compile(pipeline, turn, &offering).await;
    offering.note(pipeline, turn);
    prepare_relevance(turn, &offering.offer);
    pipeline.metrics.overhead.observe(Stage::Offer, started.elapsed());
    offering
}

/// Runs [`begin`], on a CPU slot if it parses a large list of tools.
async fn begin_beside(pipeline: &Pipeline, turn: &Turn) -> Offering {
    let is_read = narrows(turn) || catalog_joins(turn);
    let bytes = turn.request.tools_text().filter(|_| is_read).map_or(0, str::len);
    pipeline.cpu.run(turn.tenant(), CpuWork::Tools, bytes, || begin(pipeline, turn)).await
}

/// Compiles the tools of an offering, on a CPU slot if there are many that are not cached.
async fn compile(pipeline: &Pipeline, turn: &Turn, offering: &Offering) -> Arc<Offer> {
    let key = offering.key(turn);
    match turn.tooling.offers.cache.get(&key) {
        Some(offer) => offer,
        None => {
            let bytes = key.size();
            let compile = || offering.compile(pipeline, turn, key);
            pipeline.cpu.run(turn.tenant(), CpuWork::Tools, bytes, compile).await
        }
    }
}

/// Whether tools are selected from the client's own list.
fn narrows(turn: &Turn) -> bool {
    turn.policy.mode == Mode::Guard && turn.policy.offer.client_tools == ClientOffer::Narrow
}

/// Collects the tools to select from; nothing is selected yet.
fn begin(pipeline: &Pipeline, turn: &Turn) -> Offering {
    let (rules, joins) = (&turn.policy.offer, catalog_joins(turn));
    let narrows = narrows(turn);
    let listed = if narrows || joins { turn.request.listed_tools() } else { Vec::new() };
    let elsewhere = turn.request.tools_elsewhere();
    let brought = if joins { turn.request.read_tools_elsewhere(&elsewhere) } else { Vec::new() };
    let own: Vec<&Tool> = listed.iter().filter_map(|(tool, _)| tool.as_ref()).collect();
    let is_narrowed = narrows && own.len() > rules.whole as usize;
    let own: Vec<&Tool> = own.into_iter().chain(&brought).collect();
    let catalog = joins.then(|| catalog_pool(turn, &own));
    let unnamed = listed.iter().enumerate().filter(|(_, (tool, _))| is_narrowed && tool.is_none());
    let fixed: Vec<usize> = unnamed.map(|(place, _)| place).collect();
    // Entries without a readable name are always sent, and count for the upstream's limit too.
    let along = if is_narrowed { fixed.len() } else { listed.len() };
    let search = catalog.as_ref().filter(|_| room(turn, along) > 0);
    let search = search.and_then(|pool| search_tool(turn, pool, &own));
    let room = room(turn, along + search.iter().count());
    let pools: Vec<Pool> = is_narrowed.then(|| client_pool(turn, &listed)).into_iter().chain(catalog).collect();
    let session = session(turn).filter(|_| !pools.is_empty());
    let before = session.as_deref().and_then(|session| pipeline.caches.offers.get(session));
    // A request without the toolsets gives no information about later ones.
    let session = session.filter(|_| joins || turn.toolsets.is_empty());
    let list = turn.request.tools_text().filter(|_| !is_narrowed).unwrap_or_default();
    let standing = [list, search.as_ref().map_or("", |search| search.text())];
    Offering {
        offer: turn.tooling.offers.empty.clone(),
        room,
        own: if session.is_some() { digest(&standing) } else { 0 },
        pools,
        chosen: ChosenTools::default(),
        search,
        elsewhere,
        fixed,
        session,
        before,
        prefix_change: None,
        words_alone: false,
        learned: rules.representations,
        searches: 0,
    }
}

/// Returns the client's own tools with distinct names.
fn client_pool(turn: &Turn, listed: &[(Option<Tool>, &str)]) -> Pool {
    let list = turn.request.tools_text().unwrap_or_default();
    let candidates = turn.tooling.offers.of_client(list, || {
        let named = listed.iter().enumerate();
        let named = named.filter_map(|(place, (tool, text))| Some((place, tool.as_ref()?, *text)));
        Candidates::of_client(&named.collect::<Vec<_>>(), &turn.tooling.toolset_index)
    });
    Pool::new(Side::Client, candidates, &turn.policy.offer, &turn.policy.execute, [])
}

/// Returns the tools of the alias's toolsets, without those whose name one of the client's `own` tools has.
fn catalog_pool(turn: &Turn, own: &[&Tool]) -> Pool {
    let (toolsets, dialect) = (&turn.toolsets, turn.upstream.settings().schema_dialect);
    let candidates = turn.tooling.offers.of_toolsets(toolsets, dialect, || {
        Candidates::of(&turn.tooling.catalog, &turn.tooling.toolset_index, toolsets, dialect)
    });
    let names = own.iter().map(|tool| tool.name.as_str());
    Pool::new(Side::Catalog, candidates, &turn.policy.offer, &turn.policy.execute, names)
}

/// Returns the tool search tool if policy enables it for this number of tools.
fn search_tool(turn: &Turn, pool: &Pool, own: &[&Tool]) -> Option<Arc<WrittenTool>> {
    let rules = &turn.policy.offer;
    let (from, whole) = (rules.search_tools.from as usize, rules.whole as usize);
    if from == 0 || pool.free < from || pool.free <= whole {
        return None;
    }
    let name =
        search::name(|name| own.iter().any(|tool| tool.name == name) || pool.candidates.position(name).is_some());
    Some(search::tool(&name, rules.search_tools.results, turn.upstream.settings().schema_dialect))
}

/// Returns how many more tools the upstream accepts. The client's own tools are sent even if they alone are too many;
/// the client then gets the upstream's error.
fn room(turn: &Turn, taken: usize) -> usize {
    match turn.upstream.settings().max_tools {
        0 => usize::MAX,
        most => most.saturating_sub(taken),
    }
}

/// Selects tools from the conversation's needs and the tools offered before. Returns the start time if there was a
/// selection.
async fn choose(pipeline: &Pipeline, turn: &Turn, offering: &mut Offering) -> Option<Instant> {
    let is_choice = offering.pools.iter().any(|pool| !pool.is_whole(&turn.policy.offer, offering.room));
    let conversation = if is_choice { OfferConversation::read(&turn.request) } else { OfferConversation::unread() };
    let rules = ChoiceRules { offer: &turn.policy.offer, room: offering.room, required: &conversation.required };
    let all = conversation.steps();
    let mut steps = all.as_slice();
    let mut chosen = ChosenTools::default();
    if offering.before.is_some() || !rules.offer.sticky {
        steps = steps.get(steps.len().saturating_sub(1)..).unwrap_or_default();
    }
    if let Some(before) = &offering.before {
        chosen = recall(before, &offering.pools, rules.offer.sticky);
    }
    let started = Instant::now();
    let plannable = match is_choice && rules.offer.prerequisites > 0 {
        true => PlanContext::new(pipeline, turn, offering).await,
        false => None,
    };
    let user_messages: Vec<&String> = steps.iter().flat_map(|step| step.user_messages).collect();
    let ranker = Ranker::new(pipeline, turn, offering, &user_messages).await;
    for step in steps {
        chosen.advance(&offering.pools, rules, *step, &ranker);
        if let Some(plannable) = &plannable {
            let tools = prerequisites(plannable, &offering.pools, &chosen, step.user_messages, rules.offer);
            chosen.add(&tools, OfferReason::Prerequisite, rules.room);
        }
    }
    if is_choice {
        pipeline.metrics.retrieval_duration.observe(started.elapsed().as_secs_f64());
    }
    let free: usize = offering.pools.iter().map(|pool| pool.free).sum();
    tracing::debug!(
        offered = chosen.picks.len(),
        left_out = free.saturating_sub(chosen.picks.len()),
        "tools are chosen"
    );
    (offering.chosen, offering.words_alone) = (chosen, ranker.words_alone);
    is_choice.then_some(started)
}

/// Returns the previously offered tools that may still be offered; without `sticky`, only those that were called.
fn recall(before: &RememberedOffer, pools: &[Pool], sticky: bool) -> ChosenTools {
    let picks = before.tools.iter().filter(|kept| sticky || kept.called).filter_map(|kept| {
        let pool = pools.iter().find(|pool| pool.side == kept.side)?;
        let tool = pool.at(pool.named(&kept.name)?)?;
        let reason = if kept.called { OfferReason::Called } else { OfferReason::Sticky };
        Some(Pick { tool, reason, share: None, pattern: None, used: kept.used })
    });
    ChosenTools { picks: picks.collect(), step: before.step, evicted: false }
}

/// Returns the cache key of the session, which is separate for each client and model.
fn session(turn: &Turn) -> Option<String> {
    let trace = &turn.record.trace;
    let session = trace.session.as_deref()?;
    Some(format!("{} {} {session}", turn.tenant(), trace.model))
}

/// Whether the catalog's tools may be offered. Not if calls are forbidden or cannot be executed: several choices have
/// no single conversation to continue.
fn catalog_joins(turn: &Turn) -> bool {
    !turn.toolsets.is_empty()
        && turn.policy.mode == Mode::Guard
        && turn.request.tool_choice() != ToolChoice::None
        && turn.request.choice_count() == 1
}

/// Starts the computation of the vectors for the relevance of the tools if it takes longer than validation may wait. It
/// runs while the model answers.
fn prepare_relevance(turn: &Turn, offer: &Offer) {
    let toolset_index = &turn.tooling.toolset_index;
    let waits = toolset_index.embedder.as_ref().is_some_and(|embedder| !embedder.is_immediate());
    if waits && offer.is_judged() && turn.policy.scan.faults.of(FaultCode::ToolNotRelevant) != Action::Off {
        drop(offer.relevance_to(&turn.request, toolset_index, &turn.policy.scan));
    }
}
