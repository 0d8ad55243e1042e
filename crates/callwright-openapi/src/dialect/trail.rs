//! The path from the root of a tool's schema to a place in it, rendered only on demand.

use callwright_common::json::Pointer;

/// A place in a schema, as a linked list on the stack of the traversal.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trail<'t> {
    /// The whole schema.
    Root,
    /// A member of the parent place.
    Member(&'t Trail<'t>, &'t str),
    /// An item of the parent place.
    Item(&'t Trail<'t>, usize),
}

impl<'t> Trail<'t> {
    /// Returns the place of the member `key`.
    pub(super) fn member(&'t self, key: &'t str) -> Trail<'t> {
        Trail::Member(self, key)
    }

    /// Returns the place of the item `index`.
    pub(super) fn item(&'t self, index: usize) -> Trail<'t> {
        Trail::Item(self, index)
    }

    /// Returns the place as a JSON Pointer.
    pub(super) fn pointer(&self) -> Pointer {
        match self {
            Trail::Root => Pointer::root(),
            Trail::Member(before, key) => before.pointer().child(key),
            Trail::Item(before, index) => before.pointer().item(*index),
        }
    }
}
