//! Items that edits append to a request.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

/// Appended items. They are separate from the client's own arrays, so that these are neither parsed nor copied until
/// they are sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Additions {
    pub(super) messages: Vec<Arc<RawValue>>,
    /// Notes to append to the texts of the client's messages, by message position.
    pub(super) notes: BTreeMap<usize, String>,
    pub(super) tools: Vec<Arc<RawValue>>,
    pub(super) functions: Vec<Arc<RawValue>>,
    /// Whether the added tools replace the client's own list instead of extending it.
    pub(super) replace_tools: bool,
    /// Whether the last pushed assistant message calls in the legacy form. Its results must have the same form.
    pub(super) legacy_calls: Option<bool>,
}

impl Additions {
    pub(super) fn arrays(&self) -> [(&'static str, &[Arc<RawValue>]); 3] {
        [("messages", &self.messages), ("tools", &self.tools), ("functions", &self.functions)]
    }

    pub(super) fn of(&self, key: &str) -> &[Arc<RawValue>] {
        self.arrays().into_iter().find(|(name, _)| *name == key).map_or(&[], |(_, items)| items)
    }

    /// Whether the additions replace the client's own array.
    pub(super) fn replace(&self, key: &str) -> bool {
        self.replace_tools && key != "messages"
    }
}
