//! What was learned from use, kept as the store has it.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::experience::{self, Notebook};
use crate::pipeline::Memory;
use crate::procedures::{self, Library};

/// Nothing learned yet.
pub(super) fn empty(experience: &experience::Settings, procedures: &procedures::Settings) -> Arc<ArcSwap<Memory>> {
    let notebook = Arc::new(Notebook::of([], *experience));
    let library = Arc::new(Library::of([], procedures.clone()));
    Arc::new(ArcSwap::from_pointee(Memory { notebook, library, embedder: None }))
}
