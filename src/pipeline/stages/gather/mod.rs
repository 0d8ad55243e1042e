//! Gather: collects learnable facts of a turn after the client has its answer.
//!
//! The text of a conversation is available only now: traces contain it only if policy allows. Drafts of lessons and
//! procedures are therefore created here, in general terms. The jobs of `learning` use only the drafts that are
//! verified.

mod drafts;
mod mendings;
mod returned;
mod workflow;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::pipeline::Pipeline;
use crate::pipeline::turn::Turn;
use callwright_telemetry::labels::Stage;
use callwright_types::memory::Backing;
use callwright_types::rules::ClientTools;

use super::compose::ChatDraft;
use super::offer::Offer;
use super::results::{ToolResult, results};

/// Adds the drafts of the turn to the trace. `is_last_word` is whether the answer makes no calls, so the task is
/// complete.
pub(crate) fn gather(pipeline: &Pipeline, turn: &mut Turn, offer: &Offer, draft: &ChatDraft, is_last_word: bool) {
    if !turn.policy.recall.learn || turn.record.trace().memory.is_none() {
        return;
    }
    // An auxiliary stage: a panic here must not affect the turn.
    if catch_unwind(AssertUnwindSafe(|| note(turn, offer, draft, is_last_word))).is_err() {
        tracing::error!("the gather stage panicked: the turn is not used for learning");
        pipeline.metrics.stage_degraded.inc(Stage::Gather);
    }
}

fn note(turn: &mut Turn, offer: &Offer, draft: &ChatDraft, is_last_word: bool) {
    let results = client_results(turn);
    let trace = turn.record.trace();
    let returned = returned::returned(&results, trace);
    let settings = turn.snapshot.memory.lesson_store.settings();
    let drafts = drafts::drafts(trace, &results, &offer.tool_set, settings);
    let is_over = is_last_word && trace.exhausted.is_none() && trace.error.is_none();
    let is_mended = drafts.iter().any(|draft| draft.backing == Backing::Seen);
    let workflow = if is_over { workflow::draft(turn, offer, draft, is_mended) } else { None };
    if let Some(memory) = &mut turn.record.trace_mut().memory {
        memory.returned = returned;
        memory.drafts = drafts;
        memory.workflow = workflow;
    }
}

/// Returns the results of the client's tools, if failures among them are recognised.
fn client_results(turn: &Turn) -> Vec<ToolResult> {
    let is_known = turn.policy.explain.client_tools != ClientTools::Off && turn.request.may_have_calls();
    if is_known { results(&turn.request) } else { Vec::new() }
}
