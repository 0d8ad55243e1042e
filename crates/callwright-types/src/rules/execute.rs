//! Permission to execute calls, and human approval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Permission for the proxy to execute a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// Execution is permitted.
    Allow,
    /// Execution requires a person's approval of this exact call.
    Approve,
    /// Execution is denied, and the model is informed.
    Deny,
}

/// One rule of execution; the first rule whose globs match applies.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
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

/// Rules of execution. If no rule matches, `GET` and `HEAD` are permitted and everything else is denied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExecuteRules {
    /// Rules in order; the first match applies.
    pub rules: Vec<ExecuteRule>,
    /// Approval of calls by a person.
    pub approval: ApprovalRules,
}

/// Behaviour of a turn while one of its calls awaits approval.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// The turn continues: the model is informed that the call awaits approval, and may repeat it once approved.
    Notice,
    /// The turn waits. An approved call runs in this turn only.
    #[default]
    Wait,
}

crate::labels!(ApprovalMode);

/// Rules of approval by a person.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalRules {
    /// Whether the turn waits.
    pub mode: ApprovalMode,
    /// `wait`: maximum seconds that a turn waits for the decision, within its own time limit (`limits.seconds`).
    pub timeout_seconds: u64,
    /// `notice`: maximum seconds until the decision, and then the seconds for which the decision is valid.
    pub valid_seconds: u64,
}

impl Default for ApprovalRules {
    fn default() -> Self {
        Self { mode: ApprovalMode::Wait, timeout_seconds: 120, valid_seconds: 86_400 }
    }
}
