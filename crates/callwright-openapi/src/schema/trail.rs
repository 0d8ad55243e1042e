//! The path from a given position to a schema, rendered only on demand.

use crate::files::{SourceFile, ValuePosition};

/// A position in the document, as a linked list on the stack of the traversal.
#[derive(Clone, Copy)]
pub(super) enum SchemaTrail<'t, 'd> {
    /// Start of the traversal.
    Start(&'t ValuePosition<'d>),
    /// A member of the parent position.
    Member(&'t SchemaTrail<'t, 'd>, &'t str),
    /// An item of the parent position.
    Item(&'t SchemaTrail<'t, 'd>, usize),
}

impl<'t, 'd> SchemaTrail<'t, 'd> {
    /// Returns the position of the member `key`.
    pub(super) fn member(&'t self, key: &'t str) -> SchemaTrail<'t, 'd> {
        SchemaTrail::Member(self, key)
    }

    /// Returns the position of the item `index`.
    pub(super) fn item(&'t self, index: usize) -> SchemaTrail<'t, 'd> {
        SchemaTrail::Item(self, index)
    }

    /// Returns the position in its complete form.
    pub(super) fn position(&self) -> ValuePosition<'d> {
        match self {
            SchemaTrail::Start(position) => (*position).clone(),
            SchemaTrail::Member(before, key) => before.position().child(key),
            SchemaTrail::Item(before, index) => before.position().item(*index),
        }
    }

    /// Returns the file of the position.
    pub(super) fn file(&self) -> &'d SourceFile {
        match self {
            SchemaTrail::Start(position) => position.file(),
            SchemaTrail::Member(before, _) | SchemaTrail::Item(before, _) => before.file(),
        }
    }
}
