//! What an operator may set about judging.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::budget::BudgetLimits;

/// Faults of one answer after which the scan stops, unless configured: no model mends so many at once.
const DEFAULT_DIAGNOSES: NonZeroUsize = NonZeroUsize::new(100).unwrap();

/// Settings of the scanner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Bytes of memory for compiled JSON Schemas. A compiled schema takes about forty times its text.
    pub validator_cache_bytes: u64,
    /// Bytes of JSON Schema text of one tool, beyond which its calls are judged by name and JSON syntax alone.
    pub max_schema_bytes: usize,
    /// Faults of one answer after which its further calls are not examined. The answer is faulty anyway.
    pub max_diagnoses: NonZeroUsize,
    /// Milliseconds that judging one answer may take. Beyond them it counts as unjudged. 0: no limit.
    pub max_judgement_milliseconds: u64,
}

impl Settings {
    /// The limits of judging one answer.
    pub fn budget(&self) -> BudgetLimits {
        let time = Duration::from_millis(self.max_judgement_milliseconds);
        BudgetLimits { diagnoses: self.max_diagnoses.get(), time: (!time.is_zero()).then_some(time) }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            validator_cache_bytes: 48 * 1024 * 1024,
            max_schema_bytes: 512 * 1024,
            max_diagnoses: DEFAULT_DIAGNOSES,
            max_judgement_milliseconds: 2_000,
        }
    }
}
