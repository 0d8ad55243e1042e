//! Observe: recognises failures in the tool messages of the client, and explains them.
//!
//! A client that executes its own tools sends the results of its calls. If a result is a failure, the explanation from
//! the documentation is appended to the message's text, which stays unchanged. Failures of earlier turns are explained
//! again in every turn. The same conversation gives the same texts, so the provider's prompt cache stays valid. The
//! number of failures and the lookup time are limited, independent of the conversation's length.
//!
//! [`tool_results`] parses the conversation, and a cache holds the results of earlier requests under `message_keys`.

mod check;
mod message_keys;

use std::time::{Duration, Instant};

use serde_json::Map;

use crate::pipeline::caches::ExplainedFailure;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, ToolResult, Turn, TurnConversation, tool_results};
use crate::pipeline::tools::Offer;
use callwright_explain::{ClientTool, FailureKind, FailureVerdict, ToolExplanation, recognise};
use callwright_judge::feedback::{self, MAX_TRIED, ObservedFailure};
use callwright_judge::scanner::CompiledTool;
use callwright_telemetry::labels::Stage;
use callwright_types::outcome::ApiAnswer;
use callwright_types::rules::{Ablation, ClientTools, Mode};
use callwright_types::trace::{Enrichment, Observation};
use callwright_types::{DocText, Explanation, OperationRef, Outcome, Owner};

pub(crate) use check::check;
use message_keys::MessageKeys;

/// Explains the failures in the client's tool messages, as policy specifies. In shadow mode they are only recorded.
pub(crate) async fn observe(pipeline: &Pipeline, turn: &mut Turn, conversation: &mut TurnConversation) {
    let is_wanted = turn.policy.mode != Mode::Off && turn.policy.explain.client_tools != ClientTools::Off;
    if !is_wanted || !turn.request.may_have_calls() {
        return;
    }
    let started = Instant::now();
    let failures = Box::pin(failures(pipeline, turn, conversation.offer()));
    if let Some(failures) = pipeline.shielded(Stage::Observe, "the turn continues without explanations", failures).await
    {
        note(turn, &mut conversation.draft, failures);
    }
    pipeline.metrics.overhead.observe(Stage::Observe, started.elapsed());
}

/// The failures of a conversation.
struct ObservedFailures {
    /// The newest failures in order, each with the rule that recognised it and its explanation; `None` if the time was
    /// too short.
    looked_up: Vec<(ToolResult, &'static str, Option<ExplainedFailure>)>,
    /// Number of older failures.
    left_out: usize,
}

/// Recognises all failures, and looks up the newest up to the configured number, until the deadline or until the client
/// disconnects.
async fn failures(pipeline: &Pipeline, turn: &Turn, offer: &Offer) -> ObservedFailures {
    let toolsets = toolsets(pipeline, turn);
    let seen = &turn.tooling.seen;
    let mut key = MessageKeys::of(&turn.policy.explain.failures, toolsets.as_deref());
    let mut failed: Vec<(ToolResult, &'static str)> = Vec::new();
    for result in tool_results(&turn.request) {
        let rule = seen.rule_or(key.of_message(&result), rule(turn, toolsets.as_deref(), &result)).await;
        failed.extend(rule.map(|rule| (result, rule)));
    }
    let left_out = left_out(failed.len(), pipeline.settings.max_observed_failures);
    if turn.policy.observe.lacks(Ablation::Retrieval) {
        let looked_up =
            failed.split_off(left_out).into_iter().map(|(result, rule)| (result, rule, Some(unexplained())));
        return ObservedFailures { looked_up: looked_up.collect(), left_out };
    }
    let deadline = Instant::now() + Duration::from_millis(pipeline.settings.max_observe_milliseconds);
    let mut looked_up = Vec::with_capacity(failed.len() - left_out);
    for (at, (result, rule)) in failed.iter().enumerate().skip(left_out) {
        let earlier = match turn.policy.observe.lacks(Ablation::Record) {
            true => Vec::new(),
            false => earlier_of(failed.get(..at).unwrap_or_default(), result),
        };
        let key = key.of_failure(offer, result, &earlier);
        let failure = match seen.failure(&key) {
            Some(failure) => Some(failure),
            None => in_time(turn, deadline, look(pipeline, turn, offer, toolsets.as_deref(), result, &earlier))
                .await
                .map(|(failure, is_final)| {
                    if is_final {
                        seen.remember(&key, &failure);
                    }
                    failure
                }),
        };
        looked_up.push((result.clone(), *rule, failure));
    }
    ObservedFailures { looked_up, left_out }
}

/// Returns the result of a failure whose documentation is not looked up.
fn unexplained() -> ExplainedFailure {
    ExplainedFailure { explanation: Explanation::default().into(), note: None }
}

/// Returns the result of a lookup before the deadline, while the client is connected.
async fn in_time<T>(turn: &Turn, deadline: Instant, look: impl Future<Output = T>) -> Option<T> {
    if turn.cancelled.is_cancelled() || Instant::now() >= deadline {
        return None;
    }
    tokio::select! {
        biased;
        () = turn.cancelled.cancelled() => None,
        found = tokio::time::timeout_at(deadline.into(), look) => found.ok(),
    }
}

/// Returns the toolsets whose documentation may be used: those of the alias. Without an alias or its toolsets, all
/// tools are the client's own and all documentation is available: `None`.
fn toolsets(pipeline: &Pipeline, turn: &Turn) -> Option<Vec<String>> {
    let alias = pipeline.aliases.get(turn.request.model()).filter(|alias| !alias.toolsets.is_empty())?;
    let named = alias.toolsets.iter().flat_map(|name| turn.tooling.catalog.toolsets_of(name));
    Some(named.map(|toolset| toolset.name.clone()).collect())
}

/// Returns the last other failed calls of the same tool since the last user message, oldest first. Their number is
/// limited to what a message may show, so the cost per message does not grow with the conversation. An identical call
/// is excluded: its result is the same text, which shows the model that it repeats itself.
fn earlier_of(failures: &[(ToolResult, &'static str)], result: &ToolResult) -> Vec<String> {
    let since =
        failures.iter().rev().map(|(earlier, _)| earlier).take_while(|earlier| earlier.request == result.request);
    let same = since
        .take(LOOKED_BACK)
        .filter(|earlier| earlier.call.name == result.call.name && earlier.call.arguments != result.call.arguments);
    let mut calls: Vec<String> = same.take(MAX_TRIED).map(|earlier| earlier.call.written()).collect();
    calls.reverse();
    calls
}

/// Maximum number of failed messages that are searched for earlier calls of a tool.
const LOOKED_BACK: usize = 256;

/// Returns the explanation of a failure, and whether it is final.
async fn look(
    pipeline: &Pipeline,
    turn: &Turn,
    offer: &Offer,
    toolsets: Option<&[String]>,
    result: &ToolResult,
    earlier: &[String],
) -> (ExplainedFailure, bool) {
    let ToolResult { call, text, .. } = result;
    let tool = offer.tool_set.get(&call.name);
    let texts = tool.map(|tool| texts(tool)).unwrap_or_default();
    let arguments: Map<_, _> = serde_json::from_str(&call.arguments).unwrap_or_default();
    let tool_of = ClientTool { name: &call.name, texts: &texts, toolsets };
    let ToolExplanation { explanation, is_final } =
        turn.tooling.explainer.get().await.explain_tool(&tool_of, &arguments, text).await;
    let note = explanation.is_hit().then(|| {
        feedback::observed_failure(&ObservedFailure {
            call,
            text,
            explanation: &explanation,
            tool: tool.map(|tool| &**tool),
            earlier,
            tokens: pipeline.settings.feedback_tokens,
        })
    });
    (ExplainedFailure { explanation: explanation.into(), note: note.map(Into::into) }, is_final)
}

/// Returns the rule by which the message reports a failure: a policy rule, a built-in one, or an error code in the
/// documentation of the operation with this tool name.
async fn rule(turn: &Turn, toolsets: Option<&[String]>, result: &ToolResult) -> Option<&'static str> {
    let ToolResult { call, text, .. } = result;
    match recognise(&call.name, text, &turn.policy.explain.failures) {
        FailureVerdict::Failed(rule) => return Some(rule),
        FailureVerdict::Fine => return None,
        FailureVerdict::Undecided => {}
    }
    let operation = operation(turn, toolsets, &call.name)?;
    let answer = ApiAnswer::new(http::StatusCode::OK.as_u16(), text.clone());
    let explainer = turn.tooling.explainer.get().await;
    let failure = explainer.failure(&operation, &Outcome::Answered(answer), &[], &[]).await;
    matches!(failure, Some(FailureKind::NamedCode(_))).then_some(DOCUMENTED_CODE)
}

/// Name of the rule for error codes in the documentation.
const DOCUMENTED_CODE: &str = "documented_code";

/// Returns the operation in these toolsets whose tool has this name.
fn operation(turn: &Turn, toolsets: Option<&[String]>, name: &str) -> Option<OperationRef> {
    let usable = turn.tooling.catalog.toolsets();
    let usable = usable.filter(|toolset| toolsets.is_none_or(|toolsets| toolsets.contains(&toolset.name)));
    let operations = usable.flat_map(|toolset| &toolset.operations);
    let found = operations.map(|operation| &operation.tool).find(|tool| tool.name == name)?;
    match &found.owner {
        Owner::Proxy(reference) => Some(reference.clone()),
        Owner::Client | Owner::Search => None,
    }
}

/// Returns the documentation in the request itself: the tool's description, and those of its parameters.
fn texts(tool: &CompiledTool) -> Vec<DocText> {
    let own = DocText { text: tool.tool.description.clone(), source: "the tool's description".to_owned() };
    let parameters = tool.parameters().filter_map(|parameter| {
        let description = parameter.schema.get("description")?.as_str()?;
        let text = format!("{}: {description}", parameter.name);
        Some(DocText { text, source: format!("the description of {}", parameter.name) })
    });
    std::iter::once(own).filter(|own| !own.text.trim().is_empty()).chain(parameters).collect()
}

/// Adds the explanations to the messages if policy allows, and records them in the trace.
fn note(turn: &mut Turn, draft: &mut ChatDraft, failures: ObservedFailures) {
    let adds = turn.policy.mode == Mode::Guard && turn.policy.explain.client_tools == ClientTools::On;
    turn.record.trace.observed_left_out = u32::try_from(failures.left_out).unwrap_or(u32::MAX);
    for (result, rule, failure) in failures.looked_up {
        let done = match failure.as_ref().map(|failure| &failure.note) {
            None => Enrichment::LeftOut,
            Some(None) => Enrichment::Unexplained,
            Some(Some(_)) if !adds => Enrichment::Noted,
            Some(Some(note)) => {
                draft.committed.add_note(result.place, note.to_string());
                Enrichment::Added
            }
        };
        let again = !result.is_new;
        let explanation = failure.filter(|_| result.is_new).map(|failure| (*failure.explanation).clone());
        let rule = rule.to_owned();
        turn.record.trace.observed.push(Observation { call: result.call, rule, again, explanation, done });
    }
}

/// Returns how many of the oldest failures are omitted. The number grows in steps of half of the maximum, so the sent
/// conversation seldom changes and prompt caches stay valid.
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
