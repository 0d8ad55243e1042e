//! Rules for offering tools to the model.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ToolGlobs;

/// Rules for offering tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OfferRules {
    /// Maximum number of tools of an alias's toolsets, in total, that are all offered without selection.
    ///
    /// Models distinguish forty tools reliably, and these cost a few thousand tokens. Below that number, selection can
    /// only lose.
    pub whole: u32,
    /// Maximum number of tools selected per turn by relevance to the user's text, best first. Tools of earlier turns
    /// are kept in addition (`sticky`).
    pub k: u32,
    /// Minimum number of offered tools, if there are as many.
    pub min: u32,
    /// Score-gap cut-off: tools whose score is below this share of the best score, 0 to 1, are not selected; 0 disables
    /// it.
    pub gap: f64,
    /// Maximum number of tools offered for each required key of a selected tool that the conversation lacks: those
    /// whose responses evidently contain it.
    pub prerequisites: u32,
    /// Globs on `toolset/tool` of tools that are always offered.
    pub always: ToolGlobs,
    /// Globs on `toolset/tool` of tools that are never offered, found or called. This rule takes precedence over all
    /// others.
    pub never: ToolGlobs,
    /// Whether offered tools stay for the session. New tools are then appended, and providers' prompt caches keep
    /// hitting.
    pub sticky: bool,
    /// Handling of the client's own tools.
    pub client_tools: ClientOffer,
    /// A tool that searches for further tools.
    pub search_tools: SearchRules,
    /// Whether descriptions include the learned representations.
    pub representations: bool,
}

impl Default for OfferRules {
    fn default() -> Self {
        Self {
            whole: 40,
            k: 16,
            min: 5,
            gap: 0.1,
            prerequisites: 1,
            always: ToolGlobs::default(),
            never: ToolGlobs::default(),
            sticky: true,
            client_tools: ClientOffer::Keep,
            search_tools: SearchRules::default(),
            representations: true,
        }
    }
}

/// Handling of the client's own tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientOffer {
    /// All are forwarded as sent.
    #[default]
    Keep,
    /// If there are more than `whole`, those relevant to the conversation are selected, like tools of the catalog.
    Narrow,
}

/// Rules of the tool that searches for further tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRules {
    /// Minimum number of the alias's tools from which on the search tool is offered; 0 for never.
    pub from: u32,
    /// Maximum number of searches per turn that return tools.
    pub per_turn: u32,
    /// Maximum number of tools per search.
    pub results: u32,
}

impl Default for SearchRules {
    fn default() -> Self {
        Self { from: 200, per_turn: 3, results: 8 }
    }
}
