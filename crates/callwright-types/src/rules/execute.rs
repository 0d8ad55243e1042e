//! Which calls the proxy executes, and how a person is asked where one must approve.

use serde::{Deserialize, Serialize};

/// Whether the proxy may execute a call by itself; from loose to strict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// It may.
    Allow,
    /// It may once a person has approved this very call.
    Approve,
    /// It may not; the model is told so.
    Deny,
}

/// One rule of execution: the first rule whose globs match decides.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecuteRule {
    /// HTTP methods, upper case; empty means any.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Globs on `toolset/tool`; empty means any.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The decision.
    pub permission: Permission,
}

/// Rules of execution. Where no rule matches, `GET` and `HEAD` run and everything else is denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecuteRules {
    /// In order; the first match decides.
    pub rules: Vec<ExecuteRule>,
    /// How a person is asked about calls that must be approved.
    pub approval: ApprovalRules,
}

/// What a turn does while a person decides about one of its calls; from loose to strict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// It goes on at once: the model is told that the call waits, and may call again once it is approved.
    Notice,
    /// It waits. What is approved runs in this turn and no later one.
    #[default]
    Wait,
}

impl ApprovalMode {
    /// Value in the store and in policy files.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Wait => "wait",
        }
    }
}

/// How a person is asked about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalRules {
    /// Does the turn wait?
    pub mode: ApprovalMode,
    /// `wait`: seconds that a turn waits for the decision, within its own time (`limits.seconds`).
    pub timeout_seconds: u64,
    /// `notice`: seconds that a call waits for its decision, and after that, seconds that the decision holds.
    pub valid_seconds: u64,
}

impl Default for ApprovalRules {
    fn default() -> Self {
        Self { mode: ApprovalMode::Wait, timeout_seconds: 120, valid_seconds: 86_400 }
    }
}
