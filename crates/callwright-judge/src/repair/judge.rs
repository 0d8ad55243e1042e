//! Repairs a call, and scans it before and after.

use std::borrow::Cow;
use std::collections::HashMap;

use super::proposal::{RepairJob, RepairedCall};
use super::{arguments, custom_input, passes, regroup, tool_name};
use callwright_common::json::RawObject;
use callwright_scanner::{Context, Scan, ToolSet, scan_in};
use callwright_types::rules::{RepairRules, ScanRules, UnknownParameters};
use callwright_types::{Call, FaultCode, RepairKind, ToolKind};

/// Repairs the call at `index` of an answer and scans the result. A call without faults, which is the common case, is
/// scanned only once.
pub fn judge(
    call: &Call,
    index: usize,
    tool_set: &ToolSet,
    scan_rules: &ScanRules,
    repair_rules: &RepairRules,
    context: &Context<'_>,
) -> (RepairedCall, Scan) {
    let scanned = scan_in(call, index, tool_set, scan_rules, context);
    let can_be_repaired = scanned.advice.iter().any(|diagnosis| scan_rules.faults.of(diagnosis.code).repairs());
    if scanned.result.is_ok() && !can_be_repaired {
        return (RepairedCall { call: call.clone(), repairs: Vec::new() }, scanned);
    }
    let repaired = repair_in(call, index, tool_set, scan_rules, repair_rules, context);
    if repaired.repairs.is_empty() {
        return (repaired, scanned);
    }
    let is_reading = repaired.repairs.iter().any(|repair| repair.kind == RepairKind::ArgumentsMended);
    let rules = if is_reading { of_reading(scan_rules) } else { Cow::Borrowed(scan_rules) };
    let scanned = scan_in(&repaired.call, index, tool_set, &rules, context);
    (repaired, scanned)
}

/// Returns the rules for arguments that are one reading of a text. A parameter that the tool does not have is evidence of a
/// wrong reading, such as that of a value with unescaped quotes.
pub(super) fn of_reading(rules: &ScanRules) -> Cow<'_, ScanRules> {
    if rules.unknown_parameters != UnknownParameters::Auto {
        return Cow::Borrowed(rules);
    }
    Cow::Owned(ScanRules { unknown_parameters: UnknownParameters::Refuse, ..rules.clone() })
}

/// Repairs the call at `index` of an answer without loss of data, within `rules`.
///
/// A call without faults is never changed, not even its whitespace. A value is changed only if it then fits its schema.
/// Faults that cannot be repaired remain for the scanner. The operation is idempotent.
pub fn repair_call(
    call: &Call,
    index: usize,
    tool_set: &ToolSet,
    scan: &ScanRules,
    rules: &RepairRules,
) -> RepairedCall {
    repair_in(call, index, tool_set, scan, rules, &Context::default())
}

/// Repairs like [`repair_call`], with the conversation, the budget and the similarity of `context`.
fn repair_in(
    call: &Call,
    index: usize,
    tool_set: &ToolSet,
    scan: &ScanRules,
    rules: &RepairRules,
    context: &Context<'_>,
) -> RepairedCall {
    let mut repaired = RepairedCall { call: call.clone(), repairs: Vec::new() };
    let renames = rules.names && scan.faults.of(FaultCode::ToolNameLiteral).repairs();
    let Some(tool) = tool_name::repair(&mut repaired, tool_set, renames, context).filter(|_| context.step()) else {
        return repaired;
    };
    let job = RepairJob { tool, tool_set, scan, rules, context };
    if tool.tool.kind == ToolKind::Custom {
        custom_input::repair(&mut repaired, &job);
    } else {
        if rules.values && job.repairs(FaultCode::NoCall) {
            arguments::repair(&mut repaired, &job);
        }
        // Parsers differ in which of two duplicate members they use, and a repair would choose one of them.
        if !gives_two_values(&repaired.call.arguments) {
            regroup::repair(&mut repaired, &job);
            passes::repair(&mut repaired, &job);
        }
    }
    for repair in &mut repaired.repairs {
        repair.call = index;
    }
    repaired
}

/// Whether an argument object has a duplicate member with different values.
fn gives_two_values(arguments: &str) -> bool {
    let Ok(object) = RawObject::parse(arguments) else { return false };
    let mut seen: HashMap<&str, &str> = HashMap::new();
    object.iter().any(|(key, value)| seen.insert(key, value.get()).is_some_and(|other| other != value.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_scanner::testing::{TOOLS, call, tool_set};
    use callwright_types::FaultCode;

    #[test]
    fn right_mended_and_faulty_calls_are_told_apart() {
        let book = tool_set(TOOLS);
        let judged = |text| {
            let (scan, repair) = (ScanRules::default(), RepairRules::default());
            let (repaired, scanned) = judge(&call("get_weather", text), 2, &book, &scan, &repair, &Context::default());
            (repaired, scanned.result)
        };
        let (repaired, result) = judged(r#"{ "city":"Oslo" }"#);
        assert!(repaired.repairs.is_empty() && result.is_ok());
        let (repaired, result) = judged(r#"{"city":"Oslo","num_days":"2"}"#);
        assert_eq!((repaired.repairs[0].call, result.unwrap().arguments()["num_days"].as_i64()), (2, Some(2)));
        let (repaired, result) = judged(r#"{"City":"Oslo","num_days":"many"}"#);
        assert_eq!((repaired.repairs.len(), result.unwrap_err()[0].code), (1, FaultCode::TypeMismatch));
    }

    #[test]
    fn an_unknown_parameter_of_arguments_without_json_is_a_fault() {
        let book = tool_set(TOOLS);
        let judged = |text| {
            let (scan, repair) = (ScanRules::default(), RepairRules::default());
            judge(&call("get_weather", text), 0, &book, &scan, &repair, &Context::default()).1
        };
        let scan = judged(r#"{"city":"Oslo","zzz":1}"#);
        assert!(scan.result.is_ok() && scan.advice[0].code == FaultCode::ParameterUnknown);
        let scan = judged("{'city':'Oslo','zzz':1}");
        assert_eq!(scan.result.unwrap_err()[0].code, FaultCode::ParameterUnknown);
    }
}
