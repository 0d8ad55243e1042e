//! A sample: what somebody asked for, and the tools that would have served it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Evidence, Scope};

/// A request whose right tools are known, from a verified outcome. Representations are learned from samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSample {
    /// Our id of it: `sam_` and the trace id of the turn, which makes one sample.
    pub id: String,
    /// Whose request it was.
    pub scope: Scope,
    /// What was asked for, without what has the form of an address, a number or a secret.
    pub query: String,
    /// The names of the tools that serve it, as the model knows them.
    pub tools: Vec<String>,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// When it was learned.
    pub at: Timestamp,
}
