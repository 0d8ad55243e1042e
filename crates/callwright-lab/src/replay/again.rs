//! Judges the answers of a trace with recorded bodies again.

use std::convert::Infallible;

use bytes::Bytes;

use super::answer::ReplayedAnswer;
use super::answer::{counted_attempts, recorded_answer};
use crate::judge::Judge;
use crate::tool_sets::{NO_TOOLS, OfferedToolSet, ToolSetKey};
use callwright_judge::repair::Spoken;
use callwright_judge::repair::rescue::Situation;
use callwright_types::rules::{Evidence, Mode};
use callwright_types::trace::Attempt;
use callwright_types::{Protocol, RepairKind, Trace};
use callwright_wire::{Completion, RecordedAnswer};

/// Judges the answers again. Returns `None` if the trace lacks the required data: the request with all offered tools,
/// and the calls with their arguments.
pub(super) fn again(trace: &Trace, judge: &Judge<'_>) -> Option<Vec<ReplayedAnswer>> {
    let protocol = Protocol::of_endpoint(&trace.endpoint);
    let request = trace.request.as_ref()?.to_string();
    let request = RecordedAnswer::parse_in(protocol, &request).ok()?;
    let tools = request.tools_text().ok()?.unwrap_or(NO_TOOLS);
    let key = ToolSetKey::Own(tools.to_owned());
    let offered = judge.offered(key, &request, || Ok::<_, Infallible>(tools.to_owned()));
    let Ok(offered) = offered;
    // Tools of a toolset are not part of any body.
    let has_all = trace.tools_offered.iter().all(|name| offered.tool_set.get(name).is_some());
    if offered.tool_set.is_empty() || !has_all {
        return None;
    }
    if trace.mode != Mode::Guard || is_untouched(trace) {
        return whole(trace, &request, &offered, judge);
    }
    let answers = counted_attempts(trace).filter(|(_, attempt)| attempt.verdict.is_some());
    let answers: Vec<ReplayedAnswer> =
        answers.map(|(position, attempt)| of_attempt(attempt, position, &request, &offered, judge)).collect();
    (!answers.is_empty()).then_some(answers)
}

/// Whether the answer in the trace is the unchanged answer of the model, although the proxy could have changed it.
fn is_untouched(trace: &Trace) -> bool {
    matches!(&trace.attempts[..], [only] if only.calls.is_empty() && only.repairs.is_empty() && only.diagnoses.is_empty())
        && trace.exhausted.is_none()
}

/// Judges the body that the client got, which is the model's own.
fn whole(
    trace: &Trace,
    request: &RecordedAnswer<'_>,
    offered: &OfferedToolSet,
    judge: &Judge<'_>,
) -> Option<Vec<ReplayedAnswer>> {
    let body = trace.answer.as_ref()?.to_string();
    let completion = Completion::parse(request.protocol(), Bytes::from(body)).ok()?;
    let answers = completion
        .choices()
        .iter()
        .map(|choice| ReplayedAnswer::judged(judge.message(&choice.message, choice.is_cut_off(), request, offered), 0));
    Some(answers.collect())
}

/// Judges the calls of an attempt. Repairs of the text keep their recorded result, because it is
/// not in the trace.
fn of_attempt(
    attempt: &Attempt,
    position: usize,
    request: &RecordedAnswer<'_>,
    offered: &OfferedToolSet,
    judge: &Judge<'_>,
) -> ReplayedAnswer {
    if attempt.calls.is_empty() {
        return recorded_answer(attempt, position);
    }
    let spoken = Spoken { text: None, calls: &attempt.calls, situation: Situation::with(Evidence::Off) };
    // The conversation before a later attempt, feedback included, is not in the trace.
    let answered = Some(request).filter(|_| position == 0);
    let mut answer = ReplayedAnswer::judged(judge.spoken(&spoken, answered, offered), position);
    let of_text = [RepairKind::Rescued, RepairKind::ResidueRemoved];
    for repair in attempt.repairs.iter().filter(|repair| of_text.contains(&repair.kind)) {
        if let Some(call) = answer.calls.get_mut(repair.call) {
            call.repairs.insert(0, repair.kind);
        }
    }
    answer
}
