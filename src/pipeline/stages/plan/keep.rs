//! Storage of a plan's state, which is committed before the answer with which the client returns is sent.

use crate::pipeline::kept_key::MessageHashes;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{PlanRun, PlanRunState, SettledAnswer, Turn, TurnConversation};
use callwright_common::digest::of_parts;
use callwright_store::{PlanRow, StoreError};
use callwright_telemetry::labels::Stage;
use callwright_types::ids;
use callwright_wire::MessageView;

/// Stores a plan that waits for the client: for the results of its calls, or for the user's answer to a question.
/// Without a store, the next turn continues without the plan.
pub(crate) async fn keep(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    settled: &SettledAnswer,
) {
    let Some(plan_run) = &mut conversation.plan_run else { return };
    if matches!(plan_run.standing, PlanRunState::Over(_)) {
        return ended(pipeline, turn, plan_run).await;
    }
    let Some(message) = settled.message() else { return };
    let sent: Vec<&str> = message.calls().iter().map(|call| call.id.as_str()).collect();
    let progress = &mut plan_run.waiting.progress;
    for id in progress.in_flight() {
        if !sent.contains(&id.as_str()) {
            progress.reset(&id);
        }
    }
    let key = if sent.iter().any(|id| ids::handle_of(id) == Some(progress.handle())) {
        progress.handle().to_owned()
    } else if sent.is_empty() {
        question_key(turn.request.messages().iter(), &message.text().unwrap_or_default())
    } else {
        // The model made calls of its own, so it has taken over.
        return;
    };
    let stored = store(pipeline, turn, key, plan_run).await;
    if pipeline.stored(stored, Stage::Plan, NOT_STORED).is_some() {
        pipeline.caches.waiting_plans.added();
    }
}

/// Consequence of a plan that cannot be stored.
const NOT_STORED: &str = "cannot store the state of a plan";

async fn store(pipeline: &Pipeline, turn: &Turn, key: String, plan_run: &PlanRun) -> Result<(), StoreError> {
    let limit = pipeline.settings.max_kept_bytes;
    let document = serde_json::to_string(&plan_run.waiting).map_err(|error| StoreError::Refused(error.to_string()))?;
    if document.len() > limit {
        return Err(StoreError::Refused(format!("the plan is larger than pipeline.max_kept_bytes ({limit})")));
    }
    let (tenant, turn) = (turn.tenant().to_owned(), turn.record.trace.id.clone());
    pipeline.store.keep_plan(&PlanRow { tenant, key, turn, document }).await
}

/// Deletes the state of a plan that has ended, so that later turns of the conversation do not find it.
pub(super) async fn ended(pipeline: &Pipeline, turn: &Turn, plan_run: &PlanRun) {
    let Some(key) = &plan_run.found_by else { return };
    let ended = pipeline.store.end_plan(turn.tenant(), key).await;
    pipeline.stored(ended, Stage::Plan, NOT_STORED);
}

/// Returns the key of a plan that waits for an answer of the user: a hash of its question and the messages before it.
pub(super) fn question_key<'a>(before: impl Iterator<Item = &'a MessageView<'a>>, question: &str) -> String {
    let mut hashes = MessageHashes::nothing();
    before.for_each(|message| hashes.add(message));
    of_parts([hashes.history().as_str(), question.trim()])
}
