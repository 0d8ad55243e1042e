//! The fault table and its rules, one file per code; `CheckedCall`.
//!
//! Owns the judgement of calls against the tools offered. Must not do I/O or call a model: what it cannot compute is
//! handed to it.
//! A call that it did not pass cannot be executed: `CheckedCall` has no other constructor.

mod checked_call;
pub(crate) mod examination;
pub(crate) mod excerpt;
mod faults;
#[cfg(test)]
pub(crate) mod generated;
pub(crate) mod names;
pub(crate) mod schema;
mod settings;
#[cfg(test)]
pub(crate) mod testing;
mod toolbook;

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

pub use checked_call::CheckedCall;
pub use schema::{Parameter, Validators};
pub use settings::Settings;
pub use toolbook::{CompiledTool, Toolbook};

use crate::domain::json::Pointer;
use crate::domain::rules::{Report, ScanRules};
use crate::domain::{Call, Diagnosis, FaultCode};
use examination::{Examination, UnknownMember};
use faults::{Case, Check, TABLE};
use schema::{Rule, Violation};

/// Diagnoses of one call that are reported; more do not help anybody to mend it.
const MAX_DIAGNOSES: usize = 32;

/// Judges the call at `index` of an answer against the tools offered.
///
/// # Errors
/// The faults found, in the order of judgement: all of the first faulty level, or all that can be judged, as `rules` say.
/// Never empty.
pub fn scan(call: &Call, index: usize, toolbook: &Toolbook, rules: &ScanRules) -> Result<CheckedCall, Vec<Diagnosis>> {
    let case = Case { call, index, toolbook, rules };
    let tool = toolbook.get(&call.name);
    if let Some(tool) = tool.filter(|tool| tool.tool.free_text) {
        return Ok(CheckedCall::new(call.clone(), Arc::clone(tool), Map::new()));
    }
    let arguments = serde_json::from_str::<Map<String, Value>>(&call.arguments);
    match (tool, arguments) {
        (Some(tool), Ok(arguments)) => {
            let arguments = Value::Object(arguments);
            let found = tool.examine(&arguments, rules.unknown_parameters);
            match arguments {
                Value::Object(arguments) if found.is_clean() => {
                    Ok(CheckedCall::new(call.clone(), Arc::clone(tool), arguments))
                }
                arguments => Err(judge(&case, tool, &arguments, found)),
            }
        }
        (tool, arguments) => Err(judge_unusable(&case, tool.is_some(), arguments.err())),
    }
}

/// The faults of a call that cannot be held against a schema: its arguments cannot be read, or its tool is not known.
fn judge_unusable(case: &Case<'_>, tool_is_known: bool, error: Option<serde_json::Error>) -> Vec<Diagnosis> {
    let mut diagnoses = Vec::new();
    if let Some(error) = error {
        diagnoses.extend(first(|check| match check {
            Check::Arguments(check) => check(case, &error),
            _ => None,
        }));
    }
    if !tool_is_known && (diagnoses.is_empty() || case.rules.report == Report::All) {
        diagnoses.extend(first(|check| match check {
            Check::ToolName(check) => check(case),
            _ => None,
        }));
    }
    diagnoses
}

/// The faults of arguments that were held against their tool's schema.
fn judge(case: &Case<'_>, tool: &CompiledTool, arguments: &Value, found: Examination<'_>) -> Vec<Diagnosis> {
    let Examination { unknown: members, mut violations } = found.explain(tool.compiled(), arguments);
    let mut diagnoses: Vec<Diagnosis> = members.iter().filter_map(|member| judge_member(case, tool, member)).collect();
    violations.retain(|violation| !is_meant(&members, &diagnoses, violation));
    drop_followers(&mut violations);
    diagnoses.extend(violations.iter().filter_map(|violation| {
        first(|check| match check {
            Check::Value(check) => check(case, tool, arguments, violation),
            _ => None,
        })
    }));
    report(diagnoses, case.rules.report)
}

fn judge_member(case: &Case<'_>, tool: &CompiledTool, member: &UnknownMember<'_>) -> Option<Diagnosis> {
    first(|check| match check {
        Check::Member(check) => check(case, tool, member),
        _ => None,
    })
}

/// Is there nothing that an unknown member could mean, here or in another tool (E3)?
pub(crate) fn means_nothing(
    call: &Call,
    toolbook: &Toolbook,
    rules: &ScanRules,
    tool: &CompiledTool,
    member: &UnknownMember<'_>,
) -> bool {
    let case = Case { call, index: 0, toolbook, rules };
    judge_member(&case, tool, member).is_some_and(|diagnosis| diagnosis.code == FaultCode::ParameterUnknown)
}

/// Is the parameter that is missing the one that a member with an unknown name means?
fn is_meant(members: &[UnknownMember<'_>], diagnoses: &[Diagnosis], violation: &Violation) -> bool {
    let Rule::Missing(name) = &violation.rule else { return false };
    members
        .iter()
        .zip(diagnoses)
        .any(|(member, diagnosis)| member.object == violation.path && diagnosis.suggestion.as_ref() == Some(name))
}

/// A value of the wrong type breaks other rules for that reason alone: only the type is reported.
fn drop_followers(violations: &mut Vec<Violation>) {
    let mistyped: HashSet<Pointer> = violations
        .iter()
        .filter(|violation| matches!(violation.rule, Rule::Type(_)))
        .map(|violation| violation.path.clone())
        .collect();
    violations.retain(|violation| match violation.rule {
        Rule::Options(_) | Rule::Constraint(..) => !mistyped.contains(&violation.path),
        _ => true,
    });
}

/// The diagnosis of the first check in the table that gives one.
fn first(run: impl Fn(&Check) -> Option<Diagnosis>) -> Option<Diagnosis> {
    TABLE.iter().find_map(|fault| {
        let diagnosis = run(&fault.check)?;
        debug_assert_eq!(diagnosis.code, fault.code, "a fault's check gives its own code");
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

const _: () = assert!(FaultCode::ALL.len() >= TABLE.len(), "a code has one row at most");
