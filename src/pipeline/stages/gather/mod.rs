//! Gather: collects learnable facts of a turn after the client has its answer.
//!
//! The text of a conversation is available only now: traces contain it only if policy allows. Drafts of lessons and
//! procedures are therefore created here, in general terms. The jobs of `learning` use only the drafts that are
//! verified.

mod drafts;
mod mendings;
mod workflow;

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, ToolResult, Turn, TurnConversation, tool_results};
use crate::pipeline::tools::Offer;
use callwright_telemetry::labels::Stage;
use callwright_types::Trace;
use callwright_types::memory::{Backing, Returned};
use callwright_types::rules::ClientTools;

/// Adds the drafts of the turn to the trace. `makes_no_call` is whether the answer makes no calls, so the task is
/// complete.
pub(crate) fn gather(pipeline: &Pipeline, turn: &mut Turn, conversation: &TurnConversation, makes_no_call: bool) {
    pipeline.timed(Stage::Gather, || {
        if !turn.policy.recall.learn || turn.record.trace.memory.is_none() {
            return;
        }
        let (offer, draft) = (conversation.offer(), &conversation.draft);
        // An auxiliary stage: a panic here must not affect the turn.
        if catch_unwind(AssertUnwindSafe(|| note(turn, offer, draft, makes_no_call))).is_err() {
            tracing::error!("the gather stage panicked: the turn is not used for learning");
            pipeline.metrics.stage_degraded.inc(Stage::Gather);
        }
    });
}

fn note(turn: &mut Turn, offer: &Offer, draft: &ChatDraft, makes_no_call: bool) {
    let results = client_results(turn);
    let trace = &turn.record.trace;
    let returned = returned(&results, trace);
    let settings = turn.learned.lesson_store.settings();
    let drafts = drafts::drafts(trace, &results, &offer.tool_set, settings);
    let is_over = makes_no_call && trace.exhausted.is_none() && trace.error.is_none();
    let is_mended = drafts.iter().any(|draft| draft.backing == Backing::Seen);
    let workflow = if is_over { workflow::draft(turn, offer, draft, is_mended) } else { None };
    if let Some(memory) = &mut turn.record.trace.memory {
        memory.returned = returned;
        memory.drafts = drafts;
        memory.workflow = workflow;
    }
}

/// Returns the results of the client's tools, if failures among them are recognised.
fn client_results(turn: &Turn) -> Vec<ToolResult> {
    let is_known = turn.policy.explain.client_tools != ClientTools::Off && turn.request.may_have_calls();
    if is_known { tool_results(&turn.request) } else { Vec::new() }
}

/// Maximum number of calls of a turn from which is learned. Agents send fewer results per request, and a longer procedure
/// is not worth repeating.
const MAX_CALLS: usize = 64;

/// Returns the calls with new results in this request, in order. `trace` contains the recognised failures.
fn returned(results: &[ToolResult], trace: &Trace) -> Vec<Returned> {
    let failed: HashSet<&str> = trace.observed.iter().map(|observed| observed.call.id.as_str()).collect();
    let new = results.iter().filter(|result| result.is_new && !result.call.id.is_empty());
    let reported = new.map(|result| Returned {
        call: result.call.id.clone(),
        tool: result.call.name.clone(),
        failed: failed.contains(result.call.id.as_str()),
    });
    reported.take(MAX_CALLS).collect()
}
