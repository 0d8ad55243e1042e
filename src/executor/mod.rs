//! A checked call → an HTTP request to the tool's API → an outcome.
//!
//! Owns addresses, credentials, encoding and what may be sent. The only room that calls tool APIs. Must not know models, turns or
//! feedback.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::catalog::{Operation, Toolset};
use crate::domain::Outcome;
use crate::domain::rules::ExecuteRules;
use crate::scanner::CheckedCall;
use crate::store::Intents;

/// Settings of execution (`[executor]`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {}

/// Settings that are of no use.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {}

/// Executes calls. For now it refuses every one.
#[derive(Debug)]
pub struct Executor {}

impl Executor {
    /// An executor.
    ///
    /// # Errors
    /// Never yet.
    pub fn build(_settings: &Settings, _intents: Arc<dyn Intents>) -> Result<Self, BuildError> {
        Ok(Self {})
    }

    /// Refuses the call.
    pub async fn execute(
        &self,
        _call: &CheckedCall,
        _operation: &Operation,
        _toolset: &Toolset,
        _rules: &ExecuteRules,
        _session: Option<&str>,
        _trace_id: &str,
    ) -> Outcome {
        Outcome::Refused { reason: "calls are not executed yet".to_owned() }
    }
}
