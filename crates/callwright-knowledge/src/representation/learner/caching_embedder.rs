//! Caching embedder: the learner and the proposer embed the same texts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use callwright_search::embedding::{EmbedError, Embedder, Vector};

/// Embedder with a cache of all its results.
#[derive(Debug)]
pub struct MemoEmbedder {
    inner: Arc<dyn Embedder>,
    known: Mutex<HashMap<String, Vector>>,
}

impl MemoEmbedder {
    /// Creates an empty cache.
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self { inner, known: Mutex::default() }
    }

    fn known<T>(&self, look: impl FnOnce(&mut HashMap<String, Vector>) -> T) -> T {
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Embedder for MemoEmbedder {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn is_immediate(&self) -> bool {
        self.inner.is_immediate()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(async move {
            let mut unknown: Vec<String> =
                self.known(|known| texts.iter().filter(|text| !known.contains_key(*text)).cloned().collect());
            unknown.sort_unstable();
            unknown.dedup();
            if !unknown.is_empty() {
                let vectors = self.inner.embed(unknown.clone()).await?;
                self.known(|known| known.extend(unknown.into_iter().zip(vectors)));
            }
            let zero = Vector::zero(self.inner.dimensions());
            Ok(self.known(|known| texts.iter().map(|text| known.get(text).unwrap_or(&zero).clone()).collect()))
        })
    }
}
