//! Case of a lesson: the part of a stored turn that a reflection abstracts from.

use serde_json::Value;

use crate::experience::{LessonCase, PrivateTexts};
use callwright_types::trace::{Attempt, Execution};
use callwright_types::{Call, Lesson, Protocol, Trace};
use callwright_wire::RecordedAnswer;

/// Returns the case of a lesson in a turn. `None` if policy does not record the turn's bodies or permits no reflection,
/// or if the turn has no such correction.
pub(super) fn lesson_case(trace: &Trace, lesson: &Lesson) -> Option<LessonCase> {
    let memory = trace.memory.as_ref().filter(|memory| memory.reflect && memory.scope == lesson.scope)?;
    if !memory.scope.is_group() {
        return None;
    }
    let request = trace.request.as_ref()?.to_string();
    let recorded = RecordedAnswer::parse_in(Protocol::of_endpoint(&trace.endpoint), &request).ok()?;
    let Correction { faulty, diagnoses, corrected } =
        corrected_fault(trace, lesson).or_else(|| recovered(trace, lesson))?;
    let private = private_texts(trace, &recorded);
    Some(LessonCase {
        request: recorded.last_of_the_user()?,
        faulty: faulty.map(|call| (call.name.clone(), call.arguments.clone())),
        diagnoses,
        corrected: (corrected.name.clone(), corrected.arguments.clone()),
        private,
    })
}

/// A faulty or failed call, and the call that replaced it.
struct Correction<'a> {
    faulty: Option<&'a Call>,
    diagnoses: Vec<String>,
    corrected: &'a Call,
}

/// Returns the first correction of a fault of the lesson's kind, or else of any fault.
fn corrected_fault<'a>(trace: &'a Trace, lesson: &Lesson) -> Option<Correction<'a>> {
    let mut corrections = trace.attempts.iter().enumerate().filter(|(_, attempt)| !attempt.diagnoses.is_empty());
    let is_of_kind =
        |attempt: &Attempt| attempt.diagnoses.iter().any(|diagnosis| lesson.key.contains(diagnosis.code.words()));
    let any = corrections.clone().next();
    let (at, attempt) = corrections.find(|(_, attempt)| is_of_kind(attempt)).or(any)?;
    let first = attempt.diagnoses.iter().find(|diagnosis| lesson.key.contains(diagnosis.code.words()));
    let first = first.or(attempt.diagnoses.first())?;
    let diagnoses = attempt.diagnoses.iter().filter(|diagnosis| diagnosis.call == first.call);
    let later = trace.attempts.get(at + 1..)?;
    let mut clean = later.iter().flat_map(clean_calls);
    Some(Correction {
        faulty: attempt.calls.get(first.call),
        diagnoses: diagnoses.map(|diagnosis| diagnosis.message.clone()).collect(),
        corrected: clean.find(|call| lesson.tools.contains(&call.name))?,
    })
}

fn clean_calls(attempt: &Attempt) -> impl Iterator<Item = &Call> {
    let calls = attempt.calls.iter().enumerate();
    let is_faulty = |index: usize| attempt.diagnoses.iter().any(|diagnosis| diagnosis.call == index);
    calls.filter(move |(index, _)| !is_faulty(*index)).map(|(_, call)| call)
}

/// Returns a call of the lesson's tools that failed, and the next one of the same tool, if that succeeded.
fn recovered<'a>(trace: &'a Trace, lesson: &Lesson) -> Option<Correction<'a>> {
    let mut executions = trace.executions.iter().filter(|execution| lesson.tools.contains(&execution.call.name));
    let failed = executions.find(|execution| !has_worked(execution))?;
    let worked = executions.find(|execution| execution.call.name == failed.call.name && has_worked(execution))?;
    let passages = failed.explanation.iter().flat_map(|explanation| &explanation.passages);
    let status = failed.status.map(|status| format!("status {status}"));
    Some(Correction {
        faulty: Some(&failed.call),
        diagnoses: status.into_iter().chain(passages.map(|passage| passage.text.clone())).collect(),
        corrected: &worked.call,
    })
}

fn has_worked(execution: &Execution) -> bool {
    execution.outcome == "success" && execution.explanation.is_none()
}

/// Returns the arguments of all calls of a turn, and all texts of the client's own tools.
fn private_texts(trace: &Trace, recorded: &RecordedAnswer<'_>) -> PrivateTexts {
    let mut private = PrivateTexts::default();
    let made = trace.attempts.iter().flat_map(|attempt| &attempt.calls);
    let executed = trace.executions.iter().map(|execution| &execution.call);
    let observed = trace.observed.iter().map(|observed| &observed.call);
    for call in made.chain(executed).chain(observed) {
        private.add_arguments(&call.arguments);
    }
    let list = recorded.tools_text().ok().flatten();
    let elsewhere = recorded.request("[]").map(|request| request.tools_elsewhere()).unwrap_or_default();
    let tools = list.into_iter().chain(elsewhere.lists()).filter_map(|text| serde_json::from_str::<Value>(text).ok());
    tools.for_each(|tools| private.add_tools(&tools));
    private
}
