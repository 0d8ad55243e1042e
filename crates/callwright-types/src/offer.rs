//! The tools offered in a turn, and the reasons.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Result of tool selection in a turn, if tools were selected.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OfferNote {
    /// Number of tools to select from.
    pub candidates: usize,
    /// Selected tools, in the order sent. Those added during the turn are last.
    pub tools: Vec<OfferedTool>,
    /// Reason why the tools do not begin with those sent earlier in the session, if so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prefix_change: Option<PrefixChange>,
    /// Whether there was no vector of the user's text, so that only words decided.
    #[serde(skip_serializing_if = "crate::is_default", default)]
    pub words_alone: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// Name that the model must use.
    pub name: String,
    pub reason: OfferReason,
    /// Relevance to the user's text, as a share of the best score; `None` if the tool was not found by relevance.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<f32>,
    /// The learned pattern that is most similar to the user's text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pattern: Option<String>,
}

/// Reason why a tool is offered. If several apply, the first in this order is reported.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum OfferReason {
    /// `tool_choice` names the tool.
    Required,
    /// Policy lists the tool under `always`.
    Always,
    /// The tool was called earlier in the conversation.
    Called,
    /// The conversation names the tool.
    Named,
    /// The model called the tool although it was not offered.
    Asked,
    /// The model searched for the tool.
    Searched,
    /// There are so few tools that all are offered.
    Whole,
    /// The tool was offered earlier in the session.
    Sticky,
    /// The tool is relevant to the user's text.
    Ranked,
    /// The tool supplies a required argument of a relevant tool that the conversation does not contain.
    Prerequisite,
    /// The tool fills the offer up to policy's minimum.
    Filled,
}

/// Reason why the tools sent do not begin with those sent earlier. The provider's prompt cache misses from there on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum PrefixChange {
    /// The client's own tools changed.
    ClientTools,
    /// The upstream's maximum number of tools is reached; some were removed to make room.
    Limit,
    /// A document or a representation was reloaded: a tool was removed, or its text changed.
    Reload,
    /// Policy: a tool may no longer be offered, or earlier offers are not kept.
    Policy,
}

crate::labels!(OfferReason, PrefixChange);
