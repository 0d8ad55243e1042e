//! Use of memory in a turn, and learning from the turn.

use serde::{Deserialize, Serialize};

/// Rules of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallRules {
    /// Maximum number of lessons recalled per turn (ExpNote, section 3.2: RECALL); 0 for none.
    pub lessons: u32,
    /// Whether the model is informed that there is no lesson. The paper does this; it costs tokens in each such turn.
    pub tell_none: bool,
    /// Whether lessons and procedures may be learned from the turn.
    pub learn: bool,
    /// Name of a group: all clients whose policy names it share one memory. Empty: each client key has its own.
    pub group: String,
}

impl Default for RecallRules {
    fn default() -> Self {
        Self { lessons: 3, tell_none: false, learn: true, group: String::new() }
    }
}
