//! Evidence of a decision.

/// Evidence by which a failure was recognised, the most certain first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureEvidence {
    /// A rule of the policy matched.
    Policy,
    /// The message has the form of an error: an error body, a traceback, or an HTTP status line.
    Form,
    /// The wording of the message.
    Words,
}

/// Name of the rule that matched, and its evidence.
pub(crate) type Finding = (&'static str, FailureEvidence);
