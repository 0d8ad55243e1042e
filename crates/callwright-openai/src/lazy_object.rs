//! JSON object that is parsed into its members only when these are needed.

use std::sync::OnceLock;

use bytes::Bytes;

use callwright_common::json::RawObject;

/// Object as it was received. Most answers are read in place and forwarded unchanged, and never need it in members.
#[derive(Debug, Clone, Default)]
pub(super) struct LazyObject {
    text: Bytes,
    members: OnceLock<RawObject>,
}

impl LazyObject {
    /// Creates an object from its text, which a [`Scanner`](super::scanner::Scanner) has read.
    pub(super) fn of_text(text: Bytes) -> Self {
        Self { text, members: OnceLock::new() }
    }

    /// Returns the members.
    pub(super) fn members(&self) -> &RawObject {
        self.members.get_or_init(|| parse(&self.text))
    }

    /// Changes the members.
    pub(super) fn edit<T>(&mut self, edit: impl FnOnce(&mut RawObject) -> T) -> T {
        let mut members = self.members.take().unwrap_or_else(|| parse(&self.text));
        let result = edit(&mut members);
        *self = Self::from(members);
        result
    }
}

impl From<RawObject> for LazyObject {
    fn from(members: RawObject) -> Self {
        Self { text: Bytes::new(), members: OnceLock::from(members) }
    }
}

fn parse(text: &[u8]) -> RawObject {
    // The text was scanned before, so this cannot fail.
    RawObject::parse_bytes(text).unwrap_or_default()
}
