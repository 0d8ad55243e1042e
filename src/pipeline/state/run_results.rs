//! Results of the calls that the proxy executed.

use callwright_judge::scanner::CheckedCall;
use callwright_types::outcome::CredentialFault;
use callwright_types::promise::Shortfall;
use callwright_types::{Explanation, Outcome};

/// Results of executing the calls of an answer.
#[derive(Debug)]
pub(crate) struct RunResults {
    pub(crate) results: Vec<RanCall>,
}

/// Result of one executed call.
#[derive(Debug)]
pub(crate) struct RanCall {
    pub(crate) checked: CheckedCall,
    pub(crate) outcome: Outcome,
    /// `None` if the outcome is no failure of the API.
    pub(crate) explanation: Option<Explanation>,
    /// Whether the method is safe (RFC 9110 section 9.2.1).
    pub(crate) only_reads: bool,
    /// The fault of the toolset's credential, if it caused the failure.
    pub(crate) credential: Option<CredentialFault>,
    /// The deviation from the documented answer, if it caused the failure.
    pub(crate) shortfall: Option<Shortfall>,
    /// Why a check doubts that a successful outcome is what was requested.
    pub(crate) doubt: Option<String>,
    /// Whether the model has to correct the call, which costs a round of dynamic feedback.
    pub(crate) failed: bool,
}

impl RanCall {
    /// Creates the result of a call that cannot fail.
    pub(crate) fn succeeded(checked: CheckedCall, outcome: Outcome) -> Self {
        let (explanation, credential, shortfall) = (None, None, None);
        Self { checked, outcome, explanation, only_reads: true, credential, shortfall, doubt: None, failed: false }
    }
}

impl RunResults {
    /// Whether any call failed.
    pub(crate) fn any_failed(&self) -> bool {
        self.results.iter().any(|ran| ran.failed)
    }
}
