//! The path from a known place to a schema, rendered only on demand.

use super::super::files::{Place, SourceFile};

/// A place in the document, as a linked list on the stack of the traversal.
#[derive(Clone, Copy)]
pub(super) enum Trail<'t, 'd> {
    /// Start of the traversal.
    Start(&'t Place<'d>),
    /// A member of the parent place.
    Member(&'t Trail<'t, 'd>, &'t str),
    /// An item of the parent place.
    Item(&'t Trail<'t, 'd>, usize),
}

impl<'t, 'd> Trail<'t, 'd> {
    /// Returns the place of the member `key`.
    pub(super) fn member(&'t self, key: &'t str) -> Trail<'t, 'd> {
        Trail::Member(self, key)
    }

    /// Returns the place of the item `index`.
    pub(super) fn item(&'t self, index: usize) -> Trail<'t, 'd> {
        Trail::Item(self, index)
    }

    /// Returns the place in its complete form.
    pub(super) fn place(&self) -> Place<'d> {
        match self {
            Trail::Start(place) => (*place).clone(),
            Trail::Member(before, key) => before.place().child(key),
            Trail::Item(before, index) => before.place().item(*index),
        }
    }

    /// Returns the file of the place.
    pub(super) fn file(&self) -> &'d SourceFile {
        match self {
            Trail::Start(place) => place.file(),
            Trail::Member(before, _) | Trail::Item(before, _) => before.file(),
        }
    }
}
