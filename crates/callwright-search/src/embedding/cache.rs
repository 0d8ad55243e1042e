//! Cache of vectors in the store.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};

use super::{EmbedError, Embedder, Vector};
use callwright_common::limits::EMBEDDED_TEXTS;
use callwright_common::text::beginning;
use callwright_store::{TextHash, Vectors};

/// An embedder that caches vectors in the store. If the store fails, every text is embedded again without other
/// effects.
#[derive(Debug)]
pub(super) struct CachedEmbedder {
    model: Arc<dyn Embedder>,
    store: Arc<dyn Vectors>,
    /// Maximum number of characters of a text that the model reads. The cache key covers only these.
    chars: usize,
}

/// Positions of the texts that share a vector.
type TextPositions = Vec<usize>;

impl CachedEmbedder {
    pub(super) fn new(model: Arc<dyn Embedder>, store: Arc<dyn Vectors>, chars: usize) -> Self {
        Self { model, store, chars }
    }

    async fn vectors(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        let hashes: Vec<TextHash> =
            texts.iter().map(|text| Sha256::digest(beginning(text, self.chars)).into()).collect();
        let mut vectors = self.cached(&hashes).await;
        let (missing, positions) = missing(texts, &hashes, &vectors);
        let mut rest = missing.into_iter();
        loop {
            let (hashes, texts): (Vec<TextHash>, Vec<String>) = rest.by_ref().take(EMBEDDED_TEXTS).unzip();
            if texts.is_empty() {
                return Ok(vectors.into_iter().flatten().collect());
            }
            let embedded = self.model.embed(texts).await?;
            self.keep(&hashes, &embedded).await;
            for (hash, vector) in hashes.iter().zip(embedded) {
                for position in positions.get(hash).into_iter().flatten() {
                    if let Some(slot) = vectors.get_mut(*position) {
                        *slot = Some(vector.clone());
                    }
                }
            }
        }
    }

    /// Returns the cached vectors; `None` for each text if the store fails or its entry is invalid.
    async fn cached(&self, hashes: &[TextHash]) -> Vec<Option<Vector>> {
        let Ok(cached) = self.store.load(self.model.id(), hashes).await else { return vec![None; hashes.len()] };
        let dimensions = self.model.dimensions();
        cached.into_iter().map(|bytes| from_bytes(&bytes?, dimensions)).collect()
    }

    async fn keep(&self, hashes: &[TextHash], vectors: &[Vector]) {
        let rows: Vec<(TextHash, Vec<u8>)> = hashes.iter().copied().zip(vectors.iter().map(to_bytes)).collect();
        // The store reports its own failures; vectors that are not written are computed again.
        let _ = self.store.save(self.model.id(), &rows).await;
    }
}

impl Embedder for CachedEmbedder {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn is_immediate(&self) -> bool {
        self.model.is_immediate()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(self.vectors(texts))
    }

    /// Bypasses the cache, because such texts rarely recur.
    fn embed_query(&self, text: String) -> BoxFuture<'_, Result<Vector, EmbedError>> {
        self.model.embed_query(text)
    }
}

/// Returns the texts without a vector, deduplicated and shortest first, because the texts of a batch are padded to the
/// longest. Also returns the positions of each.
fn missing(
    texts: Vec<String>,
    hashes: &[TextHash],
    vectors: &[Option<Vector>],
) -> (Vec<(TextHash, String)>, HashMap<TextHash, TextPositions>) {
    let mut positions: HashMap<TextHash, TextPositions> = HashMap::new();
    let mut missing = Vec::new();
    for (at, ((text, hash), vector)) in texts.into_iter().zip(hashes).zip(vectors).enumerate() {
        if vector.is_some() {
            continue;
        }
        let positions = positions.entry(*hash).or_default();
        if positions.is_empty() {
            missing.push((*hash, text));
        }
        positions.push(at);
    }
    missing.sort_by_key(|(_, text)| text.len());
    (missing, positions)
}

fn to_bytes(vector: &Vector) -> Vec<u8> {
    vector.components().iter().flat_map(|component| component.to_le_bytes()).collect()
}

fn from_bytes(bytes: &[u8], dimensions: usize) -> Option<Vector> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let fits = rest.is_empty() && numbers.len() == dimensions;
    fits.then(|| Vector::new(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())).flatten()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use callwright_store::StoreError;

    /// A text's hash and the bytes of its vector.
    type Row = (TextHash, Vec<u8>);

    /// Maximum number of characters of a text that the model reads.
    const CHARS: usize = 400;

    /// Returns the lengths of texts as vectors, and records the requests. Fails if a text requires it.
    #[derive(Debug, Default)]
    struct Model(Mutex<Vec<Vec<String>>>);

    impl Embedder for Model {
        fn id(&self) -> &str {
            "lengths"
        }

        fn dimensions(&self) -> usize {
            2
        }

        fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
            let vectors = texts.iter().map(|text| Vector::new(vec![1.0, text.len() as f32]).unwrap()).collect();
            let fails = texts.iter().any(|text| text.ends_with("fail"));
            self.0.lock().unwrap().push(texts);
            let error = EmbedError { model: "lengths".to_owned(), reason: "no".to_owned() };
            Box::pin(async move { if fails { Err(error) } else { Ok(vectors) } })
        }
    }

    /// An in-memory store that can fail.
    #[derive(Debug)]
    struct MemoryVectors {
        rows: Mutex<Vec<Row>>,
        fails: bool,
    }

    impl MemoryVectors {
        fn with(rows: Vec<Row>, fails: bool) -> Arc<Self> {
            Arc::new(Self { rows: Mutex::new(rows), fails })
        }

        fn check(&self) -> Result<(), StoreError> {
            if self.fails { Err(StoreError::Unavailable("full".to_owned())) } else { Ok(()) }
        }
    }

    impl Vectors for MemoryVectors {
        fn load<'a>(
            &'a self,
            _: &'a str,
            texts: &'a [TextHash],
        ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreError>> {
            let rows = self.rows.lock().unwrap();
            let found = |hash: &TextHash| rows.iter().find(|(text, _)| text == hash).map(|(_, vector)| vector.clone());
            let found = self.check().map(|()| texts.iter().map(found).collect());
            Box::pin(async move { found })
        }

        fn save<'a>(&'a self, model: &'a str, rows: &'a [Row]) -> BoxFuture<'a, Result<(), StoreError>> {
            assert_eq!(model, "lengths");
            let done = self.check();
            if done.is_ok() {
                self.rows.lock().unwrap().extend_from_slice(rows);
            }
            Box::pin(async move { done })
        }
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// Embeds `requested` with a store of these rows. Returns the texts that the model received, and the lengths.
    async fn embed_with(store: &Arc<MemoryVectors>, requested: &[&str]) -> (Vec<String>, Vec<f32>) {
        let model = Arc::new(Model::default());
        let embedder = CachedEmbedder::new(Arc::clone(&model) as _, Arc::clone(store) as _, CHARS);
        let vectors = embedder.embed(texts(requested)).await.unwrap();
        let lengths = vectors.iter().map(|vector| (vector.components()[1] / vector.components()[0]).round()).collect();
        let given = model.0.lock().unwrap().concat();
        (given, lengths)
    }

    #[tokio::test]
    async fn a_text_is_given_to_the_model_once() {
        let store = MemoryVectors::with(Vec::new(), false);
        assert_eq!(embed_with(&store, &["a", "bb"]).await, (texts(&["a", "bb"]), vec![1.0, 2.0]));
        assert_eq!(embed_with(&store, &["ccc", "bb", "a"]).await, (texts(&["ccc"]), vec![3.0, 2.0, 1.0]));
        assert_eq!(embed_with(&store, &["dddd", "a", "dddd"]).await, (texts(&["dddd"]), vec![4.0, 1.0, 4.0]));
    }

    #[tokio::test]
    async fn a_vector_belongs_to_as_much_of_its_text_as_the_model_reads() {
        let store = MemoryVectors::with(Vec::new(), false);
        let [long, longer, other] = ["x", "xy", "y"].map(|end| "a".repeat(CHARS) + end);
        let (given, _) = embed_with(&store, &[&long, &longer]).await;
        assert_eq!(given, std::slice::from_ref(&long), "the same is read of both");
        assert_eq!(embed_with(&store, &[&other]).await.0, Vec::<String>::new());
        let model = Arc::new(Model::default());
        let reads_more = CachedEmbedder::new(Arc::clone(&model) as _, Arc::clone(&store) as _, CHARS + 1);
        reads_more.embed(vec![long.clone()]).await.unwrap();
        assert_eq!(*model.0.lock().unwrap(), [[long]]);
    }

    #[tokio::test]
    async fn vectors_are_stored_before_more_are_requested() {
        let store = MemoryVectors::with(Vec::new(), false);
        // The longest text is last.
        let texts: Vec<String> =
            (0..2 * EMBEDDED_TEXTS).map(|number| number.to_string()).chain(["it will fail".to_owned()]).collect();
        let model = Arc::new(Model::default());
        let embedder = CachedEmbedder::new(Arc::clone(&model) as _, Arc::clone(&store) as _, CHARS);
        assert!(embedder.embed(texts.clone()).await.is_err());
        assert_eq!(store.rows.lock().unwrap().len(), 2 * EMBEDDED_TEXTS);
        model.0.lock().unwrap().clear();
        assert!(embedder.embed(texts).await.is_err());
        assert_eq!(*model.0.lock().unwrap(), [["it will fail"]]);
    }

    #[tokio::test]
    async fn query_vectors_are_not_cached() {
        let store = MemoryVectors::with(Vec::new(), false);
        let embedder = CachedEmbedder::new(Arc::new(Model::default()), Arc::clone(&store) as _, CHARS);
        embedder.embed_query("a".to_owned()).await.unwrap();
        assert!(store.rows.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_failing_store_or_invalid_row_costs_only_time() {
        let failing = MemoryVectors::with(Vec::new(), true);
        assert_eq!(embed_with(&failing, &["a"]).await, (texts(&["a"]), vec![1.0]));
        for bytes in [vec![], vec![0; 7], vec![0; 12], f32::NAN.to_le_bytes().repeat(2)] {
            let store = MemoryVectors::with(vec![(Sha256::digest("a").into(), bytes)], false);
            assert_eq!(embed_with(&store, &["a"]).await, (texts(&["a"]), vec![1.0]));
        }
    }

    #[test]
    fn bytes_become_the_vector_they_were() {
        let vector = Vector::new(vec![0.25, -3.0, 1e-9]).unwrap();
        let back = from_bytes(&to_bytes(&vector), 3).unwrap();
        assert!(vector.components().iter().zip(back.components()).all(|(a, b)| (a - b).abs() < 1e-7));
    }
}
