//! Check of successful answers: the planning model reports whether each is what the call was made for.
//!
//! A doubt is added below the answer, which stays unchanged. It costs no round of dynamic feedback, so the check never
//! ends a turn. A check that fails is counted and adds nothing.

use crate::pipeline::services::Pipeline;
use crate::pipeline::stages::plan::{MeteredModel, StageContext};
use crate::pipeline::state::{RanCall, Turn, TurnConversation};
use callwright_explain::answer_check::{AnsweredCall, mismatch};
use callwright_judge::feedback;
use callwright_telemetry::labels::Stage;
use callwright_types::rules::{Mode, SuccessCheck};
use callwright_types::{Outcome, Purpose};

/// Checks the successful results of executed calls, as policy specifies.
pub(crate) async fn check(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    ran: &mut [RanCall],
) {
    if turn.policy.mode != Mode::Guard || turn.policy.observe.check == SuccessCheck::Off {
        return;
    }
    let room = remaining_checks(turn);
    let checked: Vec<usize> =
        ran.iter().enumerate().filter(|(_, ran)| is_success(ran)).map(|(at, _)| at).take(room).collect();
    let Some(request) = last_request(conversation).filter(|_| !checked.is_empty()) else { return };
    let limit = pipeline.settings.outcome_chars;
    let TurnConversation { offering, draft, .. } = conversation;
    let mut context = StageContext { pipeline, turn, offering, draft };
    let model = MeteredModel::new(&context, Purpose::Check);
    let mut reports = Vec::with_capacity(checked.len());
    for ran in checked.iter().filter_map(|at| ran.get(*at)) {
        let Outcome::Answered(answer) = &ran.outcome else { continue };
        let tool = &ran.checked.tool().tool;
        let call = AnsweredCall {
            request: &request,
            tool: &tool.name,
            description: &tool.description,
            arguments: &ran.checked.call().arguments,
            answer: &feedback::answer::shown(answer, limit),
        };
        reports.push(mismatch(&model, call).await);
    }
    model.charge(&mut context);
    for (at, report) in checked.into_iter().zip(reports) {
        match report {
            Ok(doubt) => note(turn, ran.get_mut(at), doubt),
            Err(reason) => {
                tracing::debug!(reason, "a successful answer was not checked");
                pipeline.metrics.stage_degraded.inc(Stage::Observe);
            }
        }
    }
}

/// Whether the call was answered without a failure.
fn is_success(ran: &RanCall) -> bool {
    matches!(ran.outcome, Outcome::Answered(_)) && ran.explanation.is_none() && ran.checked.tool().tool.owner.is_proxy()
}

/// Returns the number of checks that the turn may still make: none once as many answers are doubted as rounds of
/// dynamic feedback are allowed.
fn remaining_checks(turn: &Turn) -> usize {
    let trace = &turn.record.trace;
    let doubts = trace.executions.iter().filter(|execution| execution.doubt.is_some()).count();
    if doubts >= turn.policy.limits.dynamic_feedback as usize {
        return 0;
    }
    let made = trace.attempts.iter().filter(|attempt| attempt.purpose == Purpose::Check).count();
    (turn.policy.limits.upstream_requests as usize).saturating_sub(made)
}

/// Returns the text of the last message of the user.
fn last_request(conversation: &TurnConversation) -> Option<String> {
    let messages = conversation.draft.committed.messages();
    let last = messages.into_iter().rev().find(|message| message.role == "user")?;
    last.text.map(|text| text.into_owned()).filter(|text| !text.trim().is_empty())
}

/// Records a doubt in the result and in the trace.
fn note(turn: &mut Turn, ran: Option<&mut RanCall>, doubt: Option<String>) {
    let (Some(ran), Some(doubt)) = (ran, doubt) else { return };
    let id = &ran.checked.call().id;
    let execution = turn.record.trace.executions.iter_mut().rev().find(|execution| execution.call.id == *id);
    if let Some(execution) = execution {
        execution.doubt = Some(doubt.clone());
    }
    ran.doubt = Some(doubt);
}
