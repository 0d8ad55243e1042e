//! Reason why a request is not sent.

use callwright_types::Outcome;

/// Violation of a policy or safety rule that forbids a request, with the change that would allow it. Contains no
/// secret, because the model reads it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refusal(pub(super) String);

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self::Refused { reason: refusal.0 }
    }
}

/// Shorthand for building a [`Refusal`] from a format string.
macro_rules! refuse {
    ($($part:tt)*) => { $crate::refusal::Refusal(format!($($part)*)) };
}

pub(super) use refuse;
