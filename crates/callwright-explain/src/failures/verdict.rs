//! Verdicts on outcomes and messages, and the findings that they are based on.

use callwright_types::promise::Shortfall;

/// Kind of a failed outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The API returned this status, which reports no success: a redirect that is not followed, or 400 and more.
    Status(u16),
    /// The API returned a successful status with an error body. Contains the name of the rule that recognised it.
    ErrorBody(&'static str),
    /// A rule of the policy marks it as failed. Contains the rule's index, from 0.
    Ruled(usize),
    /// The API returned a lower status with a bare code that the documentation describes as an error.
    NamedCode(String),
    /// The API returned a lower status but nothing that its document promises.
    NotAsPromised(Shortfall),
    /// The request did not reach the API.
    Unreachable,
    /// The request was sent but no response arrived.
    Unknown,
    /// The request was not sent: a policy or safety rule forbids it, or a required credential is not available.
    Refused,
}

/// Verdict on an outcome or a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureVerdict<Failure = FailureKind> {
    Failed(Failure),
    /// It did not fail: a rule of the policy matched, or nothing was attempted.
    Fine,
    /// There is no evidence of a failure.
    Undecided,
}

impl<Failure> FailureVerdict<Failure> {
    /// Returns the failure, if any.
    pub fn failure(self) -> Option<Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Fine | Self::Undecided => None,
        }
    }
}

/// Evidence by which a failure was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureEvidence {
    /// The message has the form of an error: an error body, a traceback, or an HTTP status line.
    Form,
    /// The wording of the message.
    Words,
}

/// Name of the rule that matched, and its evidence.
pub(crate) type Finding = (&'static str, FailureEvidence);
