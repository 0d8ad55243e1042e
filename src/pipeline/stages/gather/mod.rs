//! Gather: what may be learned from a turn, once the client has its answer.
//!
//! What a conversation says is at hand now and never again: traces hold it only where policy says so. So drafts of lessons and procedures are
//! made here, in general terms, and the jobs of `learning` make something of those alone that turn out to be verified.

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

use super::compose::Draft;
use super::offer::Offer;
use super::results::{ToolResult, results};

/// Adds to the trace what may be learned from the turn. `is_last_word`: its answer makes no calls, so that what was to be done is done.
pub(crate) fn gather(pipeline: &Pipeline, turn: &mut Turn, offer: &Offer, draft: &Draft, is_last_word: bool) {
    if !turn.policy.recall.learn || turn.record.trace().memory.is_none() {
        return;
    }
    // A helping stage: whatever breaks here costs nobody anything.
    if catch_unwind(AssertUnwindSafe(|| note(turn, offer, draft, is_last_word))).is_err() {
        tracing::error!("nothing can be gathered from the turn");
        pipeline.metrics.stage_degraded.inc(Stage::Gather);
    }
}

fn note(turn: &mut Turn, offer: &Offer, draft: &Draft, is_last_word: bool) {
    let results = client_results(turn);
    let trace = turn.record.trace();
    let returned = returned::returned(&results, trace);
    let settings = turn.snapshot.memory.notebook.settings();
    let drafts = drafts::drafts(trace, &results, &offer.toolbook, settings);
    let is_over = is_last_word && trace.exhausted.is_none() && trace.error.is_none();
    let is_mended = drafts.iter().any(|draft| draft.backing == Backing::Seen);
    let workflow = if is_over { workflow::draft(turn, offer, draft, is_mended) } else { None };
    if let Some(memory) = &mut turn.record.trace_mut().memory {
        memory.returned = returned;
        memory.drafts = drafts;
        memory.workflow = workflow;
    }
}

/// What the client's tools said, where it is known which of that are failures.
fn client_results(turn: &Turn) -> Vec<ToolResult> {
    let is_known = turn.policy.explain.client_tools != ClientTools::Off && turn.request.may_have_calls();
    if is_known { results(&turn.request) } else { Vec::new() }
}
