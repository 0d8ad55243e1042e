//! Changes to calls that lose nothing and need no model.
//!
//! Owns renames, coercions and mended JSON. Must not judge: what it cannot mend it leaves to the scanner.

use crate::domain::rules::{RepairRules, ScanRules};
use crate::domain::{Call, Repair};
use crate::scanner::Toolbook;

/// A call after repair.
#[derive(Debug, Clone, PartialEq)]
pub struct Mended {
    /// The call; as it came where nothing was repaired.
    pub call: Call,
    /// What was changed, in order; empty where nothing was.
    pub repairs: Vec<Repair>,
}

/// Repairs the call at `index` of an answer as far as nothing is lost and `rules` allow. A call that is right already is
/// never touched.
pub fn mend(call: &Call, _index: usize, _toolbook: &Toolbook, _scan: &ScanRules, _rules: &RepairRules) -> Mended {
    Mended { call: call.clone(), repairs: Vec::new() }
}
