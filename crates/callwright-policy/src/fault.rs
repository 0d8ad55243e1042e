//! One mistake in a policy that parses.

use callwright_common::json::Pointer;

/// A value that a policy cannot have, and where it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// The place.
    pub(super) place: Pointer,
    /// What is wrong and what would be right.
    pub(super) message: String,
}

impl Fault {
    /// A fault at `place`.
    pub(super) fn new(place: Pointer, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }
}
