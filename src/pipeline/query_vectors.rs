//! Query vectors of user messages, within a time limit.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::services::Pipeline;
use super::state::Turn;
use callwright_search::embedding::{Embedder, Vector};
use callwright_telemetry::labels::Stage;

/// Maximum wait for the vectors of a message. The built-in model takes microseconds, a local one milliseconds, and an
/// endpoint commonly 100 to 300 ms.
const QUERY_TIMEOUT: Duration = Duration::from_millis(500);

/// Returns the vectors of texts, in their order. Returns `None` after [`QUERY_TIMEOUT`] or an error:
/// `stage` continues with keywords only, which is counted.
pub(super) async fn query_vectors(
    pipeline: &Pipeline,
    embedder: &Arc<dyn Embedder>,
    texts: &[String],
    stage: Stage,
) -> Option<Vec<Vector>> {
    // Embedded one by one: user messages are never cached.
    let embedded = try_join_all(texts.iter().map(|text| embedder.embed_query(text.clone())));
    let reason = match tokio::time::timeout(QUERY_TIMEOUT, embedded).await {
        Ok(Ok(vectors)) => return Some(vectors),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no vector within {} ms", QUERY_TIMEOUT.as_millis()),
    };
    tracing::warn!(reason, "no query vector: the search uses keywords only");
    pipeline.metrics.stage_degraded.inc(stage);
    None
}

/// Returns the vector of the first `chars` characters of a user message, if lessons and procedures have vectors.
pub(super) async fn message_vector(
    pipeline: &Pipeline,
    turn: &Turn,
    text: &str,
    chars: usize,
    stage: Stage,
) -> Option<Vector> {
    let text: String = text.chars().take(chars).collect();
    query_vectors(pipeline, turn.learned.embedder.as_ref()?, &[text], stage).await?.pop()
}
