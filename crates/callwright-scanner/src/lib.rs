//! Fault table with one file per fault code, and [`CheckedCall`].
//!
//! Owns the validation of calls against the offered tools. Must not do I/O or call a model: results that need either
//! are passed in. Only a [`CheckedCall`] can be executed, and the scan is its only constructor.

mod budget;
mod checked_call;
mod context;
pub mod examination;
mod faults;
#[cfg(test)]
mod hostile_tests;
mod mention;
pub mod names;
mod place;
mod relevance;
mod same_value;
pub mod schema;
mod settings;
#[cfg(test)]
mod shared_data_tests;
pub mod swallowed;
// Always compiled: a feature for it would build every crate twice for `cargo test`. The linker drops it.
#[doc(hidden)]
pub mod testing;
mod tolerance;
mod tool_set;
mod transcript;

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use budget::{BudgetLimits, JudgementBudget};
pub use checked_call::CheckedCall;
pub use context::{Context, Expectation, Expectations, Reactions};
pub use examination::{Examination, MAX_EXACT, UnknownMember};
pub use faults::case::{CallFreeAnswer, FaultCase};
pub use place::ArgumentPath;
pub use relevance::{FoundTool, Relevance, RelevanceSource};
pub use same_value::{is_same, is_same_reading};
pub use schema::{CompiledSchema, MAX_LISTED, Openness, SchemaRule, ShapeNode, Violation, quoted, type_names, type_of};
pub use schema::{Parameter, Validators};
pub use settings::Settings;
pub use tool_set::{CompiledTool, ToolSet};
pub use transcript::{Conversation, PastCall, Round, Transcript};

use callwright_common::json::Pointer;
use callwright_types::rules::{Action, Report, ScanRules};
use callwright_types::{Call, Diagnosis, FaultCode, ToolKind};
use faults::{Check, TABLE};

/// Maximum number of diagnoses per call; more do not help to repair it.
const MAX_DIAGNOSES: usize = 32;

/// Result of a scan.
#[derive(Debug)]
pub struct Scan {
    /// The call that may be forwarded or executed, or the faults that reject it, in the order of the fault table.
    /// Depending on the rules, these are the faults of the first faulty level or of all levels. Empty only if the
    /// budget is spent.
    pub result: Result<CheckedCall, Vec<Diagnosis>>,
    /// Faults that the rules record without rejecting the call.
    pub advice: Vec<Diagnosis>,
}

/// Validates the call at `index` of an answer against the offered tools, without further context.
///
/// # Errors
/// The faults that reject the call.
pub fn scan(call: &Call, index: usize, tool_set: &ToolSet, rules: &ScanRules) -> Result<CheckedCall, Vec<Diagnosis>> {
    scan_in(call, index, tool_set, rules, &Context::default()).result
}

/// Validates the call at `index` of an answer against the offered tools and the context.
///
/// The rules do not change the classification of a fault, only the reaction to it ([`Action`]). The scan first finds
/// all faults, then drops those that are switched off and separates those that are only recorded.
pub fn scan_in(call: &Call, index: usize, tool_set: &ToolSet, rules: &ScanRules, context: &Context<'_>) -> Scan {
    if !context.step() {
        return Scan { result: Err(Vec::new()), advice: Vec::new() };
    }
    let case = FaultCase::new(call, index, tool_set, rules, context);
    let tool = tool_set.get(&call.name);
    let arguments = serde_json::from_str::<Map<String, Value>>(&call.arguments).map(Value::Object);
    let (case, found) = match (tool, &arguments) {
        (Some(tool), Ok(arguments)) => {
            let case = case.with_arguments(arguments);
            let found = judge(&case, tool, arguments);
            (case, found)
        }
        (tool, arguments) => {
            let found = judge_unusable(&case, tool.is_some(), arguments.as_ref().err());
            (case, found)
        }
    };
    let (blocking, advice) = sort_by_action(&case, tool, found);
    let result = if blocking.is_empty() && !context.is_spent() {
        let tool = tool.map_or_else(|| Arc::new(CompiledTool::unknown(&call.name)), Arc::clone);
        let arguments = if let Ok(Value::Object(arguments)) = arguments { Some(arguments) } else { None };
        Ok(CheckedCall::new(call.clone(), tool, arguments))
    } else {
        Err(report(blocking, rules.report))
    };
    Scan { result, advice: report(advice, Report::All) }
}

/// Accepts a native call of a tool whose schema is the provider's.
pub fn accept_unjudged(call: &Call, tool: &Arc<CompiledTool>) -> Scan {
    let arguments = serde_json::from_str(&call.arguments).ok();
    Scan { result: Ok(CheckedCall::new(call.clone(), Arc::clone(tool), arguments)), advice: Vec::new() }
}

/// Scans an answer without a tool call. Returns the first fault of the table that applies and is not switched off.
pub fn scan_answer(answer: &CallFreeAnswer<'_>, tool_set: &ToolSet, rules: &ScanRules) -> Option<Diagnosis> {
    if tool_set.is_empty() {
        return None;
    }
    TABLE.iter().filter(|(code, _)| rules.faults.of(*code) != Action::Off).find_map(|(_, check)| match check {
        Check::Answer(check) => check(answer),
        _ => None,
    })
}

/// Splits the faults into those that reject the call and those that are only recorded.
fn sort_by_action(
    case: &FaultCase<'_>,
    tool: Option<&Arc<CompiledTool>>,
    found: Vec<Diagnosis>,
) -> (Vec<Diagnosis>, Vec<Diagnosis>) {
    // A tool that may exist is not refused for its name, nor for arguments that another tool would not accept.
    let is_open = tool.is_none() && case.may_exist() && has_json(case.call);
    // The proxy's own tools never receive a call without readable arguments.
    let is_proxys = tool.is_some_and(|tool| tool.tool.owner.is_proxy());
    let (blocking, mut advice): (Vec<_>, Vec<_>) = found.into_iter().partition(|diagnosis| {
        !is_open && (case.blocks(diagnosis) || (diagnosis.code == FaultCode::NoCall && is_proxys))
    });
    advice.retain(|diagnosis| case.rules.faults.of(diagnosis.code) != Action::Off);
    (blocking, advice)
}

/// Whether the arguments are JSON, or there are none.
fn has_json(call: &Call) -> bool {
    call.arguments.trim().is_empty() || serde_json::from_str::<&RawValue>(&call.arguments).is_ok()
}

/// Returns the faults of a call that cannot be validated against a schema: its arguments cannot be parsed, or its tool
/// is unknown.
fn judge_unusable(case: &FaultCase<'_>, tool_is_known: bool, error: Option<&serde_json::Error>) -> Vec<Diagnosis> {
    let unread = error
        .and_then(|error| first(|check| if let Check::Arguments(check) = check { check(case, error) } else { None }));
    let unknown = match tool_is_known {
        true => None,
        false => first(|check| if let Check::ToolName(check) = check { check(case) } else { None }),
    };
    unread.into_iter().chain(unknown).collect()
}

/// Returns the faults of parsed arguments.
fn judge(case: &FaultCase<'_>, tool: &CompiledTool, arguments: &Value) -> Vec<Diagnosis> {
    let found = tool.examine(arguments, case.rules.unknown_parameters);
    let mut diagnoses = if found.is_clean() { Vec::new() } else { judge_schema(case, tool, arguments, found) };
    if tool.tool.kind == ToolKind::Custom {
        // The text is a program or a patch: its words are not arguments.
        return diagnoses;
    }
    for (code, check) in &TABLE {
        let Check::Call(check) = check else { continue };
        // Only calls without other faults are compared with earlier calls.
        let comes_last = code.level() == FaultCode::RepeatedCall.level();
        if case.rules.faults.of(*code) == Action::Off
            || (comes_last && diagnoses.iter().any(|known| case.blocks(known)))
        {
            continue;
        }
        if !case.context.step() {
            break;
        }
        let known = diagnoses.len();
        for diagnosis in check(case, tool, arguments) {
            debug_assert_eq!(diagnosis.code, *code, "a fault's check gives its own code");
            // A value that violates its schema is not reported for a second fault.
            if !diagnoses.iter().take(known).any(|other| is_at_value(other, &diagnosis)) {
                diagnoses.push(diagnosis);
            }
        }
    }
    diagnoses
}

/// Whether both faults are at the same value.
fn is_at_value(known: &Diagnosis, diagnosis: &Diagnosis) -> bool {
    known.path == diagnosis.path && !diagnosis.path.is_root()
}

fn judge_schema(
    case: &FaultCase<'_>,
    tool: &CompiledTool,
    arguments: &Value,
    found: Examination<'_>,
) -> Vec<Diagnosis> {
    let Examination { unknown: members, mut violations } = found.explain(tool.compiled(), arguments);
    let judged: Vec<Option<Diagnosis>> =
        members.iter().take(MAX_DIAGNOSES).map(|member| judge_member(case, tool, member)).collect();
    tolerance::mark(case, tool, &members, &judged, &violations);
    violations.retain(|violation| !is_meant(case, &members, &judged, violation));
    drop_followers(&mut violations);
    let mut diagnoses: Vec<Diagnosis> = judged.into_iter().flatten().collect();
    diagnoses.extend(reported(&violations).take_while(|_| case.context.step()).filter_map(|violation| {
        first(|check| if let Check::Value(check) = check { check(case, tool, arguments, violation) } else { None })
    }));
    diagnoses
}

/// Limits the violations of each kind to the number that is reported per call, because describing each one requires a
/// schema lookup.
fn reported(violations: &[Violation]) -> impl Iterator<Item = &Violation> {
    let mut taken = [0; 3];
    violations.iter().filter(move |violation| {
        let [missing, types, others] = &mut taken;
        let count = match violation.rule {
            SchemaRule::Missing(_) => missing,
            SchemaRule::Type(_) => types,
            _ => others,
        };
        *count += 1;
        *count <= MAX_DIAGNOSES
    })
}

fn judge_member(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> Option<Diagnosis> {
    if !case.context.step() {
        return None;
    }
    first(|check| if let Check::Member(check) = check { check(case, tool, member) } else { None })
}

/// Whether an unknown member matches no parameter of this or another tool (E3), at no level.
pub fn means_nothing(case: &FaultCase<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> bool {
    judge_member(case, tool, member).is_some_and(|diagnosis| {
        let mut facts =
            ["places", "inner", "objects"].into_iter().filter_map(|fact| diagnosis.facts.get(fact)?.as_array());
        diagnosis.code == FaultCode::ParameterUnknown && facts.all(Vec::is_empty)
    })
}

/// Whether an unknown member is meant to be the missing parameter. Then the name is the only fault, unless the rules
/// accept wrong names.
fn is_meant(
    case: &FaultCase<'_>,
    members: &[UnknownMember<'_>],
    judged: &[Option<Diagnosis>],
    violation: &Violation,
) -> bool {
    let SchemaRule::Missing(name) = &violation.rule else { return false };
    members.iter().zip(judged).any(|(member, judged)| {
        let judged = judged.as_ref().filter(|diagnosis| diagnosis.suggestion.as_ref() == Some(name));
        member.object == violation.path && judged.is_some_and(|diagnosis| case.blocks(diagnosis))
    })
}

/// Drops other violations at values of the wrong type, because the type causes them.
fn drop_followers(violations: &mut Vec<Violation>) {
    let mistyped: HashSet<Pointer> = violations
        .iter()
        .filter(|violation| matches!(violation.rule, SchemaRule::Type(_)))
        .map(|violation| violation.path.clone())
        .collect();
    violations.retain(|violation| match violation.rule {
        SchemaRule::Options(_) | SchemaRule::Constraint(..) => !mistyped.contains(&violation.path),
        _ => true,
    });
}

/// Returns the diagnosis of the first check in the table that finds a fault.
fn first(run: impl Fn(&Check) -> Option<Diagnosis>) -> Option<Diagnosis> {
    TABLE.iter().find_map(|(code, check)| {
        let diagnosis = run(check)?;
        debug_assert_eq!(diagnosis.code, *code, "a fault's check gives its own code");
        Some(diagnosis)
    })
}

fn report(mut diagnoses: Vec<Diagnosis>, report: Report) -> Vec<Diagnosis> {
    diagnoses.sort_by_key(|diagnosis| diagnosis.code.level());
    if report == Report::First
        && let Some(level) = diagnoses.first().map(|diagnosis| diagnosis.code.level())
    {
        diagnoses.retain(|diagnosis| diagnosis.code.level() == level);
    }
    diagnoses.dedup_by(|one, other| (one.code, &one.path) == (other.code, &other.path));
    diagnoses.truncate(MAX_DIAGNOSES);
    diagnoses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{TOOLS, call, codes, faults_under, refusing, tool_set};

    #[test]
    fn every_code_has_one_table_row_in_the_order_of_judgement() {
        let codes: HashSet<FaultCode> = TABLE.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes.len(), TABLE.len());
        assert!(TABLE.windows(2).all(|pair| pair[0].0.level() <= pair[1].0.level()));
    }

    #[test]
    fn the_first_faulty_level_or_every_one_is_reported() {
        use FaultCode::{NoCall, ParameterUnknown, ToolUnknown, TypeMismatch};
        let all = ScanRules { report: Report::All, ..refusing() };
        let both = |name, arguments| -> [Vec<FaultCode>; 2] {
            let found = faults_under(&all, TOOLS, name, arguments);
            [codes(TOOLS, name, arguments), found.iter().map(|diagnosis| diagnosis.code).collect()]
        };
        let found = both("get_weather", r#"{"city":1,"zzz":2}"#);
        assert_eq!(found, [vec![ParameterUnknown], vec![ParameterUnknown, TypeMismatch]]);
        assert_eq!(both("transfer_money", "nonsense"), [vec![NoCall], vec![NoCall, ToolUnknown]]);
    }

    #[test]
    fn a_checked_call_holds_what_was_scanned() {
        let book = tool_set(TOOLS);
        let call = call("get_weather", r#"{"city": "Oslo"}"#);
        let checked = scan(&call, 0, &book, &ScanRules::default()).unwrap();
        assert_eq!((checked.call(), checked.tool().name()), (&call, "get_weather"));
        assert_eq!((checked.arguments()["city"].as_str(), checked.is_free_text()), (Some("Oslo"), false));
    }

    #[test]
    fn a_custom_tools_text_is_one_member_without_judged_words() {
        let tools = r#"[{"name":"sql","kind":"custom"}]"#;
        let arguments = r#"{"input":"SELECT '<your_city>' -- TODO"}"#;
        let checked = scan(&call("sql", arguments), 0, &tool_set(tools), &ScanRules::default()).unwrap();
        assert_eq!(checked.custom_input(), Some("SELECT '<your_city>' -- TODO"));
        assert_eq!(codes(tools, "sql", "{}"), [FaultCode::ParameterMissing]);
        assert_eq!(codes(tools, "sql", r#"{"input":5}"#), [FaultCode::TypeMismatch]);
    }

    #[test]
    fn a_value_of_the_wrong_type_is_one_fault() {
        assert_eq!(codes(TOOLS, "get_weather", r#"{"city":"Oslo","unit":7}"#), [FaultCode::TypeMismatch]);
    }
}
