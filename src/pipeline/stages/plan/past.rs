//! Use of past procedures for a request: as the template of the plan, or for the outline of a new one (AAG).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;

use crate::pipeline::caches::{PlanOutline, UserMessage, user_messages};
use crate::pipeline::query_vectors::message_vector;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, Turn};
use crate::pipeline::tools::PlanContext;
use callwright_common::digest::of_parts;
use callwright_memory::experience::{Settings, draw};
use callwright_memory::procedures::workflow::{OutlineRequest, ProcedureLookup, note, outline};
use callwright_memory::procedures::{ProcedureQuery, template};
use callwright_plan::generation::Tools;
use callwright_telemetry::OperationKind;
use callwright_telemetry::labels::{MemoryKind, Stage};
use callwright_types::memory::{Fingerprint, Recalled};
use callwright_types::rules::{Mode, ProceduresMode};
use callwright_types::{Owner, Procedure, Purpose, Scope, UsageCounter};
use callwright_upstream::RequestLimits;
use callwright_wire::ModelRequest;

use super::metered::{MeteredModel, StageContext};

/// The procedures that a turn may use.
#[derive(Debug, Clone)]
pub(super) struct Past {
    scope: Scope,
    pub(super) mode: ProceduresMode,
}

impl Past {
    /// Returns `None` if policy disables procedures, or if nothing was learned for the turn's scope.
    pub(super) fn of(turn: &Turn) -> Option<Self> {
        let (mode, memory) = (turn.policy.procedures, turn.record.trace.memory.as_ref()?);
        let knows = mode != ProceduresMode::Off && turn.learned.library.has_active(&memory.scope);
        knows.then(|| Self { scope: memory.scope.clone(), mode })
    }

    /// Returns the one procedure that can be followed unchanged, unless it is withheld.
    pub(super) async fn template(
        &self,
        context: &mut StageContext<'_>,
        tools: &PlanContext,
        request: &str,
    ) -> Option<Arc<Procedure>> {
        let started = Instant::now();
        let (turn, chars) = (&*context.turn, context.turn.learned.library.settings().request_chars);
        let vector = message_vector(context.pipeline, turn, request, chars, Stage::Plan).await;
        let query = ProcedureQuery {
            scope: &self.scope,
            text: request,
            vector: vector.as_ref(),
            is_available: &|name, fingerprint| is_in_play(tools, name, fingerprint),
        };
        let found = template(&context.turn.learned.library, &query, &|name| {
            Some(Arc::clone(&tools.named(name)?.tool.tool.parameters))
        });
        let drawn = found.as_ref().map(|procedure| Lot::of(context.turn).falls_on(&procedure.id, &procedure.tally));
        let found = found.filter(|_| drawn.as_ref().is_some_and(|drawn| !drawn.withheld));
        context.turn.record.procedures(drawn);
        context.pipeline.metrics.recalls.inc(MemoryKind::Procedure, found.is_some());
        let kind = OperationKind::SearchMemory(MemoryKind::Procedure);
        context.turn.record.operation(kind, started, usize::from(found.is_some()));
        found
    }

    /// Returns an outline from the matching procedures and appends it to the user's message; empty if none matches.
    pub(super) async fn outline(
        &self,
        context: &mut StageContext<'_>,
        tools: &PlanContext,
        request: &str,
    ) -> Vec<String> {
        if let Some(known) = of_last(context) {
            return known.steps.clone();
        }
        let library = Arc::clone(&context.turn.learned.library);
        let embedder = context.turn.learned.embedder.clone();
        let lot = Lot::of(context.turn);
        let drawn = |id: &str| {
            let tally = library.get(&self.scope, id).map(|procedure| procedure.tally).unwrap_or_default();
            lot.falls_on(id, &tally)
        };
        let lookup = ProcedureLookup {
            store: &library,
            scope: &self.scope,
            is_available: &|name, fingerprint| is_in_play(tools, name, fingerprint),
            outputs: &|name| tools.named(name).map(|tool| tool.outputs).unwrap_or_default(),
            withheld: &|id| drawn(id).withheld,
            embedder: embedder.as_deref(),
        };
        let offered: Vec<_> = tools.offered.iter().filter_map(|at| tools.tool(*at)).collect();
        let told: Vec<(&str, &str)> =
            offered.iter().map(|tool| (tool.tool.name(), tool.tool.tool.description.as_str())).collect();
        let (limits, settings) = (&context.turn.policy.limits, library.settings());
        let limits = RequestLimits {
            requests: settings.requests.min(u64::from(limits.plan_requests)),
            tokens: settings.tokens.min(limits.plan_tokens),
            ..RequestLimits::default()
        };
        let model = MeteredModel::new(context, Purpose::Procedure);
        let made = outline(&OutlineRequest { request, tools: &told }, &lookup, &model, limits, settings).await;
        model.charge(context);
        context.pipeline.metrics.recalls.inc(MemoryKind::Procedure, !made.steps.is_empty());
        if let Some(stopped) = &made.stopped {
            tracing::debug!(stopped, "the outline is incomplete");
        }
        let mut procedures: Vec<Recalled> = made.fitting.iter().map(|id| drawn(id)).collect();
        // Procedures that only a question of the outline found are not part of the experiment.
        let others = made.procedures.into_iter().filter(|id| !made.fitting.contains(id));
        procedures.extend(others.map(|id| Recalled { id, again: false, withheld: false, chance: 1.0 }));
        context.turn.record.procedures(procedures.clone());
        if !made.steps.is_empty() {
            remember(context, Arc::new(PlanOutline { steps: made.steps.clone(), procedures }));
        }
        made.steps
    }
}

/// Whether the tool of this name is in play: a tool of a toolset, or, if `fingerprint` is set, a client tool with this
/// fingerprint.
fn is_in_play(tools: &PlanContext, name: &str, fingerprint: Option<&Fingerprint>) -> bool {
    let Some(position) = tools.indexed.producers.position(name) else { return false };
    // A toolset's tool that may not be called is detected during plan generation.
    let Some(tool) = tools.tool(position) else { return fingerprint.is_none() };
    let own = (tool.tool.tool.owner == Owner::Client).then(|| tool.tool.client());
    match (own, fingerprint) {
        (None, None) => true,
        (Some(Some(own)), Some(fingerprint)) => own.fingerprint == *fingerprint,
        _ => false,
    }
}

/// Randomly withholds procedures that were found, to measure their effect. Repeated draws for a turn and procedure give
/// the same result.
#[derive(Debug, Clone)]
struct Lot {
    /// Trace id of the turn.
    turn: String,
    settings: Settings,
}

impl Lot {
    fn of(turn: &Turn) -> Self {
        Self { turn: turn.record.trace.id.clone(), settings: *turn.learned.lesson_store.settings() }
    }

    fn falls_on(&self, id: &str, tally: &UsageCounter) -> Recalled {
        let mut hasher = DefaultHasher::new();
        (&self.turn, id).hash(&mut hasher);
        let mut random = fastrand::Rng::with_seed(hasher.finish());
        let (withheld, chance) = draw(&self.settings, tally, &mut random);
        Recalled { id: id.to_owned(), again: false, withheld, chance }
    }
}

/// Appends the outlines of earlier turns to their messages again.
pub(super) fn put_back(pipeline: &Pipeline, turn: &mut Turn, draft: &mut ChatDraft) {
    let before = &pipeline.caches.outlines;
    let is_wanted = turn.policy.mode == Mode::Guard && turn.policy.procedures != ProceduresMode::Off;
    if !is_wanted || before.is_empty() {
        return;
    }
    let user_messages = outlined_messages(turn, &draft.committed);
    let last = user_messages.last().map(|message| message.place);
    for UserMessage { place, key, .. } in user_messages {
        let Some(outlined) = before.get(&key) else { continue };
        draft.committed.add_note(place, note(&outlined.steps));
        if Some(place) == last {
            turn.record.procedures(outlined.procedures.iter().map(|found| Recalled { again: true, ..found.clone() }));
        }
    }
}

/// Returns the outline of the last user message, if it has one.
pub(super) fn of_last(context: &StageContext<'_>) -> Option<Arc<PlanOutline>> {
    let last = outlined_messages(context.turn, &context.draft.committed).pop()?;
    context.pipeline.caches.outlines.get(&last.key)
}

/// Appends an outline to the last user message, in this turn and in later ones.
pub(super) fn remember(context: &mut StageContext<'_>, outlined: Arc<PlanOutline>) {
    let Some(UserMessage { place, key, .. }) = outlined_messages(context.turn, &context.draft.committed).pop() else {
        return;
    };
    context.draft.committed.add_note(place, note(&outlined.steps));
    context.pipeline.caches.outlines.insert(key, outlined);
}

/// Returns the last user messages. The model that wrote an outline saw the client's own tools, so requests with other
/// tools must not get it.
fn outlined_messages(turn: &Turn, conversation: &ModelRequest) -> Vec<UserMessage> {
    let tools = turn.request.tools_text().unwrap_or_default();
    let mut messages = user_messages(&turn.record.trace, conversation);
    messages.iter_mut().for_each(|message| message.key = of_parts([message.key.as_str(), tools]));
    messages
}
