//! Compose: builds the first upstream request.

use crate::pipeline::cpu::CpuWork;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, Turn};
use crate::pipeline::tools::Offer;
use callwright_telemetry::labels::Stage;

use super::secrets;

/// Builds the first upstream request, on a CPU slot if the client's request is large.
pub(crate) async fn compose(pipeline: &Pipeline, turn: &mut Turn, offer: &Offer) -> ChatDraft {
    let (tenant, bytes) = (turn.tenant().to_owned(), turn.request.size());
    let composed = pipeline.cpu.run(&tenant, CpuWork::Body, bytes, || {
        pipeline.timed(Stage::Compose, || {
            let draft = ChatDraft::first(turn, offer);
            secrets::of_conversation(turn, offer);
            draft
        })
    });
    composed.await
}
