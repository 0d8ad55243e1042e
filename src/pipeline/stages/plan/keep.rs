//! Storage of a plan's state, which is committed before the answer with which the client returns is sent.

use sha2::{Digest, Sha256};

use crate::pipeline::kept_key::MessageHashes;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{PlanRun, PlanRunState, SettledAnswer, Turn, TurnConversation};
use callwright_common::digest::{add_part, hex};
use callwright_openai::MessageView;
use callwright_store::{PlanRow, StoreError};
use callwright_telemetry::labels::Stage;
use callwright_types::ids;

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
    let document = match serde_json::to_string(&plan_run.waiting) {
        Ok(document) if document.len() <= pipeline.settings.max_kept_bytes => document,
        Ok(_) => {
            let limit = pipeline.settings.max_kept_bytes;
            let error = StoreError::Refused(format!("the plan is larger than pipeline.max_kept_bytes ({limit})"));
            return refused(pipeline, &error);
        }
        Err(error) => return refused(pipeline, &StoreError::Refused(error.to_string())),
    };
    let (tenant, turn_id) = (turn.tenant().to_owned(), turn.record.trace.id.clone());
    let row = PlanRow { tenant, key, turn: turn_id, document };
    match pipeline.store.keep_plan(&row).await {
        Ok(()) => pipeline.caches.waiting_plans.added(),
        Err(error) => refused(pipeline, &error),
    }
}

/// Deletes the state of a plan that has ended, so that later turns of the conversation do not find it.
pub(super) async fn ended(pipeline: &Pipeline, turn: &Turn, plan_run: &PlanRun) {
    let Some(key) = &plan_run.found_by else { return };
    if let Err(error) = pipeline.store.end_plan(turn.tenant(), key).await {
        refused(pipeline, &error);
    }
}

/// Returns the key of a plan that waits for an answer of the user: a hash of its question and the messages before it.
pub(super) fn question_key<'a>(before: impl Iterator<Item = &'a MessageView<'a>>, question: &str) -> String {
    let mut hashes = MessageHashes::nothing();
    before.for_each(|message| hashes.add(message));
    let mut hash = Sha256::new();
    add_part(&mut hash, hashes.history().as_bytes());
    add_part(&mut hash, question.trim().as_bytes());
    hex(&hash.finalize())
}

/// Logs a plan that cannot be stored, unless the operator disabled the store.
fn refused(pipeline: &Pipeline, error: &StoreError) {
    if *error != StoreError::Off {
        tracing::warn!(%error, "cannot store the state of a plan");
        pipeline.metrics.stage_degraded.inc(Stage::Plan);
    }
}
