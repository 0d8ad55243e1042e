//! The way from a known place down to a schema, spelled out only when somebody asks.

use crate::domain::json::Pointer;

/// A place of the document, as links that live on the stack of the walk.
#[derive(Clone, Copy)]
pub(crate) enum Trail<'t> {
    /// Where the walk began.
    Start(&'t Pointer),
    /// A member of the place before.
    Member(&'t Trail<'t>, &'t str),
    /// An item of the place before.
    Item(&'t Trail<'t>, usize),
}

impl<'t> Trail<'t> {
    /// The member `key` of this place.
    pub(crate) fn member(&'t self, key: &'t str) -> Trail<'t> {
        Trail::Member(self, key)
    }

    /// The item `index` of this place.
    pub(crate) fn item(&'t self, index: usize) -> Trail<'t> {
        Trail::Item(self, index)
    }

    /// The place as a JSON Pointer.
    pub(crate) fn pointer(&self) -> Pointer {
        match self {
            Trail::Start(pointer) => (*pointer).clone(),
            Trail::Member(before, key) => before.pointer().child(key),
            Trail::Item(before, index) => before.pointer().item(*index),
        }
    }
}
