//! E5 `repeated_call`: the same call with the same arguments again, with nothing new learned since.
//!
//! All of this must hold: the same tool was called with the same arguments (whatever the order of their members and the
//! writing of numbers) within the window that policy gives; the user has said nothing since; no other call has given anything
//! since; and its result is still there for the model to read. Repeating is right, and no fault, where the earlier result was
//! a failure that passes (a timeout, a busy server), where it says that something is under way, and where the tool is there to
//! be called again and again (`wait`, `poll`, `next_page`, `press_key`). Two equal calls in one answer are two calls: nobody
//! knows that they are not meant.
//!
//! What remains is still only likely to be a mistake: tools with a state of their own give something new each time. So it is
//! noted and holds nothing up, unless a policy says otherwise. What goes on in a [`circle`] is no longer likely, but plain: that is a
//! fault of its own.

pub(super) mod circle;
mod results;
mod tools;

use serde::Serialize;
use serde_json::Value;

use super::{Case, quoted};
use crate::scanner::same_value::is_same;
use crate::scanner::toolbook::CompiledTool;
use crate::scanner::transcript::{PastCall, Round};
use callwright_common::json::Pointer;
use callwright_common::text::excerpt;
use callwright_types::{Diagnosis, FaultCode};
use results::{has_failed, is_gone, says_to_come_back};
use tools::is_made_to_be_repeated;

/// What the template of this fault can say.
#[derive(Debug, Serialize)]
struct Facts {
    /// The tool.
    name: String,
    /// Rounds of calls since then; 1 is the one before.
    rounds_ago: usize,
    /// What it returned then, cut short.
    result: String,
    /// Does that look like a failure?
    failed: bool,
}

/// Characters of the earlier result that are repeated.
const MAX_RESULT: usize = 400;

pub(super) fn check(case: &Case<'_>, _: &CompiledTool, arguments: &Value) -> Vec<Diagnosis> {
    let conversation = case.context.conversation.filter(|conversation| conversation.may_have_calls());
    let Some(conversation) = conversation.filter(|_| !is_made_to_be_repeated(&case.call.name)) else {
        return Vec::new();
    };
    let rounds = conversation.transcript().rounds();
    let window = rounds.iter().rev().take(case.rules.repeat_window as usize);
    for (index, round) in window.enumerate() {
        if let Some((earlier, result)) = find(round, &case.call.name, arguments) {
            let was_final = !says_to_come_back(result) && !is_gone(result);
            // What is told as a circle needs no telling as a repetition.
            let is_told = || circle::is_judged(case) && circle::find(case, arguments).is_some();
            return if was_final && !is_told() { vec![diagnose(case, earlier, result, index + 1)] } else { Vec::new() };
        }
        if round.iter().any(gave_something) {
            return Vec::new();
        }
    }
    Vec::new()
}

/// The same call in a round, and its result.
fn find<'a>(round: &'a Round, name: &str, arguments: &Value) -> Option<(&'a PastCall, &'a str)> {
    let same = |call: &&PastCall| {
        let is_same_text = || serde_json::from_str(&call.arguments).is_ok_and(|past: Value| is_same(&past, arguments));
        call.name == name && is_same_text()
    };
    let found = round.iter().rev().find(same)?;
    Some((found, found.result.as_deref().unwrap_or_default()))
}

fn diagnose(case: &Case<'_>, earlier: &PastCall, result: &str, rounds_ago: usize) -> Diagnosis {
    let name = quoted(&earlier.name);
    let message = format!("`{name}` was called with the same arguments before, and nothing has changed since");
    let facts = Facts { name, rounds_ago, result: excerpt(result, MAX_RESULT), failed: has_failed(result) };
    case.diagnosis(FaultCode::RepeatedCall, Pointer::root(), message, &facts)
}

/// Did another call tell the model something that it did not know? A failure tells it what does not work.
fn gave_something(call: &PastCall) -> bool {
    call.result.as_deref().is_some_and(|result| !result.trim().is_empty() && !has_failed(result))
}

#[cfg(test)]
mod tests {
    use crate::scanner::testing::{TOOLS, call, past, toolbook};
    use crate::scanner::{Context, PastCall, Transcript, scan_in};
    use callwright_types::rules::{Action, ScanRules};
    use callwright_types::{Diagnosis, FaultCode};

    const OSLO: &str = r#"{"city":"Oslo","num_days":2}"#;

    fn found_under(rules: &ScanRules, name: &str, arguments: &str, rounds: &[&[PastCall]]) -> Vec<Diagnosis> {
        let mut transcript = Transcript::default();
        transcript.asked("What is the weather?");
        rounds.iter().for_each(|round| transcript.called(round.to_vec()));
        let context = Context { conversation: Some(&transcript), ..Context::default() };
        scan_in(&call(name, arguments), 0, &toolbook(TOOLS), rules, &context).result.err().unwrap_or_default()
    }

    fn rules() -> ScanRules {
        let faults = ScanRules::default().faults.with(FaultCode::RepeatedCall, Action::Feedback);
        ScanRules { faults, ..ScanRules::default() }
    }

    fn found(rounds: &[&[PastCall]]) -> Vec<Diagnosis> {
        found_under(&rules(), "get_weather", OSLO, rounds)
    }

    fn oslo(result: &str) -> PastCall {
        past("get_weather", r#"{"num_days": 2.0, "city": "Oslo"}"#, result)
    }

    #[test]
    fn the_same_call_right_after_its_result_is_a_repetition() {
        let found = found(&[&[oslo("sunny")]]);
        assert_eq!(found[0].code, FaultCode::RepeatedCall);
        assert_eq!((&found[0].facts["result"], &found[0].facts["rounds_ago"]), (&"sunny".into(), &1.into()));
        assert_eq!(found[0].facts["failed"], false);
    }

    #[test]
    fn so_it_is_when_other_calls_came_between_that_gave_nothing() {
        let failed = past("search", r#"{"query":1}"#, "Error: query must be a string");
        let found = found(&[&[oslo("Error: no such city")], &[failed]]);
        assert_eq!((&found[0].facts["rounds_ago"], &found[0].facts["failed"]), (&2.into(), &true.into()));
    }

    #[test]
    fn a_call_is_no_repetition_where_something_was_learned_or_is_no_longer_known() {
        let other = past("search", r#"{"query":"x"}"#, "found y");
        assert!(found(&[&[oslo("sunny")], &[other]]).is_empty(), "another call gave something");
        assert!(found(&[&[past("get_weather", r#"{"city":"Oslo"}"#, "sunny")]]).is_empty(), "other arguments");
        for gone in ["", "  ", "[Old tool result content cleared]"] {
            assert!(found(&[&[oslo(gone)]]).is_empty(), "{gone}");
        }
        let unanswered = PastCall { result: None, ..oslo("") };
        assert!(found(&[&[unanswered]]).is_empty());
        assert!(found(&[]).is_empty());
    }

    #[test]
    fn a_result_is_a_failure_where_it_begins_as_one() {
        for result in ["Error: no", r#"{"error": "no such city"}"#, "FAILED", r#"{"errors":[{"message":"x"}]}"#] {
            assert!(super::has_failed(result), "{result}");
        }
        for result in [r#"{"error": null, "data": 1}"#, "no error", r#"{"data":{"error":"x"}}"#, r#"{"errors":[]}"#, ""]
        {
            assert!(!super::has_failed(result), "{result}");
        }
    }

    #[test]
    fn what_may_be_different_next_time_may_be_asked_again() {
        for result in [
            "Error 503: service unavailable",
            "request timed out",
            r#"{"status":"PENDING"}"#,
            "job is in progress",
            "Rate limit exceeded, retry in 2 s",
        ] {
            assert!(found(&[&[oslo(result)]]).is_empty(), "{result}");
        }
    }

    #[test]
    fn tools_that_are_there_to_be_repeated_are_left_alone() {
        let tools =
            r#"[{"name":"pressKey","parameters":{"type":"object"}},{"name":"get_order_status","parameters":null}]"#;
        let mut transcript = Transcript::default();
        transcript.called(vec![past("pressKey", "{}", "ok"), past("get_order_status", "{}", "shipped")]);
        let context = Context { conversation: Some(&transcript), ..Context::default() };
        for name in ["pressKey", "get_order_status"] {
            assert!(scan_in(&call(name, "{}"), 0, &toolbook(tools), &rules(), &context).result.is_ok());
        }
    }

    #[test]
    fn the_window_is_policy_and_a_users_message_ends_it() {
        let failed = |index: usize| past("search", &format!(r#"{{"query":{index}}}"#), "Error: invalid");
        let rounds: [&[PastCall]; 3] = [&[oslo("sunny")], &[failed(1)], &[failed(2)]];
        assert_eq!(found(&rounds).len(), 1);
        for window in [0, 2] {
            let rules = ScanRules { repeat_window: window, ..rules() };
            assert!(found_under(&rules, "get_weather", OSLO, &rounds).is_empty());
        }
        let mut transcript = Transcript::default();
        transcript.called(vec![oslo("sunny")]);
        transcript.asked("And again, please.");
        let context = Context { conversation: Some(&transcript), ..Context::default() };
        assert!(scan_in(&call("get_weather", OSLO), 0, &toolbook(TOOLS), &rules(), &context).result.is_ok());
    }

    #[test]
    fn only_a_call_that_is_otherwise_right_is_held_against_earlier_ones() {
        let again = past("get_weather", r#"{"city":1}"#, "Error: city must be a string");
        let found = found_under(&rules(), "get_weather", r#"{"city":1}"#, &[&[again]]);
        assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [FaultCode::TypeMismatch]);
    }

    #[test]
    fn by_default_it_is_only_noted_and_without_a_conversation_never_found() {
        let mut transcript = Transcript::default();
        transcript.called(vec![oslo("sunny")]);
        let context = Context { conversation: Some(&transcript), ..Context::default() };
        let scan = scan_in(&call("get_weather", OSLO), 0, &toolbook(TOOLS), &ScanRules::default(), &context);
        assert!(scan.result.is_ok());
        assert_eq!(scan.advice[0].code, FaultCode::RepeatedCall);
        assert!(scan_in(&call("get_weather", OSLO), 0, &toolbook(TOOLS), &rules(), &Context::default()).result.is_ok());
    }
}
