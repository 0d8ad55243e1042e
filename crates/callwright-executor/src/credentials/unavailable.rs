//! A credential that cannot be had.

use super::wanted::Wanted;
use callwright_types::Outcome;

/// Why a credential cannot be had. Holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unavailable {
    /// For the operator.
    pub(super) detail: String,
    /// May it be otherwise in a moment, without anybody doing anything?
    pub(super) is_passing: bool,
}

impl Unavailable {
    /// It stays so until the operator does something.
    pub(super) fn lasting(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), is_passing: false }
    }

    /// A server did not answer, or is too busy.
    pub(super) fn passing(detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), is_passing: true }
    }

    /// Tells the operator.
    pub(super) fn log(&self, wanted: &Wanted) {
        tracing::warn!(toolset = wanted.toolset, tool = wanted.tool, "no credential: {}", self.detail);
    }

    /// Tells the operator what is wrong, and makes what the model is told of it: nothing was sent, and what it can do about that.
    pub(crate) fn outcome(self, wanted: &Wanted) -> Outcome {
        self.log(wanted);
        if self.is_passing {
            Outcome::Unreachable { reason: "the API's authorisation could not be obtained at the moment".to_owned() }
        } else {
            Outcome::Unauthorised {
                reason: "this tool is not available: the proxy is not authorised to use it. Only its operator can change that"
                    .to_owned(),
            }
        }
    }
}
