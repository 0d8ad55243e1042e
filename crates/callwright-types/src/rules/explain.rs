//! What counts as a failed outcome beyond what every API has in common, and what is done about the failures of a client's tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{LinearRegex, ToolGlobs};
use callwright_common::json::Pointer;

/// Rules of explanation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExplainRules {
    /// What is done about a message of a client's tool that reports a failure.
    pub client_tools: ClientTools,
    /// What is a failure, and what is none, in the words of the APIs in use. The first rule that fits decides; where none does, the
    /// built-in rules do.
    pub failures: Vec<FailureRule>,
}

/// What is done about a message of a client's tool that reports a failure; from the least to the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientTools {
    /// Nothing: such messages are not looked at.
    Off,
    /// It is noted in trace and metrics; the message stays as it is.
    #[default]
    Advise,
    /// The explanation, where there is one, is added below the text, which stays as it is.
    On,
}

/// What a rule says about the outcomes that it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuledOutcome {
    /// They failed.
    Failed,
    /// They did not fail, whatever other rules would say.
    Fine,
}

/// One rule about outcomes: for which tools and statuses, one condition on the body, and what holds then.
///
/// A rule without a condition fits by its statuses alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailureRule {
    /// Globs on `toolset/tool`, or on the name of a client's tool; empty means any.
    #[serde(default, skip_serializing_if = "ToolGlobs::is_empty")]
    pub tools: ToolGlobs,
    /// HTTP statuses; empty means any below 400, and a message that tells none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<u16>,
    /// Where in the JSON body the condition is to hold (RFC 6901); the token `*` stands for every item or member, and then the
    /// condition must hold at each of them, of which there must be one. The whole body where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Pointer>,
    /// Condition: the value is one of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<Value>>,
    /// Condition: the value is there, and is none of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub except: Option<Vec<Value>>,
    /// Condition: the value is a number of this range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<NumberRange>,
    /// Condition: there is such a place (`null` counts as none), or there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub present: Option<bool>,
    /// Condition: the value is empty (`null`, `""`, `[]`, `{}`), or it is there and not empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<bool>,
    /// Condition: the expression is found in the text at the place, or in the body as text where no place is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<LinearRegex>,
    /// What holds for an outcome that fits.
    pub outcome: RuledOutcome,
}

/// A range of numbers, both ends included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NumberRange {
    /// The least; none where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<f64>,
    /// The largest; none where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
}

impl NumberRange {
    /// Is the number in it?
    pub fn contains(&self, number: f64) -> bool {
        self.from.is_none_or(|from| from <= number) && self.to.is_none_or(|to| number <= to)
    }
}

impl FailureRule {
    /// The names of the conditions that it has.
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
    fn what_does_more_about_a_clients_tools_is_the_greater() {
        assert!([ClientTools::Off, ClientTools::Advise, ClientTools::On].is_sorted());
    }

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
