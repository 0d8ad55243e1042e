//! Caching embedder: the learner and the proposer embed the same texts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use callwright_search::embedding::{EmbedError, Embedder, Vector};

/// Embedder with a cache of all its results.
#[derive(Debug)]
pub struct CachingEmbedder {
    inner: Arc<dyn Embedder>,
    cache: Mutex<HashMap<String, Vector>>,
}

impl CachingEmbedder {
    /// Creates an empty cache.
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self { inner, cache: Mutex::default() }
    }

    fn cache<T>(&self, use_cache: impl FnOnce(&mut HashMap<String, Vector>) -> T) -> T {
        use_cache(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Embedder for CachingEmbedder {
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
                self.cache(|cache| texts.iter().filter(|text| !cache.contains_key(*text)).cloned().collect());
            unknown.sort_unstable();
            unknown.dedup();
            if !unknown.is_empty() {
                let vectors = self.inner.embed(unknown.clone()).await?;
                self.cache(|cache| cache.extend(unknown.into_iter().zip(vectors)));
            }
            let zero = Vector::zero(self.inner.dimensions());
            Ok(self.cache(|cache| texts.iter().map(|text| cache.get(text).unwrap_or(&zero).clone()).collect()))
        })
    }
}
