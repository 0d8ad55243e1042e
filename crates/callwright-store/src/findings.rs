//! Findings of a turn: what went wrong in it and what was repaired, as labels that lists filter by and the overview
//! counts.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use callwright_types::rules::Mode;
use callwright_types::{Call, RepairKind, RepairNote, Trace};

/// Outcome of an attempt or an execution that is no finding.
const SUCCESS: &str = "success";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// A fault of a call or an answer; named by its code.
    Fault,
    /// An executed call without success; named by its outcome.
    Execution,
    /// A call that the proxy did not send; named by the reason.
    Refusal,
    /// A tool of the client that failed; named by the rule that recognised it.
    ClientTool,
    /// A request to a model without success; named by its outcome.
    Upstream,
    /// The limit that ended the turn; named by the limit.
    Limit,
    /// A repair of a call that left; named by its kind.
    Repair,
    /// A repair that guard mode would have made, in shadow mode; named by its kind.
    ShadowRepair,
}

impl FindingKind {
    pub const ALL: [Self; 8] = [
        Self::Fault,
        Self::Execution,
        Self::Refusal,
        Self::ClientTool,
        Self::Upstream,
        Self::Limit,
        Self::Repair,
        Self::ShadowRepair,
    ];

    /// Returns the label in the store and in queries.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Execution => "execution",
            Self::Refusal => "refusal",
            Self::ClientTool => "client_tool",
            Self::Upstream => "upstream",
            Self::Limit => "limit",
            Self::Repair => "repair",
            Self::ShadowRepair => "shadow_repair",
        }
    }
}

/// One finding of a turn.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    pub kind: FindingKind,
    /// Label within the kind.
    pub name: Arc<str>,
    /// Name of the tool that it concerns; empty if it concerns none.
    #[serde(skip_serializing_if = "str::is_empty", default)]
    pub tool: Arc<str>,
}

/// Filter of a list by a finding: `KIND:NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FindingFilter {
    pub kind: FindingKind,
    /// Label within the kind.
    pub name: String,
}

/// Error for a text that is no finding filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a finding; write KIND:NAME, such as fault:E3.4; kinds are fault, execution, refusal, client_tool, upstream, \
     limit, repair, shadow_repair"
)]
pub struct UnknownFinding(String);

impl FromStr for FindingFilter {
    type Err = UnknownFinding;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownFinding(text.to_owned());
        let (kind, name) = text.split_once(':').ok_or_else(unknown)?;
        let kind = FindingKind::ALL.into_iter().find(|other| other.label() == kind).ok_or_else(unknown)?;
        Ok(Self { kind, name: name.to_owned() })
    }
}

impl TryFrom<String> for FindingFilter {
    type Error = UnknownFinding;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<FindingFilter> for String {
    fn from(filter: FindingFilter) -> Self {
        filter.to_string()
    }
}

impl fmt::Display for FindingFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.label(), self.name)
    }
}

/// Maximum number of findings of a turn in lists and the index; a turn has few kinds of them.
const MAX_FINDINGS: usize = 100;

/// Returns the distinct findings of a turn.
pub(crate) fn findings(trace: &Trace) -> BTreeSet<Finding> {
    let mut found = BTreeSet::new();
    let mut add = |kind, name: &str, tool: &str| {
        if found.len() < MAX_FINDINGS {
            found.insert(Finding { kind, name: name.into(), tool: tool.into() });
        }
    };
    for attempt in &trace.attempts {
        if attempt.outcome != SUCCESS {
            add(FindingKind::Upstream, &attempt.outcome, "");
        }
        for diagnosis in &attempt.diagnoses {
            let tool = attempt.calls.get(diagnosis.call).map_or("", |call| call.name.as_str());
            add(FindingKind::Fault, diagnosis.code.code(), tool);
        }
    }
    for execution in trace.executions.iter().filter(|execution| execution.outcome != SUCCESS) {
        match execution.reason {
            Some(reason) => add(FindingKind::Refusal, reason.label(), &execution.call.name),
            None => add(FindingKind::Execution, &execution.outcome, &execution.call.name),
        }
    }
    for observation in trace.observed.iter().filter(|observation| !observation.again) {
        add(FindingKind::ClientTool, &observation.rule, &observation.call.name);
    }
    if let Some(limit) = &trace.exhausted {
        add(FindingKind::Limit, limit.label(), "");
    }
    if let Some(kind) = kind_of_repairs(trace) {
        let steps = trace.plan.iter().flat_map(|plan| &plan.steps).map(|step| (&step.calls, &step.repairs));
        let attempts = trace.attempts.iter().map(|attempt| (&attempt.calls, &attempt.repairs));
        for (calls, repairs) in attempts.chain(steps) {
            repairs.iter().for_each(|repair| add(kind, repair.kind.label(), tool_of(repair, calls, repairs)));
        }
    }
    found
}

/// Returns the kind of the turn's repairs; `None` if they did not leave, because the model made its calls again. Traces of
/// earlier versions have no outcome.
fn kind_of_repairs(trace: &Trace) -> Option<FindingKind> {
    match trace.outcome {
        _ if trace.mode == Mode::Shadow => Some(FindingKind::ShadowRepair),
        Some(_) if !trace.actions.repaired => None,
        _ => Some(FindingKind::Repair),
    }
}

/// Returns the tool that a repaired call is for: the one to which its name was repaired, else the named one.
fn tool_of<'a>(repair: &RepairNote, calls: &'a [Call], repairs: &'a [RepairNote]) -> &'a str {
    let mut names = repairs.iter().filter(|other| other.call == repair.call && other.kind == RepairKind::ToolRenamed);
    let renamed = names.next().and_then(|renamed| renamed.to.as_str());
    renamed.or_else(|| calls.get(repair.call).map(|call| call.name.as_str())).unwrap_or_default()
}

/// Returns the names that calls got by repairs.
pub(crate) fn repaired_names(trace: &Trace) -> impl Iterator<Item = &str> {
    let repairs = trace.attempts.iter().flat_map(|attempt| &attempt.repairs);
    let renamed = repairs.filter(|repair| repair.kind == RepairKind::ToolRenamed);
    renamed.filter_map(|repair| repair.to.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repairs_that_left_are_findings_of_the_tool_that_was_meant() {
        use callwright_types::trace::{Attempt, Purpose, sample};
        use callwright_types::{TurnActions, TurnOutcome, Usage};
        let note = |kind, to: &str| RepairNote { to: to.into(), ..RepairNote::of_call(kind, 0) };
        let mut attempt = Attempt::unjudged(Purpose::First, "main", "success", Usage::default(), 1.0);
        attempt.calls = vec![Call { id: "1".to_owned(), name: "getForecast".to_owned(), arguments: String::new() }];
        attempt.repairs = vec![note(RepairKind::ToolRenamed, "get_forecast"), note(RepairKind::TypeCoerced, "")];
        let mut trace = Trace { attempts: vec![attempt], ..sample() };
        let found = |trace: &Trace| -> Vec<String> {
            let found = findings(trace).into_iter();
            found.map(|one| format!("{}:{} {}", one.kind.label(), one.name, one.tool)).collect()
        };
        let of_kind = |kind: &str| ["tool_renamed", "type_coerced"].map(|name| format!("{kind}:{name} get_forecast"));
        assert_eq!(found(&trace), of_kind("repair"), "a trace of an earlier version");
        trace.conclude(TurnOutcome::Call, TurnActions { repaired: true, ..TurnActions::default() }, false);
        assert_eq!(found(&trace), of_kind("repair"));
        assert_eq!(repaired_names(&trace).collect::<Vec<_>>(), ["get_forecast"]);
        trace.conclude(TurnOutcome::Call, TurnActions { sent_back: 1, ..TurnActions::default() }, false);
        assert_eq!(found(&trace), [""; 0], "the repaired call was made again");
        trace.mode = Mode::Shadow;
        assert_eq!(found(&trace), of_kind("shadow_repair"));
    }

    #[test]
    fn a_filter_names_a_kind_and_a_label() {
        let filter: FindingFilter = "fault:E3.4".parse().unwrap();
        assert_eq!(
            (filter.kind, filter.name.as_str(), filter.to_string().as_str()),
            (FindingKind::Fault, "E3.4", "fault:E3.4")
        );
        for kind in FindingKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.label());
        }
        for text in ["E3.4", "x:E3.4", ""] {
            assert!(text.parse::<FindingFilter>().is_err(), "{text}");
        }
    }
}
