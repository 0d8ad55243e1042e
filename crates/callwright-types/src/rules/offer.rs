//! Which tools the model is offered.

use serde::{Deserialize, Serialize};

use super::ToolGlobs;

/// Rules of the offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OfferRules {
    /// Toolsets of an alias that have together at most this many tools are offered whole, and nothing is chosen.
    ///
    /// Forty tools are what models still tell apart well and what costs some thousand tokens; below that a choice can only lose.
    pub whole: u32,
    /// Tools at most that a turn has chosen by what the user said, best first. Those of earlier turns stay besides (`sticky`).
    pub k: u32,
    /// Tools that are offered at least, as long as there are so many.
    pub min: u32,
    /// Score-gap cut-off: tools whose score is below this share of the best one's, 0 to 1, are not chosen; 0 cuts nothing off.
    pub gap: f64,
    /// Tools at most that are offered for each key that a chosen tool requires and nobody gave: those whose answers evidently have it.
    pub prerequisites: u32,
    /// Globs on `toolset/tool`: always offered.
    pub always: ToolGlobs,
    /// Globs on `toolset/tool`: never offered, never found, never called; it wins over everything else.
    pub never: ToolGlobs,
    /// Does what was offered once in a session stay? New tools are appended then, and providers' prompt caches keep hitting.
    pub sticky: bool,
    /// What becomes of the client's own tools.
    pub client_tools: ClientOffer,
    /// A tool that searches for further tools.
    pub search_tools: SearchRules,
    /// Are descriptions shown with what was learned about when a tool is wanted?
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

/// What becomes of the client's own tools; from loose to strict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientOffer {
    /// They go along as they were sent, all of them.
    #[default]
    Keep,
    /// Of more than `whole`, those that serve the conversation, as of the catalog's.
    Narrow,
}

/// Rules of the tool that searches for further tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchRules {
    /// It is offered where the alias has so many tools; 0: never.
    pub from: u32,
    /// Searches of one turn that are answered with tools.
    pub per_turn: u32,
    /// Tools that one search gives at most.
    pub results: u32,
}

impl Default for SearchRules {
    fn default() -> Self {
        Self { from: 200, per_turn: 3, results: 8 }
    }
}
