//! Cache of analysed tool messages. A client sends its whole conversation with every request, so only the end is new.

use std::sync::Arc;

use callwright_common::cache::{ByteCache, Usage};
use callwright_types::Explanation;

/// Explanation of a failure in a message. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ExplainedFailure {
    /// The explanation from the documentation.
    pub(crate) explanation: Arc<Explanation>,
    /// The text to append to the message; `None` if there is no explanation.
    pub(crate) note: Option<Arc<str>>,
}

/// Result of the analysis of a message.
#[derive(Debug, Clone)]
enum MessageAnalysis {
    /// The rule by which the message reports a failure, if any.
    Rule(Option<&'static str>),
    /// The explanation of the failure.
    Failure(ExplainedFailure),
}

/// Cache of analysed messages. It belongs to one catalog and its documentation. Clones share one cache.
#[derive(Debug, Clone)]
pub(crate) struct AnalysisCache {
    cache: ByteCache<String, MessageAnalysis>,
}

impl AnalysisCache {
    /// Creates a cache of about this many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { cache: ByteCache::new(bytes, |key: &String, found| key.len() + weight(found)) }
    }

    pub(crate) fn usage(&self) -> Usage {
        self.cache.usage()
    }

    /// Returns the rule by which the message of `key` reports a failure, from the cache or from `look`.
    pub(crate) async fn rule_or(
        &self,
        key: String,
        find: impl Future<Output = Option<&'static str>>,
    ) -> Option<&'static str> {
        if let Some(MessageAnalysis::Rule(rule)) = self.cache.get(&key) {
            return rule;
        }
        let rule = find.await;
        self.cache.insert(key, MessageAnalysis::Rule(rule));
        rule
    }

    /// Returns the cached explanation of the failure of `key`.
    pub(crate) fn failure(&self, key: &str) -> Option<ExplainedFailure> {
        match self.cache.get(key) {
            Some(MessageAnalysis::Failure(failure)) => Some(failure),
            _ => None,
        }
    }

    /// Caches the explanation of the failure of `key`.
    pub(crate) fn remember(&self, key: &str, failure: &ExplainedFailure) {
        self.cache.insert(key.to_owned(), MessageAnalysis::Failure(failure.clone()));
    }
}

fn weight(found: &MessageAnalysis) -> usize {
    match found {
        MessageAnalysis::Rule(_) => 0,
        MessageAnalysis::Failure(ExplainedFailure { explanation, note }) => {
            let passages = explanation.passages.iter();
            let passages = passages.map(|passage| passage.text.len() + passage.source.len() + size_of_val(passage));
            size_of_val(&**explanation) + passages.sum::<usize>() + note.as_ref().map_or(0, |note| note.len())
        }
    }
}
