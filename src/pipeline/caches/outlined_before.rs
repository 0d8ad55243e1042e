//! Cache of the outlines that were appended to user messages.

use std::sync::Arc;

use callwright_common::cache::{ByteCache, Usage};
use callwright_types::memory::Recalled;

/// Outlines by user message. A message keeps its outline, so the sent conversation does not change and prompt caches
/// stay valid. It is also not made again during tool calls. The cache is bounded and lost with the process.
#[derive(Debug, Clone)]
pub(crate) struct OutlinedBefore {
    pub(crate) messages: ByteCache<String, Arc<PlanOutline>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlanOutline {
    pub(crate) steps: Vec<String>,
    /// The procedures found for it, including those withheld.
    pub(crate) procedures: Vec<Recalled>,
}

impl OutlinedBefore {
    /// Creates an empty cache of at most this many bytes; the latest messages stay.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { messages: ByteCache::new(bytes, |key: &String, outline| key.len() + PlanOutline::bytes(outline)) }
    }

    /// Returns the cache usage.
    pub(crate) fn usage(&self) -> Usage {
        self.messages.usage()
    }
}

impl PlanOutline {
    fn bytes(&self) -> usize {
        let steps = self.steps.iter().map(|step| step.len() + size_of::<String>());
        let procedures = self.procedures.iter().map(|found| found.id.len() + size_of::<Recalled>());
        steps.sum::<usize>() + procedures.sum::<usize>()
    }
}
