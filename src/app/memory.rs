//! What was learned from use, kept as the store has it.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::experience::{self, Notebook};
use crate::pipeline::Memory;

/// Nothing learned yet.
pub(super) fn empty(settings: &experience::Settings) -> Arc<ArcSwap<Memory>> {
    let notebook = Arc::new(Notebook::of([], *settings));
    Arc::new(ArcSwap::from_pointee(Memory { notebook, embedder: None }))
}
