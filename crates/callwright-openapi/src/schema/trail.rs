//! The path from a known place to a schema, rendered only on demand.

use super::super::files::{SourceFile, ValuePosition};

/// A place in the document, as a linked list on the stack of the traversal.
#[derive(Clone, Copy)]
pub(super) enum SchemaTrail<'t, 'd> {
    /// Start of the traversal.
    Start(&'t ValuePosition<'d>),
    /// A member of the parent place.
    Member(&'t SchemaTrail<'t, 'd>, &'t str),
    /// An item of the parent place.
    Item(&'t SchemaTrail<'t, 'd>, usize),
}

impl<'t, 'd> SchemaTrail<'t, 'd> {
    /// Returns the place of the member `key`.
    pub(super) fn member(&'t self, key: &'t str) -> SchemaTrail<'t, 'd> {
        SchemaTrail::Member(self, key)
    }

    /// Returns the place of the item `index`.
    pub(super) fn item(&'t self, index: usize) -> SchemaTrail<'t, 'd> {
        SchemaTrail::Item(self, index)
    }

    /// Returns the place in its complete form.
    pub(super) fn place(&self) -> ValuePosition<'d> {
        match self {
            SchemaTrail::Start(place) => (*place).clone(),
            SchemaTrail::Member(before, key) => before.place().child(key),
            SchemaTrail::Item(before, index) => before.place().item(*index),
        }
    }

    /// Returns the file of the place.
    pub(super) fn file(&self) -> &'d SourceFile {
        match self {
            SchemaTrail::Start(place) => place.file(),
            SchemaTrail::Member(before, _) | SchemaTrail::Item(before, _) => before.file(),
        }
    }
}
