//! Vectors of the short texts that an evaluation compares: names of tools and parameters, and the user's request.
//!
//! An evaluation never waits for a vector. An immediate embedder, such as the built-in table, computes it at once. Any
//! other one computes it in the background, for the next evaluation that compares the same text. The cache is limited
//! in bytes and shared by all tool lists, because most of them share their names.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tokio::runtime::Handle;

use super::tool_text::ToolText;
use super::tool_vectors::{ToolVectors, embed_tools};
use crate::embedding::{EmbedError, Embedder, Vector};
use callwright_common::cache::{ByteCache, Usage};
use callwright_common::limits::{CACHE_BYTES, EMBEDDED_TEXTS, NAME_LENGTH};
use callwright_common::text::{beginning, name_words};
use callwright_types::Similarity;

/// Maximum number of texts that wait for an embedder. Further ones receive no vector for now.
const MAX_WAITING: usize = 2_048;

/// Pause without requests after the embedder failed.
const PAUSE: Duration = Duration::from_secs(30);

/// Vectors of short texts, cached. Clones share the cache.
#[derive(Debug, Clone)]
pub struct TextVectors {
    shared: Arc<SharedVectors>,
    /// The runtime on which a caller outside of any runtime may wait for vectors.
    waits_on: Option<Handle>,
}

#[derive(Debug)]
struct SharedVectors {
    embedder: Arc<dyn Embedder>,
    known: ByteCache<String, Arc<Vector>>,
    queue: Mutex<Queue>,
}

/// Texts without a vector.
#[derive(Debug, Default)]
struct Queue {
    /// Names of tools and parameters, which recur.
    names: HashSet<String>,
    /// Texts of a conversation, which rarely recur: the embedder does not cache their vectors.
    queries: HashSet<String>,
    /// Whether a task processes the queue.
    is_running: bool,
    paused_until: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum TextOrigin {
    ToolList,
    Conversation,
}

impl TextVectors {
    /// Creates vectors of an embedder that never wait.
    pub fn new(embedder: Arc<dyn Embedder>) -> Self {
        let known = ByteCache::new(CACHE_BYTES, |text: &String, vector: &Arc<Vector>| {
            text.len() + size_of::<Vector>() + size_of_val(vector.components())
        });
        let queue = Mutex::new(Queue::default());
        Self { shared: Arc::new(SharedVectors { embedder, known, queue }), waits_on: None }
    }

    /// Creates vectors of an embedder for offline processing: callers are not tasks of `runtime` and wait for each
    /// vector.
    pub fn waiting(embedder: Arc<dyn Embedder>, runtime: Handle) -> Self {
        Self { waits_on: Some(runtime), ..Self::new(embedder) }
    }

    /// Returns the size of the cache.
    pub fn usage(&self) -> Usage {
        self.shared.known.usage()
    }

    pub fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.shared.embedder
    }

    /// Returns the vector of a text of the conversation; `None` if it is not available yet, or the text has no known
    /// word.
    pub fn query(&self, text: &str) -> Option<Arc<Vector>> {
        self.vector(text.to_owned(), TextOrigin::Conversation).filter(is_nonzero)
    }

    /// Returns the vectors of tools; `None` if they would require a wait, or the embedder failed.
    pub fn tools(&self, texts: &[ToolText]) -> Option<Vec<ToolVectors>> {
        let made = embed_tools(&*self.shared.embedder, texts);
        match &self.waits_on {
            Some(runtime) => runtime.block_on(made).ok(),
            None if self.shared.embedder.is_immediate() => made.now_or_never()?.ok(),
            None => None,
        }
    }

    fn vector(&self, text: String, origin: TextOrigin) -> Option<Arc<Vector>> {
        if text.is_empty() {
            return None;
        }
        if let Some(known) = self.shared.known.get(&text) {
            return Some(known);
        }
        let is_immediate = self.shared.embedder.is_immediate();
        if !is_immediate && self.waits_on.is_none() {
            self.request(text, origin);
            return None;
        }
        let made = self.shared.embedder.embed_query(text.clone());
        let made = match &self.waits_on {
            Some(runtime) if !is_immediate => runtime.block_on(made),
            _ => made.now_or_never()?,
        };
        let vector = Arc::new(made.ok()?);
        self.shared.known.insert(text, Arc::clone(&vector));
        Some(vector)
    }

    /// Requests a vector in the background.
    fn request(&self, text: String, origin: TextOrigin) {
        let Ok(runtime) = Handle::try_current() else { return };
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let is_paused = queue.paused_until.is_some_and(|until| Instant::now() < until);
        if is_paused || queue.names.len() + queue.queries.len() >= MAX_WAITING {
            return;
        }
        match origin {
            TextOrigin::ToolList => queue.names.insert(text),
            TextOrigin::Conversation => queue.queries.insert(text),
        };
        if !queue.is_running {
            queue.is_running = true;
            runtime.spawn(Arc::clone(&self.shared).work());
        }
    }
}

impl Similarity for TextVectors {
    /// Returns the cosine similarity of the two names' words.
    fn similarity(&self, name: &str, candidate: &str) -> Option<f64> {
        // Looks up both before checking either, so that both are requested at once.
        let name = self.vector(in_words(name), TextOrigin::Conversation);
        let candidate = self.vector(in_words(candidate), TextOrigin::ToolList);
        let (name, candidate) = (name.filter(is_nonzero)?, candidate.filter(is_nonzero)?);
        Some(cosine(&name, &candidate))
    }

    fn similarities(&self, name: &str, candidates: &[&str]) -> Vec<Option<f64>> {
        let made = self.vector(in_words(name), TextOrigin::Conversation);
        // An invented name without a known word is similar to nothing, however many candidates there are.
        let is_final = made.is_some() || self.shared.embedder.is_immediate();
        let name = made.filter(is_nonzero);
        if name.is_none() && is_final {
            return vec![None; candidates.len()];
        }
        let similarities = candidates.iter().map(|candidate| {
            let candidate = self.vector(in_words(candidate), TextOrigin::ToolList).filter(is_nonzero)?;
            Some(cosine(name.as_ref()?, &candidate))
        });
        similarities.collect()
    }
}

fn cosine(name: &Vector, candidate: &Vector) -> f64 {
    f64::from(name.cosine(candidate)).clamp(0.0, 1.0)
}

impl SharedVectors {
    /// Computes the queued vectors until the queue is empty.
    async fn work(self: Arc<Self>) {
        while let Some((names, query)) = self.next() {
            let made = match query {
                Some(query) => self.embedder.embed_query(query.clone()).await.map(|vector| vec![(query, vector)]),
                None => self.embedder.embed(names.clone()).await.map(|made| names.into_iter().zip(made).collect()),
            };
            match made {
                Ok(made) => made.into_iter().for_each(|(text, vector)| self.known.insert(text, Arc::new(vector))),
                Err(error) => return self.pause(&error),
            }
        }
    }

    /// Returns a batch of names, or one query. If the queue is empty, the worker ends, which is decided under the same
    /// lock as a new request.
    fn next(&self) -> Option<(Vec<String>, Option<String>)> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let query = queue.queries.iter().next().cloned();
        if let Some(query) = &query {
            queue.queries.remove(query);
            return Some((Vec::new(), Some(query.clone())));
        }
        let names: Vec<String> = queue.names.iter().take(EMBEDDED_TEXTS).cloned().collect();
        for name in &names {
            queue.names.remove(name);
        }
        queue.is_running = !names.is_empty();
        queue.is_running.then_some((names, None))
    }

    fn pause(&self, error: &EmbedError) {
        tracing::debug!(%error, seconds = PAUSE.as_secs(), "names are compared by spelling only until the pause ends");
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        *queue = Queue { paused_until: Some(Instant::now() + PAUSE), ..Queue::default() };
    }
}

/// Returns the words of a name as a text.
fn in_words(name: &str) -> String {
    name_words(beginning(name, NAME_LENGTH)).join(" ")
}

fn is_nonzero(vector: &Arc<Vector>) -> bool {
    vector.components().iter().any(|component| *component != 0.0)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::BoxFuture;

    use super::*;
    use crate::embedding::{Settings, built_in};

    /// The built-in table with a request counter; immediate or not.
    #[derive(Debug)]
    struct CountingEmbedder {
        table: Arc<dyn Embedder>,
        is_immediate: bool,
        fails: bool,
        requests: AtomicUsize,
        texts: AtomicUsize,
    }

    impl CountingEmbedder {
        fn new(is_immediate: bool, fails: bool) -> Arc<Self> {
            let table = built_in(&Settings::default()).unwrap();
            Arc::new(Self { table, is_immediate, fails, requests: AtomicUsize::new(0), texts: AtomicUsize::new(0) })
        }

        fn requests(&self) -> usize {
            self.requests.load(Ordering::SeqCst)
        }
    }

    impl Embedder for CountingEmbedder {
        fn id(&self) -> &str {
            self.table.id()
        }

        fn dimensions(&self) -> usize {
            self.table.dimensions()
        }

        fn is_immediate(&self) -> bool {
            self.is_immediate
        }

        fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
            self.requests.fetch_add(1, Ordering::SeqCst);
            self.texts.fetch_add(texts.len(), Ordering::SeqCst);
            if self.fails {
                let error = EmbedError { model: self.id().to_owned(), reason: "down".to_owned() };
                return Box::pin(async move { Err(error) });
            }
            self.table.embed(texts)
        }
    }

    #[test]
    fn names_are_compared_by_the_meaning_of_their_words() {
        let vectors = TextVectors::new(CountingEmbedder::new(true, false));
        let similarity = |one: &str, other: &str| vectors.similarity(one, other).unwrap();
        assert!(similarity("fetchUser", "get_user") > 0.6);
        assert!(similarity("remove_account", "delete_user") > similarity("remove_account", "get_weather") + 0.3);
        assert!((similarity("town", "Town") - 1.0).abs() < 1e-6);
        assert_eq!(vectors.similarity("\u{e000}", "city"), None, "no known word");
        assert_eq!(vectors.similarity("__", "city"), None);
        let candidates = ["get_user", "__", "get_weather", "city"];
        for name in ["fetchUser", "\u{e000}", "", "town"] {
            let one_by_one: Vec<Option<f64>> =
                candidates.iter().map(|candidate| vectors.similarity(name, candidate)).collect();
            assert_eq!(vectors.similarities(name, &candidates), one_by_one, "{name}");
        }
    }

    #[test]
    fn each_name_is_embedded_once() {
        let embedder = CountingEmbedder::new(true, false);
        let vectors = TextVectors::new(embedder.clone());
        assert_eq!(embedder.requests(), 0);
        for _ in 0..3 {
            assert!(vectors.similarity("town", "city").is_some());
            assert!(vectors.clone().similarity("town", "country").is_some());
        }
        assert_eq!(embedder.requests(), 3);
    }

    /// Waits until the queue is empty.
    async fn settle(vectors: &TextVectors) {
        while vectors.shared.queue.lock().unwrap().is_running {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_slow_embedder_is_not_awaited() {
        let embedder = CountingEmbedder::new(false, false);
        let vectors = TextVectors::new(embedder.clone());
        for candidate in ["city", "country", "days"] {
            assert_eq!(vectors.similarity("town", candidate), None);
        }
        assert_eq!(embedder.requests(), 0, "nothing is made within the judgement");
        settle(&vectors).await;
        assert_eq!(
            (embedder.requests(), embedder.texts.load(Ordering::SeqCst)),
            (2, 4),
            "one query, one batch of names"
        );
        assert!(vectors.similarity("town", "city").unwrap() > 0.5);
        settle(&vectors).await;
        assert_eq!(embedder.requests(), 2);
    }

    #[tokio::test]
    async fn a_failed_embedder_is_paused() {
        let embedder = CountingEmbedder::new(false, true);
        let vectors = TextVectors::new(embedder.clone());
        for _ in 0..5 {
            assert_eq!(vectors.similarity("town", "city"), None);
            settle(&vectors).await;
        }
        assert_eq!(embedder.requests(), 1);
    }

    #[tokio::test]
    async fn no_more_texts_wait_than_are_allowed() {
        let vectors = TextVectors::new(CountingEmbedder::new(false, false));
        for number in 0..2 * MAX_WAITING {
            assert_eq!(vectors.similarity("town", &format!("name {number}")), None);
        }
        let queue = vectors.shared.queue.lock().unwrap();
        assert_eq!(queue.names.len() + queue.queries.len(), MAX_WAITING);
    }

    #[test]
    fn without_a_runtime_only_waiting_callers_compute_vectors() {
        let vectors = TextVectors::new(CountingEmbedder::new(false, false));
        assert_eq!(vectors.similarity("town", "city"), None);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let vectors = TextVectors::waiting(CountingEmbedder::new(false, false), runtime.handle().clone());
        assert!(vectors.similarity("town", "city").unwrap() > 0.5);
        assert_eq!(vectors.tools(&[ToolText::default()]).unwrap().len(), 1);
    }

    #[test]
    fn the_vectors_of_tools_are_available_completely_or_not_at_all() {
        let tools = [ToolText { name: "get_weather".to_owned(), ..ToolText::default() }];
        assert_eq!(TextVectors::new(CountingEmbedder::new(true, false)).tools(&tools).unwrap().len(), 1);
        assert_eq!(TextVectors::new(CountingEmbedder::new(false, false)).tools(&tools), None);
        assert_eq!(TextVectors::new(CountingEmbedder::new(true, true)).tools(&tools), None);
    }
}
