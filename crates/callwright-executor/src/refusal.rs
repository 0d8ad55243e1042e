//! Shorthand for refusals.

use callwright_types::{Refusal, RefusalReason};

/// Builds a [`Refusal`] from a [`RefusalReason`] and a format string.
macro_rules! refuse {
    ($reason:ident, $($part:tt)*) => {
        callwright_types::Refusal::new(callwright_types::RefusalReason::$reason, format!($($part)*))
    };
}

pub(super) use refuse;

/// Returns the refusal of a call whose arguments make no valid request.
pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalReason::InvalidArguments, message)
}
