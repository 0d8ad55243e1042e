//! Observe: tool messages that the client sent back → those that report a failure, explained.
//!
//! A client that executes its own tools sends what came of its calls. Where that is a failure, the documentation's explanation is added
//! behind the message's text, which stays first and as it is. All failures of the conversation are explained in every turn, not only the
//! newest, and the same conversation gives the same texts: what the provider has in its prompt cache stays as it is there.
//!
//! `results` reads the conversation, [`Seen`] remembers what was looked at before.

mod results;
mod seen;

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use futures_util::FutureExt;
use serde_json::Map;

use crate::domain::outcome::ApiAnswer;
use crate::domain::rules::{ClientTools, Mode};
use crate::domain::trace::{Enrichment, Observation};
use crate::domain::{DocText, OperationRef, Outcome, Owner};
use crate::explain::{ClientTool, FailureKind, Judged, ToolMessage, recognise};
use crate::feedback::{MAX_TRIED, ObservedFailure};
use crate::pipeline::Pipeline;
use crate::pipeline::turn::Turn;
use crate::scanner::CompiledTool;
use crate::telemetry::labels::Stage;

use super::compose::Draft;
use super::offer::Offer;
use results::{ToolResult, results};
pub(crate) use seen::Seen;
use seen::{Failure, Key};

/// Explains the failures that the client's tool messages report, as policy says. In shadow mode they are only noted.
pub(crate) async fn observe(pipeline: &Pipeline, turn: &mut Turn, offer: &Offer, draft: &mut Draft) {
    let is_wanted = turn.policy.mode != Mode::Off && turn.policy.explain.client_tools != ClientTools::Off;
    if !is_wanted || !turn.request.may_have_calls() {
        return;
    }
    let started = Instant::now();
    // A helping stage: whatever breaks here does not cost the turn.
    match AssertUnwindSafe(failures(pipeline, turn, offer)).catch_unwind().await {
        Ok(failures) => note(pipeline, turn, draft, failures),
        Err(_) => {
            tracing::error!(trace = turn.record.trace().id, "tool messages cannot be read: the turn goes on without");
            pipeline.metrics.stage_degraded.inc(Stage::Observe);
        }
    }
    pipeline.metrics.overhead.observe(Stage::Observe, started.elapsed());
}

/// The results that report a failure, in order, with what is known about it.
async fn failures(pipeline: &Pipeline, turn: &Turn, offer: &Offer) -> Vec<(ToolResult, Failure)> {
    let mut key = Key::of(&turn.policy.explain.failures);
    let mut failures = Vec::new();
    for result in results(&turn.request) {
        let earlier = earlier_of(&failures, &result);
        let key = key.of_result(offer, &result, &earlier);
        let seen = turn.snapshot.seen.get_or(key, look(pipeline, turn, offer, &result, &earlier)).await;
        failures.extend(seen.map(|failure| (result, failure)));
    }
    failures
}

/// The last calls of the same tool that failed since the user spoke last, oldest first: as many as a message may tell, so that a long
/// conversation costs no more for each of its messages than a short one.
fn earlier_of(failures: &[(ToolResult, Failure)], result: &ToolResult) -> Vec<String> {
    let since =
        failures.iter().rev().map(|(earlier, _)| earlier).take_while(|earlier| earlier.request == result.request);
    let same =
        since.take(LOOKED_BACK).filter(|earlier| earlier.call.name == result.call.name && earlier.call != result.call);
    let mut calls: Vec<String> = same.take(MAX_TRIED).map(|earlier| earlier.call.written()).collect();
    calls.reverse();
    calls
}

/// Failed messages that are looked through for earlier calls of a tool.
const LOOKED_BACK: usize = 256;

async fn look(
    pipeline: &Pipeline,
    turn: &Turn,
    offer: &Offer,
    result: &ToolResult,
    earlier: &[String],
) -> Option<Failure> {
    let ToolResult { call, text, .. } = result;
    let rule = rule(turn, result)?;
    let tool = offer.toolbook.get(&call.name);
    let texts = tool.map(|tool| texts(tool)).unwrap_or_default();
    let arguments: Map<_, _> = serde_json::from_str(&call.arguments).unwrap_or_default();
    let tool_of = ClientTool { name: &call.name, texts: &texts };
    let explanation = turn.snapshot.explainer.explain_tool(&tool_of, &arguments, text).await;
    let note = explanation.is_hit().then(|| {
        pipeline.templates.observed_failure(&ObservedFailure {
            call,
            text,
            explanation: &explanation,
            tool: tool.map(|tool| &**tool),
            earlier,
            tokens: pipeline.settings.feedback_tokens,
        })
    });
    Some(Failure { rule: rule.into(), explanation: explanation.into(), note: note.map(Into::into) })
}

/// The rule by which the message reports a failure: one of policy, a built-in one, or that the documentation of the operation which the tool
/// is made from calls its code an error.
fn rule(turn: &Turn, result: &ToolResult) -> Option<&'static str> {
    let ToolResult { call, text, .. } = result;
    match recognise(&ToolMessage { tool: &call.name, text }, &turn.policy.explain.failures) {
        Judged::Failed(recognised) => return Some(recognised.rule),
        Judged::Fine => return None,
        Judged::Silent => {}
    }
    let operation = operation(turn, &call.name)?;
    let answer = ApiAnswer::new(http::StatusCode::OK.as_u16(), text.clone());
    let failure = turn.snapshot.explainer.failure(&operation, &Outcome::Answered(answer), &[], &[]);
    matches!(failure, Some(FailureKind::NamedCode(_))).then_some(DOCUMENTED_CODE)
}

/// The name of the rule that the documentation calls the code of a message an error.
const DOCUMENTED_CODE: &str = "documented_code";

/// The operation of the catalog whose tool has this name.
fn operation(turn: &Turn, name: &str) -> Option<OperationRef> {
    let operations = turn.snapshot.catalog.toolsets().flat_map(|toolset| &toolset.operations);
    let found = operations.map(|operation| &operation.tool).find(|tool| tool.name == name)?;
    match &found.owner {
        Owner::Proxy(reference) => Some(reference.clone()),
        Owner::Client | Owner::Search => None,
    }
}

/// What the request itself says about a tool: its description, and those of its parameters.
fn texts(tool: &CompiledTool) -> Vec<DocText> {
    let own = DocText { text: tool.tool.description.clone(), source: "the tool's description".to_owned() };
    let parameters = tool.parameters().filter_map(|parameter| {
        let said = parameter.schema.get("description")?.as_str()?;
        let text = format!("{}: {said}", parameter.name);
        Some(DocText { text, source: format!("the description of {}", parameter.name) })
    });
    std::iter::once(own).filter(|own| !own.text.trim().is_empty()).chain(parameters).collect()
}

/// Adds the explanations to the messages where policy says so, and notes all of it in the trace.
fn note(pipeline: &Pipeline, turn: &mut Turn, draft: &mut Draft, failures: Vec<(ToolResult, Failure)>) {
    let adds = turn.policy.mode == Mode::Guard && turn.policy.explain.client_tools == ClientTools::On;
    let explained = failures.iter().filter(|(_, failure)| failure.note.is_some()).count();
    let mut left_out = left_out(explained, pipeline.settings.max_observed_failures);
    for (result, failure) in failures {
        let done = match &failure.note {
            None => Enrichment::Unexplained,
            Some(_) if !adds => Enrichment::Noted,
            Some(_) if left_out > 0 => {
                left_out -= 1;
                Enrichment::LeftOut
            }
            Some(note) => {
                draft.add_note(result.place, note.to_string());
                Enrichment::Added
            }
        };
        let again = !result.is_new;
        let explanation = result.is_new.then(|| (*failure.explanation).clone());
        let rule = failure.rule.to_string();
        turn.record.trace_mut().observed.push(Observation { call: result.call, rule, again, explanation, done });
    }
}

/// How many of so many failures, the oldest, are not explained any more. Half of the most at a time: the conversation as it was sent
/// before changes seldom then, and providers find it in their caches.
fn left_out(count: usize, most: usize) -> usize {
    let step = most.div_ceil(2).max(1);
    (count.saturating_sub(most).div_ceil(step) * step).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_left_out_half_of_the_most_at_a_time() {
        let counts = [0, 8, 9, 12, 13, 16, 17].map(|count| left_out(count, 8));
        assert_eq!(counts, [0, 0, 4, 4, 8, 8, 12]);
        assert_eq!([left_out(3, 0), left_out(1, 1), left_out(2, 1)], [3, 0, 1]);
    }
}
