//! Counts of turns with and without a piece of memory.

use serde::{Deserialize, Serialize};

/// Counts of the turns for which a lesson or procedure was found. It is withheld in a random part of them, because its
/// benefit can only be measured by comparison.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageCounter {
    /// Turns in which it was shown.
    pub uses: u64,
    /// Turns of `uses` without a fault in calls that it is about.
    pub helped: u64,
    /// Turns of `uses` with a fault in calls that it is about.
    pub hurt: u64,
    /// Turns in which it was withheld.
    pub withheld: u64,
    /// Turns of `withheld` with a fault in calls that it is about.
    pub withheld_hurt: u64,
    /// Store revision of the last turn counted, so that no turn is counted twice.
    pub counted: i64,
    /// Natural logarithm of the evidence that turns fail more often with it; see the sequential test in `experience`.
    pub evidence: f64,
}
