//! Tests of the policy action for each fault, and of the precedence of policy keys.

use crate::repair::rescue::Situation;
use crate::repair::{JudgedMessage, Spoken, judge_message};
use callwright_scanner::Context;
use callwright_scanner::testing::{TOOLS, call, refusing, tool_set};
use callwright_types::FaultCode;
use callwright_types::rules::{Action, Evidence, RepairRules, Report, ScanRules, UnknownParameters};

fn judged(scan: &ScanRules, repair: &RepairRules, name: &str, arguments: &str) -> JudgedMessage {
    let calls = [call(name, arguments)];
    let spoken = Spoken { text: None, calls: &calls, situation: Situation::with(Evidence::Off) };
    judge_message(&spoken, &tool_set(TOOLS), scan, repair, &Context::default())
}

/// Returns the outcome of the call (`passed`, `noted`, `repaired` or `blocked`) and the codes of its faults.
fn fate(scan: &ScanRules, repair: &RepairRules, name: &str, arguments: &str) -> (&'static str, Vec<FaultCode>) {
    let judged = judged(scan, repair, name, arguments);
    let only = &judged.calls[0];
    let codes = |found: Vec<&callwright_types::Diagnosis>| found.into_iter().map(|diagnosis| diagnosis.code).collect();
    if only.result.is_err() {
        return ("blocked", codes(judged.diagnoses().collect()));
    }
    if !only.advice.is_empty() {
        assert!(only.repairs.is_empty(), "{name} {arguments}");
        return ("noted", codes(judged.advice().collect()));
    }
    (if only.repairs.is_empty() { "passed" } else { "repaired" }, Vec::new())
}

/// A tool's name and the arguments.
type Made = (&'static str, &'static str);

/// For each fault, one call that repair can fix, if there is one, and one call that it cannot fix.
const CALLS: [(FaultCode, Option<Made>, Made); 11] = [
    (FaultCode::NoCall, Some(("ping", "")), ("ping", "{a:")),
    (FaultCode::ToolNameLiteral, Some(("getWeather", r#"{"city":"Oslo"}"#)), ("makenote", "{}")),
    (FaultCode::ToolNameSemantic, None, ("get_wether", r#"{"city":"Oslo"}"#)),
    (FaultCode::ToolUnknown, None, ("transfer_money", "{}")),
    (FaultCode::ParameterOfOtherTool, None, ("get_weather", r#"{"city":"Oslo","order_id":1}"#)),
    (
        FaultCode::ParameterLiteral,
        Some(("get_weather", r#"{"city":"Oslo","numDays":1}"#)),
        ("get_weather", r#"{"city":"Oslo","City":"Ulm"}"#),
    ),
    (FaultCode::ParameterSemantic, None, ("get_weather", r#"{"city":"Oslo","num_dayz":1}"#)),
    (FaultCode::ParameterMissing, Some(("orders.cancel", r#"{"order_id":1}"#)), ("get_weather", "{}")),
    (FaultCode::ParameterUnknown, None, ("get_weather", r#"{"city":"Oslo","zzz":1}"#)),
    (
        FaultCode::TypeMismatch,
        Some(("get_weather", r#"{"city":"Oslo","num_days":"2"}"#)),
        ("get_weather", r#"{"city":"Oslo","num_days":"two"}"#),
    ),
    (
        FaultCode::Constraint,
        Some(("get_weather", r#"{"city":"Oslo","unit":"Celsius"}"#)),
        ("get_weather", r#"{"city":"Oslo","unit":"kelvin"}"#),
    ),
];

#[test]
fn each_action_does_to_each_fault_what_it_says() {
    let fates = [
        (Action::Off, "passed", "passed"),
        (Action::Advise, "noted", "noted"),
        (Action::Repair, "repaired", "noted"),
        (Action::Feedback, "repaired", "blocked"),
    ];
    for (code, mendable, hopeless) in CALLS {
        for (action, of_mendable, of_hopeless) in fates {
            let faults = refusing().faults.with(code, action);
            let rules = ScanRules { faults, ..refusing() };
            let expect = |(name, arguments): (&str, &str), expected: &str| {
                let (fate, codes) = fate(&rules, &RepairRules::default(), name, arguments);
                assert_eq!(fate, expected, "{code} {action:?} {name} {arguments} {codes:?}");
                assert!(codes.iter().all(|found| *found == code), "{code} {action:?} {codes:?}");
            };
            mendable.into_iter().for_each(|call| expect(call, of_mendable));
            expect(hopeless, of_hopeless);
        }
    }
}

#[test]
fn what_is_let_through_passes_as_it_is() {
    for (code, mendable, hopeless) in CALLS {
        for (name, arguments) in mendable.into_iter().chain([hopeless]) {
            for action in [Action::Off, Action::Advise] {
                let faults = refusing().faults.with(code, action);
                let judged = judged(&ScanRules { faults, ..refusing() }, &RepairRules::default(), name, arguments);
                let checked = judged.calls[0].result.as_ref().unwrap();
                assert_eq!((checked.call().name.as_str(), checked.call().arguments.as_str()), (name, arguments));
                assert_eq!(judged.verdict(), callwright_types::Verdict::Clean);
            }
        }
    }
}

#[test]
fn a_repair_requires_permission_for_its_fault_and_its_kind() {
    let no_repair = RepairRules { names: false, values: false, defaults: false, ..RepairRules::default() };
    for (code, mendable, _) in CALLS {
        let Some((name, arguments)) = mendable else { continue };
        for (action, expected) in [(Action::Repair, "noted"), (Action::Feedback, "blocked")] {
            let faults = refusing().faults.with(code, action);
            let rules = ScanRules { faults, ..refusing() };
            assert_eq!(fate(&rules, &no_repair, name, arguments), (expected, vec![code]));
        }
    }
}

#[test]
fn unknown_parameters_drop_only_if_repairable_and_not_allowed() {
    use UnknownParameters::{Allow, Auto, Drop, Refuse};
    let table = [
        (Allow, ["passed", "passed", "passed", "passed"]),
        (Auto, ["passed", "noted", "noted", "noted"]),
        (Drop, ["passed", "noted", "repaired", "repaired"]),
        (Refuse, ["passed", "noted", "noted", "blocked"]),
    ];
    for (unknown_parameters, fates) in table {
        let actions = [Action::Off, Action::Advise, Action::Repair, Action::Feedback];
        for (action, expected) in actions.into_iter().zip(fates) {
            let faults = refusing().faults.with(FaultCode::ParameterUnknown, action);
            let rules = ScanRules { faults, unknown_parameters, ..refusing() };
            let (fate, _) = fate(&rules, &RepairRules::default(), "get_weather", r#"{"city":"Oslo","zzz":1}"#);
            assert_eq!(fate, expected, "{unknown_parameters:?} {action:?}");
        }
    }
}

#[test]
fn a_noted_fault_hides_no_other_fault_in_the_report() {
    let arguments = r#"{"Zzz":1,"num_days":"two"}"#;
    for report in [Report::First, Report::All] {
        let faults = refusing()
            .faults
            .with(FaultCode::ParameterUnknown, Action::Advise)
            .with(FaultCode::ParameterMissing, Action::Off);
        let rules = ScanRules { faults, report, ..refusing() };
        let judged = judged(&rules, &RepairRules::default(), "get_weather", arguments);
        let codes: Vec<_> = judged.diagnoses().map(|diagnosis| diagnosis.code).collect();
        assert_eq!(codes, [FaultCode::TypeMismatch], "{report:?}");
        assert_eq!(judged.calls[0].advice[0].code, FaultCode::ParameterUnknown);
    }
}

#[test]
fn a_missing_parameter_is_its_own_fault_if_wrong_names_pass() {
    let faults = refusing().faults.with(FaultCode::ParameterLiteral, Action::Advise);
    let rules = ScanRules { faults, ..refusing() };
    let (fate, codes) = fate(&rules, &RepairRules::default(), "get_weather", r#"{"City":"Oslo"}"#);
    assert_eq!((fate, codes), ("blocked", vec![FaultCode::ParameterMissing]));
}
