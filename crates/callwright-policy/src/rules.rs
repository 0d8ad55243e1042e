//! A policy: the shape of a policy file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use callwright_types::Limits;
use callwright_types::rules::{
    ExecuteRules, ExplainRules, Mode, OfferRules, OnExhausted, PlanMode, ProceduresMode, RecallRules, RecordRules,
    RepairRules, ScanRules, UsageReport,
};

/// The rules and limits of a turn. The fields are the keys of a policy file; a key that is left out has its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// What aliases, headers, traces and settings call it. Left out: the file's name without its ending.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Among the policies that match a turn the highest priority wins; among equals, the first file name.
    pub priority: i64,
    /// Which turns it is for. Left out: none; it holds only where it is named.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<Match>,
    /// May a request ask for it with `x-callwright-policy`?
    pub selectable: bool,
    /// How far the proxy may go.
    pub mode: Mode,
    /// How much a turn may spend.
    pub limits: Limits,
    /// Which tools the model is offered.
    pub offer: OfferRules,
    /// When a plan of calls is drawn.
    pub plan: PlanMode,
    /// When past solutions are made into a new one.
    pub procedures: ProceduresMode,
    /// What the turn is shown of memory, and whether it teaches.
    pub recall: RecallRules,
    /// What a scan reports.
    pub scan: ScanRules,
    /// What is changed without the model.
    pub repair: RepairRules,
    /// What the client gets when the limits are reached.
    pub on_exhausted: OnExhausted,
    /// What the proxy executes by itself.
    pub execute: ExecuteRules,
    /// What a failed outcome is, and what is done about those of a client's tools.
    pub explain: ExplainRules,
    /// What traces store.
    pub record: RecordRules,
    /// Which token counts the client's `usage` shows.
    pub usage: UsageReport,
}

/// Which turns a policy is for: every key that is given must hold. Values are globs (`*`, `?`, `[ab]`, `{a,b}`; `*` also
/// takes `/`), compared case by case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// One of them matches the model name as the client sent it.
    pub models: Vec<String>,
    /// The model name is an alias, and one of them matches it.
    pub aliases: Vec<String>,
    /// One of them matches the name of the virtual key.
    pub keys: Vec<String>,
    /// The virtual key belongs to a group, and one of them matches its name.
    pub groups: Vec<String>,
    /// For each header field of this name (in any case) there is a value that the glob matches.
    pub headers: BTreeMap<String, String>,
}
