//! Tool samples: a request and the tools that serve it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Evidence, Scope};

/// A request with known right tools, from a verified outcome. Representations are learned from samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSample {
    /// Id of the sample: `sam_` and the trace id of the turn; a turn makes one sample.
    pub id: String,
    /// Scope of the client that sent the request.
    pub scope: Scope,
    /// The request's text, without parts that look like an address, a number or a secret.
    pub query: String,
    /// Names of the tools that serve it, as offered to the model.
    pub tools: Vec<String>,
    /// The verified outcomes that support the sample.
    pub evidence: Vec<Evidence>,
    /// Time when it was learned.
    pub at: Timestamp,
}
