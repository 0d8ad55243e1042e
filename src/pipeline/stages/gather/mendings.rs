//! Pairs of faulty or failed calls and the calls that corrected them.

use std::collections::HashSet;

use callwright_types::memory::Backing;
use callwright_types::trace::{Attempt, Execution};
use callwright_types::{Call, Diagnosis, Trace};

use crate::pipeline::state::ToolResult;

/// A call with faults, and the call that replaced it.
#[derive(Debug)]
pub(super) struct MendedCall<'a> {
    /// The faulty call as the model made it; `None` if the answer had no readable call.
    pub(super) faulty: Option<&'a Call>,
    /// Diagnoses of the faulty call.
    pub(super) diagnoses: Vec<&'a Diagnosis>,
    /// The call that the model made after the feedback.
    pub(super) call: &'a Call,
    /// Evidence that the call works.
    pub(super) backing: Backing,
}

/// A call that failed, and a later call of the same tool that succeeded.
#[derive(Debug)]
pub(super) struct RecoveredCall<'a> {
    pub(super) failed: &'a Call,
    /// The proxy's own execution of the failed call; `None` for a call of the client.
    pub(super) execution: Option<&'a Execution>,
    /// The call that succeeded.
    pub(super) call: &'a Call,
}

/// Returns the calls of a turn that corrected faults, if they succeeded or can still be verified.
pub(super) fn mended<'a>(trace: &'a Trace, is_clients: impl Fn(&str) -> bool) -> Vec<MendedCall<'a>> {
    let mut found = Vec::new();
    for (at, attempt) in trace.attempts.iter().enumerate() {
        let later = trace.attempts.get(at + 1..).unwrap_or_default();
        for (index, diagnoses) in faulty_calls(attempt) {
            let faulty = attempt.calls.get(index);
            let mending = mending(faulty, &diagnoses, later);
            let backed = mending.and_then(|call| backing(trace, call, &is_clients).map(|backing| (call, backing)));
            found.extend(backed.map(|(call, backing)| MendedCall { faulty, diagnoses, call, backing }));
        }
    }
    found
}

/// Returns the faulty calls of an answer by index, each with its diagnoses.
fn faulty_calls(attempt: &Attempt) -> Vec<(usize, Vec<&Diagnosis>)> {
    let mut calls: Vec<(usize, Vec<&Diagnosis>)> = Vec::new();
    for diagnosis in &attempt.diagnoses {
        match calls.iter_mut().find(|(index, _)| *index == diagnosis.call) {
            Some((_, diagnoses)) => diagnoses.push(diagnosis),
            None => calls.push((diagnosis.call, vec![diagnosis])),
        }
    }
    calls
}

/// Returns the call that replaced a faulty one: the first call without a fault of the intended tool in a later answer.
/// If the tool itself was the fault and no diagnosis suggests another, it is the only call of the next answer, if any.
fn mending<'a>(faulty: Option<&Call>, diagnoses: &[&Diagnosis], later: &'a [Attempt]) -> Option<&'a Call> {
    let is_about_tool = faulty.is_none() || diagnoses.iter().any(|diagnosis| diagnosis.path.is_root());
    let suggested = diagnoses.iter().filter_map(|diagnosis| diagnosis.suggestion.as_deref());
    let intended: Vec<&str> = faulty.map(|faulty| faulty.name.as_str()).into_iter().chain(suggested).collect();
    let mut clean = later.iter().map(|attempt| (attempt, clean_calls(attempt)));
    clean.find_map(|(attempt, calls)| {
        let meant = calls.iter().find(|call| intended.contains(&call.name.as_str())).copied();
        meant.or_else(|| if is_about_tool && attempt.calls.len() == 1 { calls.first().copied() } else { None })
    })
}

fn clean_calls(attempt: &Attempt) -> Vec<&Call> {
    let faulty: HashSet<usize> = attempt.diagnoses.iter().map(|diagnosis| diagnosis.call).collect();
    let calls = attempt.calls.iter().enumerate();
    calls.filter(|(index, _)| !faulty.contains(index)).map(|(_, call)| call).collect()
}

/// Returns the evidence for a call: the proxy saw it succeed, or the client will return with its result. `None` if it
/// failed or was never made.
fn backing(trace: &Trace, call: &Call, is_clients: impl Fn(&str) -> bool) -> Option<Backing> {
    match trace.executions.iter().rev().find(|execution| execution.call.id == call.id) {
        Some(execution) => worked(execution).then_some(Backing::Seen),
        None => is_clients(&call.name).then(|| Backing::Awaits(vec![call.id.clone()])),
    }
}

/// Whether a call that the proxy executed succeeded.
pub(super) fn worked(execution: &Execution) -> bool {
    execution.outcome == "success" && execution.explanation.is_none()
}

/// Returns the failed calls of the proxy, each with the next call of the same tool, if that one succeeded.
pub(super) fn recovered(trace: &Trace) -> Vec<RecoveredCall<'_>> {
    let executions = &trace.executions;
    let failures = executions.iter().enumerate().filter(|(_, execution)| is_answer(execution) && !worked(execution));
    let pairs = failures.filter_map(|(at, failed)| {
        let later = executions.get(at + 1..).unwrap_or_default();
        let next = later.iter().find(|later| later.call.name == failed.call.name)?;
        let is_other = next.call.arguments != failed.call.arguments;
        (is_other && worked(next)).then_some(RecoveredCall {
            failed: &failed.call,
            execution: Some(failed),
            call: &next.call,
        })
    });
    pairs.collect()
}

/// Whether an API answered. A call that was refused or never reached the API gives no evidence.
fn is_answer(execution: &Execution) -> bool {
    execution.status.is_some()
}

/// Returns the client's calls that failed since the last user message, each with the next call of the same tool. The
/// result of the next call must be new in this request and successful.
pub(super) fn recovered_by_client<'a>(
    results: &'a [ToolResult],
    failed: impl Fn(&ToolResult) -> bool,
) -> Vec<RecoveredCall<'a>> {
    let Some(request) = results.last().map(|result| result.request) else { return Vec::new() };
    let since: Vec<&ToolResult> = results.iter().filter(|result| result.request == request).collect();
    let failures = since.iter().enumerate().filter(|(_, result)| failed(result));
    let pairs = failures.filter_map(|(at, failure)| {
        let later = since.get(at + 1..).unwrap_or_default();
        let next = later.iter().find(|later| later.call.name == failure.call.name)?;
        let is_other = next.call.arguments != failure.call.arguments;
        (is_other && next.is_new && !failed(next)).then_some(RecoveredCall {
            failed: &failure.call,
            execution: None,
            call: &next.call,
        })
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use std::slice;

    use serde_json::Value;

    use super::*;
    use callwright_common::json::Pointer;
    use callwright_types::{FaultCode, Purpose, Usage};

    fn call(id: &str, name: &str) -> Call {
        Call { id: id.to_owned(), name: name.to_owned(), arguments: format!(r#"{{"by":"{id}"}}"#) }
    }

    fn fault(call: usize, path: Pointer, suggestion: Option<&str>) -> Diagnosis {
        let suggestion = suggestion.map(str::to_owned);
        Diagnosis {
            code: FaultCode::ParameterMissing,
            call,
            path,
            message: String::new(),
            facts: Value::Null,
            suggestion,
        }
    }

    fn attempt(calls: &[Call], diagnoses: &[Diagnosis]) -> Attempt {
        let attempt = Attempt::unjudged(Purpose::First, "u", "success", Usage::default(), 1.0);
        Attempt { calls: calls.to_vec(), diagnoses: diagnoses.to_vec(), ..attempt }
    }

    fn execution(call: &Call, status: u16) -> Execution {
        Execution {
            call: call.clone(),
            toolset: "hotel".to_owned(),
            operation: "POST /bookings".to_owned(),
            outcome: if status < 400 { "success" } else { "client_error" }.to_owned(),
            reason: None,
            remedy: None,
            status: Some(status),
            body: None,
            approval: None,
            explanation: None,
            credential: None,
            doubt: None,
            started_ms: 0.0,
            duration_ms: 1.0,
        }
    }

    fn trace(attempts: Vec<Attempt>, executions: Vec<Execution>) -> Trace {
        Trace { attempts, executions, ..callwright_types::trace::sample() }
    }

    #[test]
    fn the_replacement_of_a_faulty_call_is_found_among_others() {
        let (wrong, other, right) = (call("1", "book"), call("2", "list"), call("3", "book"));
        let argument = Pointer::root().child("day");
        let first = attempt(slice::from_ref(&wrong), &[fault(0, argument.clone(), None)]);
        let second = attempt(&[other, right.clone()], &[]);
        let seen = trace(vec![first.clone(), second.clone()], vec![execution(&right, 201)]);
        let [mended] = &mended(&seen, |_| false)[..] else { panic!("one") };
        assert_eq!((mended.faulty.unwrap(), mended.call, &mended.backing), (&wrong, &right, &Backing::Seen));
        // A client call is verified when the client returns; a failed call or one that was never made is never
        // verified.
        let handed = trace(vec![first.clone(), second.clone()], Vec::new());
        assert_eq!(super::mended(&handed, |_| true)[0].backing, Backing::Awaits(vec!["3".to_owned()]));
        assert!(super::mended(&handed, |_| false).is_empty());
        assert!(super::mended(&trace(vec![first, second], vec![execution(&right, 422)]), |_| false).is_empty());
    }

    #[test]
    fn only_a_suggested_or_single_tool_repairs_a_wrong_tool() {
        let wrong = call("1", "bookroom");
        let whole = || fault(0, Pointer::root(), Some("book"));
        let first = attempt(slice::from_ref(&wrong), &[whole()]);
        let suggested = attempt(&[call("2", "list"), call("3", "book")], &[]);
        assert_eq!(super::mended(&trace(vec![first.clone(), suggested], Vec::new()), |_| true)[0].call.id, "3");
        let alone = attempt(&[call("4", "reserve")], &[]);
        assert_eq!(super::mended(&trace(vec![first.clone(), alone], Vec::new()), |_| true)[0].call.id, "4");
        let two = attempt(&[call("5", "reserve"), call("6", "list")], &[]);
        assert!(super::mended(&trace(vec![first, two], Vec::new()), |_| true).is_empty());
    }

    #[test]
    fn a_failed_call_is_recovered_by_the_next_of_its_tool_alone() {
        let (failed, other, again) = (call("1", "book"), call("2", "list"), call("3", "book"));
        let one = trace(Vec::new(), vec![execution(&failed, 422), execution(&other, 200), execution(&again, 201)]);
        let [recovered] = &recovered(&one)[..] else { panic!("one") };
        assert_eq!((recovered.failed, recovered.call), (&failed, &again));
        let fails_again = trace(Vec::new(), vec![execution(&failed, 422), execution(&again, 409)]);
        assert!(super::recovered(&fails_again).is_empty());
        // An identical call is no correction: the API was at fault.
        let same = trace(Vec::new(), vec![execution(&failed, 503), execution(&failed, 201)]);
        assert!(super::recovered(&same).is_empty());
    }
}
