//! Which tools a turn was offered, and why.

use serde::{Deserialize, Serialize};

/// How the offer of a turn came about, where tools were chosen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OfferNote {
    /// Tools that there were to choose from.
    pub candidates: usize,
    /// Those that were chosen, in the order sent; those that came while the turn ran last.
    pub tools: Vec<OfferedTool>,
    /// Why the tools do not begin with those that the session was sent before, where they do not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prefix_change: Option<PrefixChange>,
    /// Was there no vector of what the user said, so that words alone decided?
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub words_alone: bool,
}

/// A tool that was offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// The name that the model is to use.
    pub name: String,
    /// Why it was offered.
    pub reason: OfferReason,
    /// How well it serves what the user said, as a share of the best one's score; none where it was not found by that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<f32>,
    /// The learned pattern that is most like what the user said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pattern: Option<String>,
}

/// Why a tool is offered. Of several reasons the first one here is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OfferReason {
    /// `tool_choice` names it.
    Required,
    /// Policy lists it as `always`.
    Always,
    /// It was called before in the conversation.
    Called,
    /// The conversation names it.
    Named,
    /// The model called it although it was not offered.
    Asked,
    /// The model searched for it.
    Searched,
    /// There are so few tools that all of them are offered.
    Whole,
    /// It was offered before in the session.
    Sticky,
    /// It serves what the user said.
    Ranked,
    /// It supplies a key that a tool requires which serves what the user said, and that nobody gave.
    Prerequisite,
    /// There would be fewer than policy's minimum otherwise.
    Filled,
}

impl OfferReason {
    /// Value in traces.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Always => "always",
            Self::Called => "called",
            Self::Named => "named",
            Self::Asked => "asked",
            Self::Searched => "searched",
            Self::Whole => "whole",
            Self::Sticky => "sticky",
            Self::Ranked => "ranked",
            Self::Prerequisite => "prerequisite",
            Self::Filled => "filled",
        }
    }
}

/// Why the tools sent do not begin with those that were sent before: a provider's prompt cache has to begin anew there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixChange {
    /// The client's own tools are others.
    ClientTools,
    /// The upstream takes no more tools: some made room for others.
    Limit,
    /// A document or a representation was read anew: a tool is gone, or its text is another.
    Reload,
    /// Policy has it so: a tool may not be offered any more, or what was offered before does not stay.
    Policy,
}

impl PrefixChange {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::ClientTools, Self::Limit, Self::Reload, Self::Policy];

    /// Metric label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ClientTools => "client_tools",
            Self::Limit => "limit",
            Self::Reload => "reload",
            Self::Policy => "policy",
        }
    }
}
