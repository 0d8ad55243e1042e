//! The path from the root of a tool's schema to a location in it, rendered only on demand.

use callwright_common::json::Pointer;

/// A location in a schema, as a linked list on the stack of the traversal.
#[derive(Debug, Clone, Copy)]
pub(super) enum DialectTrail<'t> {
    /// The whole schema.
    Root,
    /// A member of the parent location.
    Member(&'t DialectTrail<'t>, &'t str),
    /// An item of the parent location.
    Item(&'t DialectTrail<'t>, usize),
}

impl<'t> DialectTrail<'t> {
    /// Returns the location of the member `key`.
    pub(super) fn member(&'t self, key: &'t str) -> DialectTrail<'t> {
        DialectTrail::Member(self, key)
    }

    /// Returns the location of the item `index`.
    pub(super) fn item(&'t self, index: usize) -> DialectTrail<'t> {
        DialectTrail::Item(self, index)
    }

    /// Returns the location as a JSON Pointer.
    pub(super) fn pointer(&self) -> Pointer {
        match self {
            DialectTrail::Root => Pointer::root(),
            DialectTrail::Member(before, key) => before.pointer().child(key),
            DialectTrail::Item(before, index) => before.pointer().item(*index),
        }
    }
}
