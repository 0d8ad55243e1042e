//! A model that runs in this process.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use fastembed::{InitOptionsUserDefined, TextEmbedding};
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use super::folder::ModelFiles;
use super::runtime;
use crate::embedding::batches::{Answers, Portion};
use crate::embedding::{BuildError, EmbedError, Embedder, LocalSettings, Pooling, Settings, Vector};

/// Texts that a new model is tried with: of different lengths, so that what one batch does to another shows.
const PROBES: [&str; 2] = ["list", "get the weather of a city for the next five days"];

/// A local ONNX model. One inference runs at a time, on a thread for blocking work; whoever waits is served batch by batch, in turn.
pub(in crate::embedding) struct LocalEmbedder {
    id: String,
    dimensions: usize,
    portion: Portion,
    model: Arc<Mutex<TextEmbedding>>,
}

impl LocalEmbedder {
    /// Loads ONNX Runtime and the model in `folder`, and tries it. Takes seconds: not for an async thread.
    ///
    /// # Errors
    /// [`BuildError`], which names the library or the file, and what mends it.
    pub(in crate::embedding) fn open(
        folder: &Path,
        onnx_runtime: Option<&Path>,
        settings: &Settings,
    ) -> Result<Self, BuildError> {
        runtime::load(onnx_runtime)?;
        let files = ModelFiles::read(folder)?;
        let unfit = |reason: String| BuildError::Model { folder: folder.to_owned(), reason };
        let ModelFiles { model, id, vocabulary, mixes_batches } = files;
        let model = model.with_pooling(pooling(settings.fastembed.pooling));
        let mut model = TextEmbedding::try_new_from_user_defined(model, options(&settings.fastembed))
            .map_err(|error| unfit(error.to_string()))?;
        let tokens = model.tokenizer.get_vocab_size(true) as u64;
        if vocabulary > 0 && tokens > vocabulary {
            return Err(unfit(format!(
                "tokenizer.json has {tokens} tokens, and the model knows {vocabulary} (`vocab_size` of config.json): they belong to \
                 different models; take all files from one"
            )));
        }
        let dimensions = probe(&mut model).map_err(unfit)?;
        let mut portion = Portion::new(settings);
        if mixes_batches {
            portion.texts = 1;
        }
        let id = format!("{id}/{:?}", settings.fastembed.pooling).to_lowercase();
        Ok(Self { id, dimensions, portion, model: Arc::new(Mutex::new(model)) })
    }

    async fn vectors(&self, texts: Vec<String>) -> Result<Vec<Vector>, String> {
        let mut answers = Answers::new(texts.len(), self.dimensions);
        for batch in self.portion.batches(texts) {
            let (texts, positions) = batch.into_parts();
            let mut model = Arc::clone(&self.model).lock_owned().await;
            let run = tokio::task::spawn_blocking(move || run(&mut model, &texts));
            let rows = run.await.map_err(|error| format!("inference broke off: {error}"))??;
            answers.put(&positions, rows)?;
        }
        Ok(answers.finish())
    }
}

impl Embedder for LocalEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vector>, EmbedError>> {
        Box::pin(
            async move { self.vectors(texts).await.map_err(|reason| EmbedError { model: self.id.clone(), reason }) },
        )
    }
}

impl fmt::Debug for LocalEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEmbedder")
            .field("id", &self.id)
            .field("dimensions", &self.dimensions)
            .finish_non_exhaustive()
    }
}

fn pooling(pooling: Pooling) -> fastembed::Pooling {
    match pooling {
        Pooling::Mean => fastembed::Pooling::Mean,
        Pooling::Cls => fastembed::Pooling::Cls,
    }
}

fn options(settings: &LocalSettings) -> InitOptionsUserDefined {
    let options = InitOptionsUserDefined::new();
    if settings.threads > 0 { options.with_intra_threads(settings.threads) } else { options }
}

/// One inference.
fn run(model: &mut TextEmbedding, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
    model.embed(texts, Some(texts.len())).map_err(|error| error.to_string())
}

/// Components of the model's vectors, if it makes any.
fn probe(model: &mut TextEmbedding) -> Result<usize, String> {
    let mut rows = Vec::new();
    for probe in PROBES {
        rows.extend(run(model, &[probe.to_owned()])?);
    }
    let dimensions = rows.first().map_or(0, Vec::len);
    if dimensions == 0 {
        return Err("the model's vectors have no components; it is no model for texts".to_owned());
    }
    let texts = PROBES.map(str::to_owned).to_vec();
    let batches = Portion { texts: texts.len(), chars: usize::MAX }.batches(texts);
    let mut answers = Answers::new(PROBES.len(), dimensions);
    for batch in batches {
        let (texts, positions) = batch.into_parts();
        answers.put(&positions, run(model, &texts)?)?;
    }
    Ok(dimensions)
}
