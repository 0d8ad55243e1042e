//! Embedder for a model that runs in this process.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use fastembed::{InitOptionsUserDefined, TextEmbedding};
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use super::folder::ModelFiles;
use super::runtime;
use crate::embedding::batches::{EmbeddedTexts, Portion, TextBatch};
use crate::embedding::{BuildError, EmbedError, Embedder, LocalSettings, Pooling, Settings, Vector};

/// Texts for the test of a new model. Their lengths differ, so that a batch of them is padded.
const PROBES: [&str; 2] = ["list", "get the weather of a city for the next five days"];

/// Number of tokens, from the highest id down, that are tried for a text that encodes to them. Word continuation pieces
/// have none.
const HIGH_TOKENS: usize = 1_000;

/// Fix for a tokenizer with tokens that the model does not have.
const OF_DIFFERENT_MODELS: &str = "they belong to different models; use the files of one model";

/// A local ONNX model. One inference runs at a time, on a thread for blocking work. Waiting callers are served in turn,
/// batch by batch.
pub(in crate::embedding) struct LocalEmbedder {
    id: String,
    dimensions: usize,
    portion: Portion,
    model: Arc<Mutex<TextEmbedding>>,
}

impl LocalEmbedder {
    /// Loads ONNX Runtime and the model in `folder`, and tests the model. Takes seconds; must not run on an async
    /// thread.
    ///
    /// # Errors
    /// [`BuildError`], which names the library or the file, and the fix.
    pub(in crate::embedding) fn open(
        folder: &Path,
        onnx_runtime: Option<&Path>,
        settings: &Settings,
    ) -> Result<Self, BuildError> {
        runtime::load(onnx_runtime)?;
        let files = ModelFiles::open(folder)?;
        let ModelFiles { model, id, vocabulary, mixes_batches } = files;
        let model = model.with_pooling(pooling(settings.fastembed.pooling));
        let mut model = TextEmbedding::try_new_from_user_defined(model, options(&settings.fastembed))
            .map_err(|error| BuildError::file(folder, error))?;
        let last = last_token(&model);
        if vocabulary > 0 && last >= vocabulary {
            let reason = format!(
                "tokenizer.json has a token with the number {last}, but the model has {vocabulary} tokens, from 0 on \
                 (`vocab_size` of config.json): {OF_DIFFERENT_MODELS}"
            );
            return Err(BuildError::file(folder, reason));
        }
        let mut portion = Portion::new(settings);
        if mixes_batches {
            portion.texts = 1;
        }
        let dimensions = probe(&mut model, portion).map_err(|reason| BuildError::file(folder, reason))?;
        let id = format!("{id}/{:?}", settings.fastembed.pooling).to_lowercase();
        Ok(Self { id, dimensions, portion, model: Arc::new(Mutex::new(model)) })
    }

    async fn vectors(&self, texts: Vec<String>) -> Result<Vec<Vector>, String> {
        let mut answers = EmbeddedTexts::new(texts.len(), self.dimensions);
        for TextBatch { texts, positions } in self.portion.batches(texts) {
            let mut model = Arc::clone(&self.model).lock_owned().await;
            let run = tokio::task::spawn_blocking(move || run(&mut model, &texts));
            let rows = run.await.map_err(|error| format!("inference was aborted: {error}"))??;
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

/// Runs one inference.
fn run(model: &mut TextEmbedding, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
    model.embed(texts, Some(texts.len())).map_err(|error| error.to_string())
}

/// Returns the highest token id.
fn last_token(model: &TextEmbedding) -> u64 {
    model.tokenizer.get_vocab(true).into_values().max().map_or(0, u64::from)
}

/// Returns the number of components of the model's vectors after a test run.
fn probe(model: &mut TextEmbedding, portion: Portion) -> Result<usize, String> {
    let mut rows = Vec::new();
    for batch in portion.batches(PROBES.map(str::to_owned).to_vec()) {
        rows.extend(run(model, &batch.texts)?);
    }
    let dimensions = rows.first().map_or(0, Vec::len);
    if dimensions == 0 {
        return Err("the model's vectors have no components; it is not a text model".to_owned());
    }
    let positions: Vec<usize> = (0..PROBES.len()).collect();
    EmbeddedTexts::new(PROBES.len(), dimensions).put(&positions, rows)?;
    if let Some(text) = text_of_a_high_token(model) {
        run(model, &[text])
            .map_err(|error| format!("{error}; perhaps tokenizer.json and the model: {OF_DIFFERENT_MODELS}"))?;
    }
    Ok(dimensions)
}

/// Returns a text with a token of a high id. If a model does not specify its vocabulary size, this text tests whether
/// it accepts the tokenizer's tokens.
fn text_of_a_high_token(model: &TextEmbedding) -> Option<String> {
    let mut numbers: Vec<u32> = model.tokenizer.get_vocab(true).into_values().collect();
    numbers.sort_unstable_by(|left, right| right.cmp(left));
    numbers.into_iter().take(HIGH_TOKENS).find_map(|number| {
        let text = model.tokenizer.id_to_token(number)?;
        let tokens = model.tokenizer.encode(text.as_str(), false).ok()?;
        tokens.get_ids().contains(&number).then_some(text)
    })
}
