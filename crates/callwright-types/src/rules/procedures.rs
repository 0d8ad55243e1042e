//! Synthesis of new solutions from learned procedures.

use serde::{Deserialize, Serialize};

/// Condition under which a model outlines a solution from learned procedures. From least to most strict, in order of
/// decreasing model requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProceduresMode {
    /// For each new user request for which tools are offered and that a procedure matches.
    Always,
    /// If the required tool needs several values that the conversation lacks and no tool evidently provides.
    #[default]
    Auto,
    /// Never; procedures do not serve as plan templates either.
    Off,
}
