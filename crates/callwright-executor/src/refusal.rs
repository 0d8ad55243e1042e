//! Shorthand for refusals.

/// Builds a [`Refusal`](callwright_types::Refusal) from a [`RefusalReason`](callwright_types::RefusalReason) and a
/// format string.
macro_rules! refuse {
    ($reason:ident, $($part:tt)*) => {
        callwright_types::Refusal::new(callwright_types::RefusalReason::$reason, format!($($part)*))
    };
}

pub(super) use refuse;
