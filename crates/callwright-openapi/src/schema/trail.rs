//! The path from a given position to a schema, rendered only on demand.

use crate::{SourceFile, ValuePosition};

/// A position in the document, as a linked list on the stack of the traversal, with its nesting level in the argument
/// object.
#[derive(Clone, Copy)]
pub(super) struct SchemaTrail<'t, 'd> {
    step: TrailStep<'t, 'd>,
    pub(super) level: usize,
}

#[derive(Clone, Copy)]
enum TrailStep<'t, 'd> {
    Start(&'t ValuePosition<'d>),
    Member(&'t SchemaTrail<'t, 'd>, &'t str),
    Item(&'t SchemaTrail<'t, 'd>, usize),
}

impl<'t, 'd> SchemaTrail<'t, 'd> {
    /// Starts a traversal.
    pub(super) fn start(position: &'t ValuePosition<'d>, level: usize) -> Self {
        Self { step: TrailStep::Start(position), level }
    }

    /// Returns the position of the keyword `key`, whose schemas are on the next level.
    pub(super) fn keyword(&'t self, key: &'t str) -> Self {
        Self { step: TrailStep::Member(self, key), level: self.level + 1 }
    }

    /// Returns the position of the member `key`.
    pub(super) fn member(&'t self, key: &'t str) -> Self {
        Self { step: TrailStep::Member(self, key), ..*self }
    }

    /// Returns the position of the item `index`.
    pub(super) fn item(&'t self, index: usize) -> Self {
        Self { step: TrailStep::Item(self, index), ..*self }
    }

    /// Returns the position in its complete form.
    pub(super) fn position(&self) -> ValuePosition<'d> {
        match self.step {
            TrailStep::Start(position) => position.clone(),
            TrailStep::Member(before, key) => before.position().child(key),
            TrailStep::Item(before, index) => before.position().item(index),
        }
    }

    /// Returns the file of the position.
    pub(super) fn file(&self) -> &'d SourceFile {
        match self.step {
            TrailStep::Start(position) => position.file(),
            TrailStep::Member(before, _) | TrailStep::Item(before, _) => before.file(),
        }
    }
}
