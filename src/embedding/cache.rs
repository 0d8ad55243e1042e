//! Vectors that are known already are looked up instead of made.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::{EmbedError, Embedder, Vector};
use crate::store::{TextHash, Vectors};

/// Vectors that one transaction writes at most.
const BATCH: usize = 256;

/// A text's hash, and its vector's bytes.
type Row = (TextHash, Vec<u8>);

/// An embedder whose vectors are kept in the store. A store that fails is asked again for every text, and nothing else changes.
#[derive(Debug)]
pub(super) struct CachedEmbedder {
    model: Arc<dyn Embedder>,
    store: Arc<dyn Vectors>,
    /// To the task that writes: nobody waits for it, and what finds no room is dropped.
    queue: Sender<Row>,
}

impl CachedEmbedder {
    /// Starts the task that writes; it ends with the embedder, after it wrote what waits.
    pub(super) fn start(model: Arc<dyn Embedder>, store: Arc<dyn Vectors>, queue: usize) -> Self {
        let (queue, waiting) = mpsc::channel(queue.max(1));
        tokio::spawn(write(model.id().to_owned(), Arc::clone(&store), waiting));
        Self { model, store, queue }
    }

    async fn vectors(&self, texts: Vec<String>) -> Result<Vec<Vector>, EmbedError> {
        let hashes: Vec<TextHash> = texts.iter().map(|text| Sha256::digest(text).into()).collect();
        let mut vectors = self.known(&hashes).await;
        let missing: Vec<usize> =
            vectors.iter().enumerate().filter(|(_, vector)| vector.is_none()).map(|(at, _)| at).collect();
        let mut texts = texts;
        let asked = missing.iter().filter_map(|at| texts.get_mut(*at).map(std::mem::take)).collect();
        let made = self.model.embed(asked).await?;
        for (at, vector) in missing.into_iter().zip(made) {
            if let (Some(place), Some(hash)) = (vectors.get_mut(at), hashes.get(at)) {
                let _ = self.queue.try_send((*hash, to_bytes(&vector)));
                *place = Some(vector);
            }
        }
        Ok(vectors.into_iter().flatten().collect())
    }

    /// What the store knows; nothing where it fails or holds something else.
    async fn known(&self, hashes: &[TextHash]) -> Vec<Option<Vector>> {
        let Ok(known) = self.store.known(self.model.id(), hashes).await else { return vec![None; hashes.len()] };
        let dimensions = self.model.dimensions();
        known.into_iter().map(|bytes| from_bytes(&bytes?, dimensions)).collect()
    }
}

impl Embedder for CachedEmbedder {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(self.vectors(texts))
    }
}

/// Writes what waits, as much as waits at a time.
async fn write(model: String, store: Arc<dyn Vectors>, mut waiting: Receiver<Row>) {
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, BATCH).await > 0 {
        // The store tells of its troubles itself; what is not written is made again.
        let _ = store.remember(&model, &batch).await;
        batch.clear();
    }
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
    use crate::store::StoreError;

    /// Answers with the length of texts, and remembers what it was asked.
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
            self.0.lock().unwrap().push(texts);
            Box::pin(async move { Ok(vectors) })
        }
    }

    /// A store in memory, which may fail.
    #[derive(Debug)]
    struct Shelf {
        rows: tokio::sync::watch::Sender<Vec<Row>>,
        fails: bool,
    }

    impl Shelf {
        fn with(rows: Vec<Row>, fails: bool) -> Arc<Self> {
            Arc::new(Self { rows: tokio::sync::watch::Sender::new(rows), fails })
        }

        fn check(&self) -> Result<(), StoreError> {
            if self.fails { Err(StoreError::Unavailable("full".to_owned())) } else { Ok(()) }
        }
    }

    impl Vectors for Shelf {
        fn known<'a>(
            &'a self,
            _: &'a str,
            texts: &'a [TextHash],
        ) -> BoxFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreError>> {
            let rows = self.rows.borrow();
            let found = |hash: &TextHash| rows.iter().find(|(text, _)| text == hash).map(|(_, vector)| vector.clone());
            let found = self.check().map(|()| texts.iter().map(found).collect());
            Box::pin(async move { found })
        }

        fn remember<'a>(&'a self, model: &'a str, rows: &'a [Row]) -> BoxFuture<'a, Result<(), StoreError>> {
            assert_eq!(model, "lengths");
            let done = self.check();
            if done.is_ok() {
                self.rows.send_modify(|all| all.extend_from_slice(rows));
            }
            Box::pin(async move { done })
        }
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// Embeds `asked` over a store with these rows; what the model was asked, and the lengths that came back.
    async fn ask(store: &Arc<Shelf>, asked: &[&str]) -> (Vec<String>, Vec<f32>) {
        let model = Arc::new(Model::default());
        let embedder = CachedEmbedder::start(Arc::clone(&model) as _, Arc::clone(store) as _, 10);
        let vectors = embedder.embed(texts(asked)).await.unwrap();
        let lengths = vectors.iter().map(|vector| (vector.components()[1] / vector.components()[0]).round()).collect();
        let given = model.0.lock().unwrap().concat();
        (given, lengths)
    }

    #[tokio::test]
    async fn a_text_is_given_to_the_model_once() {
        let store = Shelf::with(Vec::new(), false);
        assert_eq!(ask(&store, &["a", "bb"]).await, (texts(&["a", "bb"]), vec![1.0, 2.0]));
        store.rows.subscribe().wait_for(|rows| rows.len() == 2).await.unwrap();
        assert_eq!(ask(&store, &["ccc", "bb", "a"]).await, (texts(&["ccc"]), vec![3.0, 2.0, 1.0]));
    }

    #[tokio::test]
    async fn a_store_that_fails_or_holds_something_else_costs_time_alone() {
        let failing = Shelf::with(Vec::new(), true);
        assert_eq!(ask(&failing, &["a"]).await, (texts(&["a"]), vec![1.0]));
        for bytes in [vec![], vec![0; 7], vec![0; 12], f32::NAN.to_le_bytes().repeat(2)] {
            let store = Shelf::with(vec![(Sha256::digest("a").into(), bytes)], false);
            assert_eq!(ask(&store, &["a"]).await, (texts(&["a"]), vec![1.0]));
        }
    }

    #[test]
    fn bytes_become_the_vector_they_were() {
        let vector = Vector::new(vec![0.25, -3.0, 1e-9]).unwrap();
        let back = from_bytes(&to_bytes(&vector), 3).unwrap();
        assert!(vector.components().iter().zip(back.components()).all(|(a, b)| (a - b).abs() < 1e-7));
    }
}
