//! Changes to calls that lose nothing and need no model.
//!
//! Owns the rescue of calls from text, renames, coercions and mended JSON. Must not judge: what it cannot mend it leaves to the scanner.

#[cfg(test)]
mod actions;
mod arguments;
mod coercion;
mod default;
mod format;
#[cfg(test)]
mod hostile_tests;
mod judge;
mod lenient;
mod message;
mod no_answer;
mod null;
mod option;
mod parameter_name;
mod passes;
#[cfg(test)]
mod properties;
pub mod rescue;
#[cfg(test)]
mod testing;
mod tool_name;
mod unknown_parameter;
mod wrapper;

use std::collections::HashMap;

pub use judge::judge;
pub use message::{JudgedCall, JudgedMessage, Spoken, Unjudged, judge_message};
pub use no_answer::TextAnswer;
pub use rescue::notations::{Notations, Settings};
use serde_json::Value;

use crate::scanner::{CompiledTool, Context, Toolbook};
use callwright_common::json::{Edit, Pointer, RawObject};
use callwright_types::rules::{RepairRules, ScanRules};
use callwright_types::{Call, FaultCode, Repair, RepairKind};

/// A call after repair.
#[derive(Debug, Clone, PartialEq)]
pub struct Mended {
    /// The call; as it came where nothing was repaired.
    pub call: Call,
    /// What was changed, in order; empty where nothing was.
    pub repairs: Vec<Repair>,
}

/// Repairs the call at `index` of an answer as far as nothing is lost and `rules` allow (DESIGN section 5, third column).
///
/// A call that is right already is never touched, not even its whitespace. A value is only changed if that makes it fit
/// its schema; what cannot be mended is left as it came, for the scan to report. Mending twice changes nothing more.
pub fn mend(call: &Call, index: usize, toolbook: &Toolbook, scan: &ScanRules, rules: &RepairRules) -> Mended {
    mend_in(call, index, toolbook, scan, rules, &Context::default())
}

/// As [`mend`], with what else is known.
fn mend_in(
    call: &Call,
    index: usize,
    toolbook: &Toolbook,
    scan: &ScanRules,
    rules: &RepairRules,
    context: &Context<'_>,
) -> Mended {
    let mut mended = Mended { call: call.clone(), repairs: Vec::new() };
    let renames = rules.names && scan.faults.of(FaultCode::ToolNameLiteral).mends();
    let Some(tool) = tool_name::mend(&mut mended, toolbook, renames).filter(|_| context.step()) else { return mended };
    if !tool.tool.free_text {
        let job = Job { tool, toolbook, scan, rules, context };
        if rules.values && job.mends(FaultCode::NoCall) {
            arguments::mend(&mut mended, &job);
        }
        // Readers differ in which of two values counts, and a repair would decide for one.
        if !gives_two_values(&mended.call.arguments) {
            passes::mend(&mut mended, &job);
        }
    }
    for repair in &mut mended.repairs {
        repair.call = index;
    }
    mended
}

/// Whether an argument object has a member twice, with different values.
fn gives_two_values(arguments: &str) -> bool {
    let Ok(object) = RawObject::parse(arguments) else { return false };
    let mut seen: HashMap<&str, &str> = HashMap::new();
    object.iter().any(|(key, value)| seen.insert(key, value.get()).is_some_and(|other| other != value.get()))
}

/// What every repair of arguments may look at.
struct Job<'a> {
    tool: &'a CompiledTool,
    toolbook: &'a Toolbook,
    scan: &'a ScanRules,
    rules: &'a RepairRules,
    context: &'a Context<'a>,
}

impl Job<'_> {
    /// Does policy let this fault be mended?
    fn mends(&self, code: FaultCode) -> bool {
        self.scan.faults.of(code).mends()
    }
}

/// A repair that is to be made, and the edit that makes it.
#[derive(Debug, Clone)]
struct Change {
    repair: Repair,
    edit: Edit,
}

impl Change {
    /// A value at `path` becomes another one.
    fn set(kind: RepairKind, path: &Pointer, from: &Value, to: Value) -> Self {
        let repair = Repair { kind, call: 0, path: path.clone(), from: from.clone(), to: to.clone() };
        Self { repair, edit: Edit::Set(path.clone(), to) }
    }

    /// The member at `path` goes away.
    fn remove(kind: RepairKind, path: &Pointer, from: &Value) -> Self {
        let repair = Repair { kind, call: 0, path: path.clone(), from: from.clone(), to: Value::Null };
        Self { repair, edit: Edit::Remove(path.clone()) }
    }
}
