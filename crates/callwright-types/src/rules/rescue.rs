//! Conversion of text to calls (E1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Strength of the evidence that a text is a call rather than a text about one, from strongest to weakest.
///
/// In a rule, it is the weakest evidence considered; `Off` considers none.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// No text is considered.
    Off,
    /// The call is enclosed in markers reserved for calls, such as `<tool_call>` or `[TOOL_CALLS]`.
    Marked,
    /// The answer begins with the call or calls; code fences and chat template tokens are ignored.
    Alone,
    /// The call is a separate statement within prose.
    Amid,
}

crate::labels!(Evidence);

/// Handling of a text that is either a call or a text about one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unsure {
    /// `confirm` for an upstream that leaves calls in the text. For one that delivers native `tool_calls`: `confirm`
    /// if calls in reserved markers end the answer, or if they would be calls but for what the request may contain; else
    /// `text`.
    #[default]
    Auto,
    /// The model receives one request to confirm, within the limit of static feedback. If its answer has no call, the
    /// client receives the original answer.
    Confirm,
    /// The text stays text.
    Text,
    /// The text becomes calls.
    Call,
}

impl Unsure {
    /// Returns the handling for an upstream; never [`Unsure::Auto`].
    pub const fn towards(self, delivers_calls: bool) -> Self {
        match self {
            Self::Auto if delivers_calls => Self::Text,
            Self::Auto => Self::Confirm,
            other => other,
        }
    }
}

/// Handling of rescued arguments that are identifiers or expressions of a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expressions {
    /// The source text becomes a string: `to=user.email` gives `"user.email"`. Leaderboards require this.
    Source,
    /// The call cannot be parsed (E1).
    #[default]
    Refuse,
}

/// Rules of rescue: conversion of text to calls (E1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RescueRules {
    /// The weakest evidence considered for an upstream that is not known to deliver native `tool_calls`.
    pub text: Evidence,
    /// The weakest evidence considered for an upstream that does. Text of its models is more often about a call than a
    /// call.
    pub native: Evidence,
    /// Handling of a text that is either a call or a text about one.
    pub unsure: Unsure,
    /// Handling of arguments that are identifiers or expressions.
    pub expressions: Expressions,
}

impl Default for RescueRules {
    fn default() -> Self {
        Self {
            text: Evidence::Amid,
            native: Evidence::Alone,
            unsure: Unsure::default(),
            expressions: Expressions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_follows_the_upstream() {
        assert_eq!((Unsure::Auto.towards(true), Unsure::Auto.towards(false)), (Unsure::Text, Unsure::Confirm));
        assert_eq!((Unsure::Call.towards(true), Unsure::Text.towards(false)), (Unsure::Call, Unsure::Text));
    }
}
