//! Findings of a turn: what went wrong in it, as labels that lists filter by and the overview counts.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use callwright_types::Trace;

/// Outcome of an attempt or an execution that is no finding.
const SUCCESS: &str = "success";

/// Kind of a finding.
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
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Fault, Self::Execution, Self::Refusal, Self::ClientTool, Self::Upstream, Self::Limit];

    /// Returns the label in the store and in queries.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Execution => "execution",
            Self::Refusal => "refusal",
            Self::ClientTool => "client_tool",
            Self::Upstream => "upstream",
            Self::Limit => "limit",
        }
    }
}

/// One finding of a turn.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// Kind.
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
    /// Kind.
    pub kind: FindingKind,
    /// Label within the kind.
    pub name: String,
}

/// Error for a text that is no finding filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a finding; write KIND:NAME, such as fault:E3.4; kinds are fault, execution, refusal, client_tool, upstream, limit"
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
        add(FindingKind::Limit, limit, "");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

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
