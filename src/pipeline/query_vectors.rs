//! The vectors of what was said, as far as they can be had in time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use super::Pipeline;
use callwright_search::embedding::{Embedder, Vector};
use callwright_telemetry::labels::Stage;

/// The vectors of texts, in their order. `None` where they cannot be had within `pipeline.query_vector_milliseconds`: `stage` goes on by
/// words alone, and that is counted.
pub(super) async fn query_vectors(
    pipeline: &Pipeline,
    embedder: &Arc<dyn Embedder>,
    texts: &[String],
    stage: Stage,
) -> Option<Vec<Vector>> {
    let limit = Duration::from_millis(pipeline.settings.query_vector_milliseconds);
    // One by one: what users say is kept nowhere.
    let asked = try_join_all(texts.iter().map(|text| embedder.embed_query(text.clone())));
    let reason = match tokio::time::timeout(limit, asked).await {
        Ok(Ok(made)) => return Some(made),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it took longer than pipeline.query_vector_milliseconds".to_owned(),
    };
    tracing::warn!(reason, "what was said has no vector: it is compared by words alone");
    pipeline.metrics.stage_degraded.inc(stage);
    None
}
