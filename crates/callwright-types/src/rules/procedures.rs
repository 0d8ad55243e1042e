//! When past solutions are made into a new one.

use serde::{Deserialize, Serialize};

/// When a model makes an outline of what to do, of the procedures that were learned; from loose to strict, as each asks models less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProceduresMode {
    /// For every new request of a user to which tools are offered and that some procedure fits.
    Always,
    /// Where the tool that is asked for needs several things that nobody gave and no tool evidently finds out.
    #[default]
    Auto,
    /// Never, and procedures are no templates of plans.
    Off,
}
