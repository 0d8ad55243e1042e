//! Repairs arguments in passes: a renamed parameter can reveal a value to repair, and a parsed string can reveal names.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::proposal::{RepairJob, RepairProposal, RepairedCall, parse};
use super::{coercion, member, swallowed, value};
use callwright_common::json::{Edit, Pointer, apply};
use callwright_scanner::swallowed::RULE;
use callwright_scanner::{Examination, SchemaRule, Violation};
use callwright_types::{Call, FaultCode, Repair, RepairKind};

/// Maximum number of passes over the arguments. Each pass may reveal new repairs.
const MAX_PASSES: usize = 12;

/// Maximum number of attempts. Each attempt omits the repairs that failed to make their location valid.
const MAX_TRIALS: usize = 3;

/// Maximum number of bytes that the look-ups and edits of one pass may read and write, which bounds the time of a repair.
const MAX_EDITED_BYTES: usize = 8 * 1024 * 1024;

/// Repairs the arguments, and keeps only the repairs that make their location valid.
pub(super) fn repair(repaired: &mut RepairedCall, job: &RepairJob<'_>) {
    let call = &repaired.call;
    let Some(arguments) = parse(&call.arguments) else { return };
    if job.fits(&arguments) || job.tool.compiled().reports_only_first(&arguments) {
        return;
    }
    let mut blocked = BTreeSet::new();
    for _ in 0..MAX_TRIALS {
        let Some(trial) = RepairTrial::run(call, &blocked, job) else { return };
        let failed = trial.failed(job);
        if failed.is_empty() {
            repaired.call.arguments = trial.text;
            repaired.repairs.extend(trial.repairs);
            return;
        }
        blocked.extend(failed);
    }
}

/// One attempt: the arguments after all possible repairs.
struct RepairTrial {
    text: String,
    repairs: Vec<Repair>,
    /// Violations after the renames and before any value was changed.
    before: Vec<Violation>,
}

impl RepairTrial {
    /// Runs one attempt. Returns `None` if the arguments are too large or the budget is spent.
    fn run(call: &Call, blocked: &BTreeSet<Pointer>, job: &RepairJob<'_>) -> Option<Self> {
        let mut trial = Self { text: call.arguments.clone(), repairs: Vec::new(), before: Vec::new() };
        for _ in 0..MAX_PASSES {
            if !job.context.step() {
                return None;
            }
            let arguments = parse(&trial.text)?;
            let found = job.examine(&arguments).explain(job.tool.compiled(), &arguments);
            let mut changes = name_changes(&found, &arguments, call, job);
            if changes.is_empty() {
                changes = value_changes(&found, &arguments, &trial.text, blocked, job);
                if trial.before.is_empty() {
                    trial.before = found.violations;
                }
            }
            if changes.is_empty() {
                break;
            }
            if trial.text.len().saturating_mul(changes.len()) > MAX_EDITED_BYTES {
                return None;
            }
            let (edits, repairs): (Vec<Edit>, Vec<Repair>) =
                changes.into_iter().map(|change| (change.edit, change.repair)).unzip();
            trial.text = apply(&trial.text, &edits).ok()?;
            trial.repairs.extend(repairs);
        }
        Some(trial)
    }

    /// Returns the locations where a value was changed and a violation remains or is new.
    fn failed(&self, job: &RepairJob<'_>) -> Vec<Pointer> {
        let Some(arguments) = parse(&self.text) else { return Vec::new() };
        let left = job.examine(&arguments).explain(job.tool.compiled(), &arguments).violations;
        if left.is_empty() {
            return Vec::new();
        }
        let left: Vec<(&Violation, Option<Pointer>, bool)> =
            left.iter().map(|violation| (violation, missing(violation), !self.before.contains(violation))).collect();
        let concerns = |path: &Pointer| {
            left.iter().any(|(Violation { path: place, .. }, missing, is_new)| {
                missing.as_ref() == Some(path) || path.contains(place) || *is_new && place.contains(path)
            })
        };
        let values = self
            .repairs
            .iter()
            .filter(|repair| !matches!(repair.kind, RepairKind::ParameterRenamed | RepairKind::ParameterDropped));
        values.map(|repair| &repair.path).filter(|path| concerns(path)).cloned().collect()
    }
}

/// Returns the location of the missing member, if one is missing.
fn missing(violation: &Violation) -> Option<Pointer> {
    match &violation.rule {
        SchemaRule::Missing(name) => Some(violation.path.child(name)),
        _ => None,
    }
}

fn name_changes(found: &Examination<'_>, arguments: &Value, call: &Call, job: &RepairJob<'_>) -> Vec<RepairProposal> {
    let mut changes = Vec::new();
    let mut taken = HashSet::new();
    let renames = job.rules.names && job.repairs(FaultCode::ParameterLiteral);
    for member in found.unknown.iter().take_while(|_| job.context.step()) {
        let rename = if renames { member::rename(member, arguments, &mut taken) } else { None };
        changes.extend(rename.or_else(|| member::removal(member, arguments, call, job)));
    }
    // A renamed object moves its members: the next pass examines them.
    let renamed: HashSet<Pointer> = changes.iter().map(|change| edited(&change.edit).clone()).collect();
    changes.retain(|change| !outer_places(edited(&change.edit)).any(|outer| renamed.contains(&outer)));
    changes
}

/// Returns the objects and arrays that contain a location.
fn outer_places(place: &Pointer) -> impl Iterator<Item = Pointer> {
    let text = place.as_str();
    text.match_indices('/').filter_map(|(end, _)| text.get(..end)).map(Pointer::from)
}

fn edited(edit: &Edit) -> &Pointer {
    match edit {
        Edit::Set(pointer, _) | Edit::SetText(pointer, _) | Edit::Rename(pointer, _) | Edit::Remove(pointer) => pointer,
    }
}

fn value_changes(
    found: &Examination<'_>,
    arguments: &Value,
    text: &str,
    blocked: &BTreeSet<Pointer>,
    job: &RepairJob<'_>,
) -> Vec<RepairProposal> {
    let mut changes: Vec<RepairProposal> = Vec::new();
    let mut taken = blocked.clone();
    let fills = job.rules.defaults && found.unknown.is_empty() && job.repairs(FaultCode::ParameterMissing);
    // Each coercion of a number looks up its text.
    let coerces = job.rules.values
        && job.repairs(FaultCode::TypeMismatch)
        && text.len().saturating_mul(found.violations.len()) <= MAX_EDITED_BYTES;
    let normalises = job.rules.values && job.repairs(FaultCode::Constraint);
    if normalises && found.violations.iter().any(is_swallowed) {
        let parts = swallowed::propose(arguments, job.tool);
        if parts.iter().all(|change| taken.insert(change.repair.path.clone())) {
            changes.extend(parts);
        }
    }
    for violation in found.violations.iter().take_while(|_| job.context.step()) {
        let mut change = if fills { value::default(violation, job.tool) } else { None };
        if coerces {
            change = change
                .or_else(|| value::null_removal(violation, arguments))
                .or_else(|| coercion::propose(violation, arguments, text));
        }
        if normalises {
            change = change
                .or_else(|| value::option(violation, arguments))
                .or_else(|| value::date(violation, arguments, job.tool));
        }
        if let Some(change) = change.filter(|change| taken.insert(change.repair.path.clone())) {
            changes.push(change);
        }
    }
    changes
}

fn is_swallowed(violation: &Violation) -> bool {
    matches!(violation.rule, SchemaRule::Constraint(RULE, _))
}

#[cfg(test)]
mod tests {
    use crate::repair::testing::{repair_with, repaired, unchanged};
    use callwright_scanner::testing::{TOOLS, call};
    use callwright_types::rules::RepairRules;

    #[test]
    fn a_right_call_is_not_touched() {
        for text in [r#" { "city" : "Oslo", "num_days":1 } "#, r#"{"city":"Oslo","levels":[],"tags":["a"]}"#] {
            assert!(unchanged(TOOLS, "get_weather", text));
        }
        assert!(unchanged(TOOLS, "anything", r#"{"a": 1.0, "a": "x"}"#));
    }

    #[test]
    fn rules_switch_repairs_off() {
        let off = RepairRules { names: false, values: false, defaults: false, ..Default::default() };
        for (name, text) in [
            ("GetWeather", r#"{"city":"Oslo"}"#),
            ("get_weather", r#"{"City":"Oslo"}"#),
            ("get_weather", r#"{"city":"Oslo","num_days":"2","unit":"Celsius"}"#),
            ("orders.cancel", r#"{"order_id":1}"#),
            ("ping", ""),
        ] {
            assert!(repair_with(&off, TOOLS, &call(name, text)).repairs.is_empty(), "{name} {text}");
        }
    }

    #[test]
    fn names_are_mended_before_values() {
        let (text, kinds) = repaired(TOOLS, "get_weather", r#"{"City":["Oslo"],"NumDays":"3"}"#);
        assert_eq!((text.as_str(), kinds.len()), (r#"{"city":["Oslo"],"num_days":3}"#, 3));
    }

    #[test]
    fn a_great_many_repairs_are_made_and_too_many_are_not_tried() {
        let items = |count: usize| format!(r#"{{"city":"Oslo","levels":[{}]}}"#, vec!["\"7\""; count].join(","));
        assert_eq!(repaired(TOOLS, "get_weather", &items(200)).1.len(), 200);
        assert!(unchanged(TOOLS, "get_weather", &items(100_000)));
    }
}
