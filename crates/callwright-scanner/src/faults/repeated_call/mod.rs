//! E5 `repeated_call`: the same call is made again with the same arguments, and no new information has arrived since.
//!
//! All of these conditions hold: the same tool was called with equal arguments (regardless of member order and number
//! notation) within the window of the policy. The user has sent no message since, no other call has returned new
//! information since, and the result is still in the context of the model. Repetition is not a fault if the earlier
//! result was a transient failure (a timeout, a busy server) or reports work in progress. The same holds if the tool is
//! made for repeated calls (`wait`, `poll`, `next_page`, `press_key`). Two equal calls in one answer are not a
//! repetition: they may be intended.
//!
//! Even then a repetition is only likely to be a mistake, because stateful tools return something new each time. By
//! default it is recorded and does not reject the call. A [`circle`] is stronger evidence and a separate fault.

pub(super) mod circle;
mod results;
mod tools;

use serde_json::{Value, json};

use crate::{CompiledTool, FaultCase, PastCall, quoted};
use callwright_common::json::Pointer;
use callwright_common::text::excerpt;
use callwright_types::{Diagnosis, FaultCode};
use results::{MAX_RESULT, find, has_failed, is_gone, requests_repeat};
use tools::is_made_to_be_repeated;

pub(super) fn check(case: &FaultCase<'_>, _: &CompiledTool, arguments: &Value) -> Vec<Diagnosis> {
    let conversation = case.context.conversation.filter(|conversation| conversation.may_have_calls());
    let Some(conversation) = conversation.filter(|_| !is_made_to_be_repeated(&case.call.name)) else {
        return Vec::new();
    };
    let rounds = conversation.transcript().rounds();
    let window = rounds.iter().rev().take(case.rules.repeat_window as usize);
    for (index, round) in window.enumerate() {
        if let Some((earlier, result)) = find(round, &case.call.name, arguments) {
            let was_final = !requests_repeat(result) && !is_gone(result);
            // A call that is reported as a circle is not reported as a repetition, too.
            let is_new = was_final && !circle::is_reported(case, arguments);
            return if is_new { vec![diagnose(case, earlier, result, index + 1)] } else { Vec::new() };
        }
        if round.iter().any(gave_something) {
            return Vec::new();
        }
    }
    Vec::new()
}

fn diagnose(case: &FaultCase<'_>, earlier: &PastCall, result: &str, rounds_ago: usize) -> Diagnosis {
    let name = quoted(&earlier.name);
    let message = format!("`{name}` was called with the same arguments before, and nothing has changed since");
    let shown = excerpt(result, MAX_RESULT);
    let facts = json!({ "name": name, "rounds_ago": rounds_ago, "result": shown, "failed": has_failed(result) });
    case.diagnosis(FaultCode::RepeatedCall, Pointer::root(), message, facts)
}

/// Whether a call returned new information to the model. Failures and empty results do not count.
fn gave_something(call: &PastCall) -> bool {
    call.result.as_deref().is_some_and(|result| !result.trim().is_empty() && !has_failed(result))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, call, past, tool_set};
    use crate::{Context, PastCall, Transcript, scan_in};
    use callwright_types::rules::{Action, ScanRules};
    use callwright_types::{Diagnosis, FaultCode};

    const OSLO: &str = r#"{"city":"Oslo","num_days":2}"#;

    fn found_under(rules: &ScanRules, name: &str, arguments: &str, rounds: &[&[PastCall]]) -> Vec<Diagnosis> {
        let mut transcript = Transcript::default();
        transcript.add_user_message("What is the weather?");
        rounds.iter().for_each(|round| transcript.called(round.to_vec()));
        let context = Context { conversation: Some(&transcript), ..Context::default() };
        scan_in(&call(name, arguments), 0, &tool_set(TOOLS), rules, &context).result.err().unwrap_or_default()
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
    fn a_call_is_no_repetition_after_new_or_forgotten_knowledge() {
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
            "Error 503: service unavailable", "request timed out", r#"{"status":"PENDING"}"#, "job is in progress",
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
            assert!(scan_in(&call(name, "{}"), 0, &tool_set(tools), &rules(), &context).result.is_ok());
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
        transcript.add_user_message("And again, please.");
        let context = Context { conversation: Some(&transcript), ..Context::default() };
        assert!(scan_in(&call("get_weather", OSLO), 0, &tool_set(TOOLS), &rules(), &context).result.is_ok());
    }

    #[test]
    fn only_an_otherwise_right_call_is_compared_with_earlier_ones() {
        let again = past("get_weather", r#"{"city":1}"#, "Error: city must be a string");
        let found = found_under(&rules(), "get_weather", r#"{"city":1}"#, &[&[again]]);
        assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [FaultCode::TypeMismatch]);
    }

    #[test]
    fn it_is_only_noted_by_default_and_requires_a_conversation() {
        let mut transcript = Transcript::default();
        transcript.called(vec![oslo("sunny")]);
        let context = Context { conversation: Some(&transcript), ..Context::default() };
        let scan = scan_in(&call("get_weather", OSLO), 0, &tool_set(TOOLS), &ScanRules::default(), &context);
        assert!(scan.result.is_ok());
        assert_eq!(scan.advice[0].code, FaultCode::RepeatedCall);
        assert!(scan_in(&call("get_weather", OSLO), 0, &tool_set(TOOLS), &rules(), &Context::default()).result.is_ok());
    }
}
