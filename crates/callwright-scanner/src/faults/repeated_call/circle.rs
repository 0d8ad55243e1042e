//! E5.1 `circle`: the same call is made for the third time, with the same result each time before and no new
//! information in between. AutoFeedback leaves this case open (section 5): every call succeeds without progress.
//!
//! A circle is one call or a sequence of rounds, up to `scan.circle.period`, that repeats with the same calls, the same
//! arguments and identical results. A repetition is not a circle if
//!
//! - a result changed, or another call was made in between that may have returned new information;
//! - the tool is made for repeated calls, or its results report work in progress (polling);
//! - the results only acknowledge (`ok`, `{"success": true}`), or the tool's name denotes an action (`move`, `send`),
//!   because a repeated call repeats the action; an identical failure is a circle even then;
//! - the earlier results are no longer in the context of the model;
//! - the user has sent a message since.

use serde_json::{Value, json};

use super::results::{MAX_RESULT, find as find_call, has_failed, is_gone, only_acknowledges, requests_repeat};
use super::tools::{acts, is_made_to_be_repeated};
use crate::{CompiledTool, FaultCase, PastCall, Round, is_same, quoted};
use callwright_common::json::Pointer;
use callwright_common::text::excerpt;
use callwright_types::rules::Action;
use callwright_types::{Diagnosis, FaultCode};

/// A circle that the call would continue.
#[derive(Debug)]
struct Circle<'a> {
    /// Number of earlier calls.
    times: usize,
    result: &'a str,
    between: Vec<String>,
}

/// Whether the rules enable the detection of circles, and the call would continue one.
pub(super) fn is_reported(case: &FaultCase<'_>, arguments: &Value) -> bool {
    case.rules.faults.of(FaultCode::Circle) != Action::Off && find(case, arguments).is_some()
}

pub(in crate::faults) fn check(case: &FaultCase<'_>, _: &CompiledTool, arguments: &Value) -> Vec<Diagnosis> {
    find(case, arguments).map(|circle| diagnose(case, &circle)).into_iter().collect()
}

/// Returns the circle that the call would continue, if any.
fn find<'a>(case: &FaultCase<'a>, arguments: &Value) -> Option<Circle<'a>> {
    let conversation = case.context.conversation.filter(|conversation| conversation.may_have_calls())?;
    let name = &case.call.name;
    if is_made_to_be_repeated(name) {
        return None;
    }
    let rounds = conversation.transcript().rounds();
    let laps = case.rules.circle.calls.saturating_sub(1).max(1) as usize;
    // A single earlier lap proves repetition only for a period of 1.
    let longest = if laps == 1 { 1 } else { case.rules.circle.period as usize };
    (1..=longest).find_map(|period| {
        let from = rounds.len().checked_sub(laps * period)?;
        let rounds = rounds.get(from..)?;
        let (first, later) = rounds.split_at_checked(period)?;
        let (_, result) = find_call(first.first()?, name, arguments)?;
        if !later.chunks(period).all(|lap| is_same_lap(first, lap)) {
            return None;
        }
        let moves = has_failed(result) || !acts(name) && !only_acknowledges(result);
        let is_final = !is_gone(result) && !rounds.iter().flatten().any(waits);
        (moves && is_final).then(|| Circle { times: laps, result, between: between(first, name) })
    })
}

/// Whether a call is polling: its tool is made for repeated calls, or its result is absent or reports work in progress.
fn waits(call: &PastCall) -> bool {
    is_made_to_be_repeated(&call.name) || call.result.as_deref().is_none_or(requests_repeat)
}

/// Returns the other tools of a lap, without duplicates.
fn between(lap: &[Round], name: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for call in lap.iter().flatten().filter(|call| call.name != name) {
        if !names.contains(&call.name) {
            names.push(call.name.clone());
        }
    }
    names
}

fn is_same_lap(one: &[Round], other: &[Round]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same_round(one, other))
}

/// Whether both rounds have the same calls with the same results, in any order.
fn is_same_round(one: &Round, other: &Round) -> bool {
    let mut left: Vec<&PastCall> = other.iter().collect();
    one.len() == other.len()
        && one.iter().all(|call| match left.iter().position(|other| is_same_call(call, other)) {
            Some(at) => {
                left.swap_remove(at);
                true
            }
            None => false,
        })
}

fn is_same_call(one: &PastCall, other: &PastCall) -> bool {
    one.name == other.name && one.result == other.result && has_same_arguments(one, other)
}

fn has_same_arguments(one: &PastCall, other: &PastCall) -> bool {
    one.arguments == other.arguments
        || matches!(
            (serde_json::from_str::<Value>(&one.arguments), serde_json::from_str::<Value>(&other.arguments)),
            (Ok(one), Ok(other)) if is_same(&one, &other)
        )
}

fn diagnose(case: &FaultCase<'_>, circle: &Circle<'_>) -> Diagnosis {
    let name = quoted(&case.call.name);
    let times = circle.times;
    let message = format!("`{name}` was called {times} times with the same arguments, and gave the same each time");
    let between: Vec<String> = circle.between.iter().map(|name| quoted(name)).collect();
    let facts = json!({
        "name": name, "times": times, "between": between,
        "result": excerpt(circle.result, MAX_RESULT), "failed": has_failed(circle.result),
    });
    case.diagnosis(FaultCode::Circle, Pointer::root(), message, facts)
}

#[cfg(test)]
mod tests {
    use std::slice;

    use crate::testing::{call, past, tool_set};
    use crate::{Context, PastCall, Scan, Transcript, scan_in};
    use callwright_types::rules::{Action, CircleRules, ScanRules};
    use callwright_types::{Diagnosis, FaultCode};

    const TOOLS: &str = r#"[{"name":"get_weather"},{"name":"search"},{"name":"get_build_status"},{"name":"move_robot"},{"name":"list_files"}]"#;

    fn scanned(rules: &ScanRules, name: &str, rounds: &[&[PastCall]]) -> Scan {
        let mut transcript = Transcript::default();
        transcript.add_user_message("What is the weather?");
        rounds.iter().for_each(|round| transcript.called(round.to_vec()));
        let context = Context { conversation: Some(&transcript), ..Context::default() };
        scan_in(&call(name, r#"{"x":1}"#), 0, &tool_set(TOOLS), rules, &context)
    }

    fn found(name: &str, rounds: &[&[PastCall]]) -> Vec<Diagnosis> {
        scanned(&ScanRules::default(), name, rounds).result.err().unwrap_or_default()
    }

    fn is_held_up(name: &str, rounds: &[&[PastCall]]) -> bool {
        found(name, rounds).iter().any(|diagnosis| diagnosis.code == FaultCode::Circle)
    }

    fn weather(result: &str) -> PastCall {
        past("get_weather", r#"{"x": 1.0}"#, result)
    }

    fn search(result: &str) -> PastCall {
        past("search", r#"{"y":2}"#, result)
    }

    #[test]
    fn the_third_time_is_held_up_by_default_with_earlier_results() {
        let diagnosis = found("get_weather", &[&[weather("sunny")], &[weather("sunny")]]).remove(0);
        assert_eq!((diagnosis.code, &diagnosis.facts["times"]), (FaultCode::Circle, &2.into()));
        assert_eq!((&diagnosis.facts["result"], &diagnosis.facts["failed"]), (&"sunny".into(), &false.into()));
        assert!(!is_held_up("get_weather", &[&[weather("sunny")]]), "the second time is only noted");
    }

    #[test]
    fn it_is_one_fault_and_not_a_repetition_besides() {
        let scan = scanned(&ScanRules::default(), "get_weather", &[&[weather("sunny")], &[weather("sunny")]]);
        assert!(scan.advice.is_empty() && scan.result.unwrap_err().len() == 1);
        let faults = ScanRules::default().faults.with(FaultCode::Circle, Action::Off);
        let off = ScanRules { faults, ..ScanRules::default() };
        let scan = scanned(&off, "get_weather", &[&[weather("sunny")], &[weather("sunny")]]);
        assert!(scan.result.is_ok() && scan.advice[0].code == FaultCode::RepeatedCall);
    }

    #[test]
    fn so_are_two_rounds_in_turn_whatever_the_order_within_them() {
        let laps: [&[PastCall]; 4] = [&[weather("sunny")], &[search("[]")], &[weather("sunny")], &[search("[]")]];
        let diagnosis = found("get_weather", &laps).remove(0);
        assert_eq!(diagnosis.facts["between"], serde_json::json!(["search"]));
        assert!(!is_held_up("get_weather", &laps[..3]), "not before the third time");
        let both = [weather("sunny"), search("[]")];
        let turned = [search("[]"), weather("sunny")];
        assert!(is_held_up("get_weather", &[&both, &turned]));
    }

    #[test]
    fn a_failure_repeated_word_for_word_is_a_circle_for_any_tool() {
        let stuck = past("move_robot", r#"{"x":1}"#, "Error: a wall is in the way");
        assert!(is_held_up("move_robot", &[slice::from_ref(&stuck), slice::from_ref(&stuck)]));
    }

    #[test]
    fn where_anything_changed_it_is_none() {
        assert!(!is_held_up("get_weather", &[&[weather("sunny")], &[weather("rain")]]));
        assert!(!is_held_up("get_weather", &[&[weather("sunny")], &[weather("sunny")], &[search("[]")]]));
        let edits = |n: u32| past("search", &format!("{{\"y\":{n}}}"), "[]");
        let (one, two) = ([edits(1)], [edits(2)]);
        assert!(
            !is_held_up("get_weather", &[&[weather("sunny")], &one, &[weather("sunny")], &two]),
            "another call in between"
        );
        assert!(!is_held_up("get_weather", &[&[weather("sunny")], &[weather("sunny"), search("[]")]]));
        let other = past("get_weather", r#"{"x":2}"#, "sunny");
        assert!(!is_held_up("get_weather", &[&[weather("sunny")], &[other]]));
    }

    #[test]
    fn polling_and_acting_are_none() {
        for (name, result) in [
            ("get_build_status", "{\"state\":\"red\"}"),
            ("get_weather", "{\"state\":\"IN_PROGRESS\"}"),
            ("get_weather", "503 service unavailable"),
            ("move_robot", "{\"position\": 5}"),
            ("get_weather", "ok"),
            ("get_weather", "{\"success\": true}"),
            ("get_weather", ""),
            ("get_weather", "[old result cleared]"),
        ] {
            let again = past(name, r#"{"x":1}"#, result);
            assert!(!is_held_up(name, &[slice::from_ref(&again), slice::from_ref(&again)]), "{name}: {result}");
        }
        let waits: [&[PastCall]; 4] = [
            &[weather("sunny")],
            &[past("wait", "{}", "waited")],
            &[weather("sunny")],
            &[past("wait", "{}", "waited")],
        ];
        assert!(!is_held_up("get_weather", &waits), "it is waited for in between");
    }

    #[test]
    fn a_call_without_result_or_before_the_user_does_not_count() {
        let unanswered = PastCall { result: None, ..weather("") };
        assert!(!is_held_up("get_weather", &[slice::from_ref(&unanswered), slice::from_ref(&unanswered)]));
        let mut transcript = Transcript::default();
        transcript.called(vec![weather("sunny")]);
        transcript.add_user_message("And again?");
        transcript.called(vec![weather("sunny")]);
        let context = Context { conversation: Some(&transcript), ..Context::default() };
        let again = call("get_weather", r#"{"x":1}"#);
        assert!(scan_in(&again, 0, &tool_set(TOOLS), &ScanRules::default(), &context).result.is_ok());
    }

    #[test]
    fn policy_says_how_often_and_how_long() {
        let with = |calls, period| ScanRules { circle: CircleRules { calls, period }, ..ScanRules::default() };
        let laps: [&[PastCall]; 4] = [&[weather("sunny")], &[search("[]")], &[weather("sunny")], &[search("[]")]];
        assert!(scanned(&with(3, 1), "get_weather", &laps).result.is_ok());
        assert!(scanned(&with(4, 2), "get_weather", &laps).result.is_ok());
        assert!(scanned(&with(2, 1), "get_weather", &[&[weather("sunny")]]).result.is_err());
        let three = [weather("sunny")];
        assert!(scanned(&with(4, 1), "get_weather", &[&three, &three, &three]).result.is_err());
    }
}
