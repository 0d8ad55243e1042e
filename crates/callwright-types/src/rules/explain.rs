//! Rules that classify failed outcomes beyond the built-in ones, and the handling of failures of a client's tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LinearRegex, ToolGlobs};
use callwright_common::json::Pointer;

/// Rules of explanation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExplainRules {
    /// Handling of a client's tool message that reports a failure.
    pub client_tools: ClientTools,
    /// Classification of failures of the APIs in use. The first matching rule applies; without one, the built-in rules
    /// apply.
    pub failures: Vec<FailureRule>,
}

/// Handling of a client's tool message that reports a failure, from least to most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientTools {
    /// Such messages are not examined.
    Off,
    /// The failure is recorded in trace and metrics; the message is unchanged.
    #[default]
    Advise,
    /// The explanation, if there is one, is appended to the text, which is otherwise unchanged.
    On,
}

/// Classification of outcomes by a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuledOutcome {
    /// The outcome is a failure.
    Failed,
    /// The outcome is not a failure, whatever other rules specify.
    Fine,
}

/// One rule about outcomes: tools, statuses, one condition on the body, and the resulting classification.
///
/// A rule without a condition matches by its statuses only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailureRule {
    /// Globs on `toolset/tool`, or on the name of a client's tool; empty means any.
    #[serde(default, skip_serializing_if = "ToolGlobs::is_empty")]
    pub tools: ToolGlobs,
    /// HTTP statuses; empty means any below 400, and a message without a status.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<u16>,
    /// Location in the JSON body to which the condition applies (RFC 6901); the whole body if omitted. The token `*`
    /// represents every item or member: the condition must hold for each, and there must be at least one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Pointer>,
    /// Condition: the value is one of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Condition: the value exists and is none of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub except: Option<Vec<Value>>,
    /// Condition: the value is a number in this range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<NumberRange>,
    /// Condition: the location exists (`null` counts as absent), or it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
    /// Condition: the value is empty (`null`, `""`, `[]`, `{}`), or it exists and is not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<bool>,
    /// Condition: the expression matches the text at the location, or the body's text if no location is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<LinearRegex>,
    /// Classification of a matching outcome.
    pub outcome: RuledOutcome,
}

/// An inclusive range of numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NumberRange {
    /// Minimum; unbounded if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// Maximum; unbounded if omitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
}

impl NumberRange {
    /// Whether the range contains the number.
    pub fn contains(&self, number: f64) -> bool {
        self.from.is_none_or(|from| from <= number) && self.to.is_none_or(|to| number <= to)
    }
}

impl FailureRule {
    /// Returns the names of the conditions that the rule has.
    pub fn conditions(&self) -> Vec<&'static str> {
        let all = [
            ("values", self.values.is_some()),
            ("except", self.except.is_some()),
            ("range", self.range.is_some()),
            ("present", self.present.is_some()),
            ("empty", self.empty.is_some()),
            ("text", self.text.is_some()),
        ];
        all.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_includes_its_ends_and_may_lack_one() {
        let range = |from, to| NumberRange { from, to };
        assert!(range(Some(1.0), Some(2.0)).contains(1.0) && range(Some(1.0), Some(2.0)).contains(2.0));
        assert!(!range(Some(1.0), None).contains(0.5) && range(None, Some(2.0)).contains(-9.0));
        assert!(!range(Some(1.0), Some(2.0)).contains(f64::NAN));
    }

    #[test]
    fn a_rule_is_read_back_as_it_was_written() {
        let text = r#"{"tools":["maps/*"],"at":"/infocode","except":["10000"],"outcome":"failed"}"#;
        let rule: FailureRule = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&rule).unwrap(), text);
        assert_eq!(rule.conditions(), ["except"]);
    }
}
