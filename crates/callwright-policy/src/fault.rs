//! A mistake in a policy that parses.

use callwright_common::json::Pointer;

/// An invalid value of a policy, and its location in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PolicyFault {
    /// Location of the value.
    pub(super) place: Pointer,
    /// Description of the error and its remedy.
    pub(super) message: String,
}

impl PolicyFault {
    /// Creates a fault at `place`.
    pub(super) fn new(place: Pointer, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }
}
