//! Reason why a request is not sent.

use callwright_types::Outcome;

/// Violation of a policy or safety rule that forbids a request, with the change that would allow it. Contains no
/// secret, because the model reads it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct CallRefusal(pub(super) String);

impl From<CallRefusal> for Outcome {
    fn from(refusal: CallRefusal) -> Self {
        Self::Refused { reason: refusal.0 }
    }
}

/// Shorthand for building a [`CallRefusal`] from a format string.
macro_rules! refuse {
    ($($part:tt)*) => { $crate::refusal::CallRefusal(format!($($part)*)) };
}

pub(super) use refuse;
