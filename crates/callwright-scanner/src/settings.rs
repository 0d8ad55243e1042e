//! Settings of the scanner.

use std::num::NonZeroUsize;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::BudgetLimits;

/// Default for `max_diagnoses`: no model repairs more faults at once.
const DEFAULT_DIAGNOSES: NonZeroUsize = NonZeroUsize::new(100).unwrap();

/// Settings of the scanner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Memory limit of the cache of compiled JSON Schemas, in bytes. A compiled schema takes about forty times its
    /// text.
    #[serde(skip)]
    pub validator_cache_bytes: u64,
    /// Maximum size of one tool's JSON Schema text in bytes. Calls of tools with larger schemas are only checked for
    /// name and JSON syntax.
    #[serde(skip)]
    pub max_schema_bytes: usize,
    /// Number of faults in one answer after which further calls are not examined. The answer is faulty anyway.
    pub max_diagnoses: NonZeroUsize,
    /// Maximum time for validating one answer, in milliseconds. Beyond it, the answer counts as unjudged. 0: no limit.
    pub max_judgement_milliseconds: u64,
}

impl Settings {
    /// Returns the limits for validating one answer.
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
