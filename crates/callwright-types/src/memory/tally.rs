//! What became of turns with and without a piece of memory.

use serde::{Deserialize, Serialize};

/// What became of the turns for which a lesson or procedure was found. In some of them, chosen at random, it is withheld: only so can
/// be told whether it helps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Turns that it was shown to.
    pub uses: u64,
    /// Of those, the turns without a fault in calls that it is about.
    pub helped: u64,
    /// Of those, the turns with one.
    pub hurt: u64,
    /// Turns that it was withheld from.
    pub withheld: u64,
    /// Of those, the turns with a fault in calls that it is about.
    pub withheld_hurt: u64,
    /// The store's revision of the last turn that was counted: a turn that is found again is not counted again.
    pub counted: i64,
    /// Natural logarithm of the evidence that turns fail more often with it: see `experience`'s sequential test.
    pub evidence: f64,
}
