//! The way from a tool's schema down to a place in it, spelled out only when somebody asks.

use callwright_common::json::Pointer;

/// A place in a schema, as links that live on the stack of the walk.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trail<'t> {
    /// The whole schema.
    Root,
    /// A member of the place before.
    Member(&'t Trail<'t>, &'t str),
    /// An item of the place before.
    Item(&'t Trail<'t>, usize),
}

impl<'t> Trail<'t> {
    /// The member `key` of this place.
    pub(super) fn member(&'t self, key: &'t str) -> Trail<'t> {
        Trail::Member(self, key)
    }

    /// The item `index` of this place.
    pub(super) fn item(&'t self, index: usize) -> Trail<'t> {
        Trail::Item(self, index)
    }

    /// The place as a JSON Pointer.
    pub(super) fn pointer(&self) -> Pointer {
        match self {
            Trail::Root => Pointer::root(),
            Trail::Member(before, key) => before.pointer().child(key),
            Trail::Item(before, index) => before.pointer().item(*index),
        }
    }
}
