//! What a turn is shown of memory, and whether it teaches.

use serde::{Deserialize, Serialize};

/// Rules of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallRules {
    /// Lessons that a turn is shown at most (ExpNote, section 3.2: RECALL); 0: none.
    pub lessons: u32,
    /// Is the model told where there is no lesson? The paper does so; it costs tokens of every such turn.
    pub tell_none: bool,
    /// May something be learned from the turn?
    pub learn: bool,
    /// The name of a group: all clients whose policy names it share one memory. Empty: each client's key has its own.
    pub group: String,
}

impl Default for RecallRules {
    fn default() -> Self {
        Self { lessons: 3, tell_none: false, learn: true, group: String::new() }
    }
}
