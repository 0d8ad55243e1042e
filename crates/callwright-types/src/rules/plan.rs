//! Planning before the model is queried.

use serde::{Deserialize, Serialize};

/// Condition under which a turn draws a plan of calls backward from the goal. From least to most strict, in order of
/// decreasing model requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanMode {
    /// For each new user request for which tools are offered.
    Always,
    /// If the required tool needs a value that the conversation lacks and another tool can provide.
    #[default]
    Auto,
    /// Never.
    Off,
}
