//! When a plan is drawn before the model is asked.

use serde::{Deserialize, Serialize};

/// When a turn draws a plan of calls backward from what is asked for; from loose to strict, as each asks models less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanMode {
    /// For every new request of a user to which tools are offered.
    Always,
    /// Where the tool that is asked for needs something that nobody gave and another tool can find out.
    #[default]
    Auto,
    /// Never.
    Off,
}
