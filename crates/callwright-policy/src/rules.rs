//! A policy, the structure of a policy file.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use callwright_types::Limits;
use callwright_types::rules::{
    BackgroundRule, ExecuteRules, ExplainRules, Mode, ObserveRules, OfferRules, OnExhausted, PlanMode, ProceduresMode,
    RecallRules, RecordRules, RepairRules, ScanRules, UsageReport,
};

/// Rules and limits of a turn. The fields are the keys of a policy file; an omitted key has its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// Name in aliases, headers, traces and settings. Default: the file name without its extension.
    pub name: String,
    /// One-line description.
    pub description: String,
    /// Priority. The matching policy with the highest priority wins; among equals, the first file name.
    pub priority: i64,
    /// Turns to which the policy applies. If omitted, the policy applies only where it is named.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<Match>,
    /// Intervention level of the proxy.
    pub mode: Mode,
    /// Budget of a turn.
    pub limits: Limits,
    /// Tools that the model is offered.
    pub offer: OfferRules,
    /// When a call plan is generated.
    pub plan: PlanMode,
    /// When past solutions are combined into a new one.
    pub procedures: ProceduresMode,
    /// Lessons and procedures that the turn recalls, and whether it is used for learning.
    pub recall: RecallRules,
    /// Findings that a scan reports.
    pub scan: ScanRules,
    /// Repairs without a model request.
    pub repair: RepairRules,
    /// Response to the client when the limits are reached.
    pub on_exhausted: OnExhausted,
    /// Calls that the proxy executes.
    pub execute: ExecuteRules,
    /// Definition of failed outcomes, and the handling of failures of client tools.
    pub explain: ExplainRules,
    /// Check of successful outcomes, and the parts of the feedback loop that are left out.
    pub observe: ObserveRules,
    /// Responses in the background (`background: true`), in `guard` mode.
    pub background: BackgroundRule,
    /// Content that traces store.
    pub record: RecordRules,
    /// Token counts in the client's `usage`.
    pub usage: UsageReport,
}

/// Parses a list of texts; a single text is a list of one.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Texts;

    impl<'de> Visitor<'de> for Texts {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of globs, such as `[assistant]`, or one glob")
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(vec![text.to_owned()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut texts = Vec::new();
            while let Some(text) = items.next_element()? {
                texts.push(text);
            }
            Ok(texts)
        }
    }

    deserializer.deserialize_any(Texts)
}

/// Returns the JSON Schema of what [`one_or_more`] accepts.
fn one_or_more_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
}

/// Turns to which a policy applies: every given key must match. Values are globs (`*`, `?`, `[ab]`, `{a,b}`; `*` also
/// matches `/`) and case-sensitive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// Globs of which one must match the model name as the client sent it.
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(schema_with = "one_or_more_schema")]
    pub models: Vec<String>,
    /// Globs of which one must match the model name, which must be an alias.
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(schema_with = "one_or_more_schema")]
    pub aliases: Vec<String>,
    /// Globs of which one must match the name of the virtual key.
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(schema_with = "one_or_more_schema")]
    pub keys: Vec<String>,
    /// Globs of which one must match the name of the virtual key's group.
    #[serde(deserialize_with = "one_or_more")]
    #[schemars(schema_with = "one_or_more_schema")]
    pub groups: Vec<String>,
    /// Globs by header field name (case-insensitive). Each must match a value of its field.
    pub headers: BTreeMap<String, String>,
}
