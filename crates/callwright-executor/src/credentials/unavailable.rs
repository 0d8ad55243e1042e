//! Error for unavailable credentials.

use super::requirement::CallCredentials;
use callwright_types::Outcome;
use callwright_types::outcome::CredentialFault;

/// Reason why a credential is unavailable. Contains no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unavailable {
    /// Reason for the operator.
    pub(super) detail: String,
    /// Whether the error is transient: it may disappear without any action of the operator.
    pub(super) is_passing: bool,
}

impl Unavailable {
    /// Creates an error that persists until the operator acts.
    pub(super) fn lasting(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), is_passing: false }
    }

    /// Creates a transient error: a server did not answer, or is overloaded.
    pub(super) fn passing(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), is_passing: true }
    }

    /// Returns the outcome for the model: nothing was sent, and whether a later attempt can help.
    pub(crate) fn outcome(self, required: &CallCredentials) -> Outcome {
        if self.is_passing {
            Outcome::Unreachable { reason: "the API's authorisation could not be obtained at the moment".to_owned() }
        } else {
            let fault =
                if required.alternatives.is_empty() { CredentialFault::Missing } else { CredentialFault::Unavailable };
            Outcome::Unauthorised {
                fault,
                reason: "this tool is not available: the proxy is not authorised to use it. Only its operator can change that"
                    .to_owned(),
            }
        }
    }
}
