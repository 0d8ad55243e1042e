//! The way from a known place down to a schema, spelled out only when somebody asks.

use super::super::files::{Place, SourceFile};

/// A place of the document, as links that live on the stack of the walk.
#[derive(Clone, Copy)]
pub(super) enum Trail<'t, 'd> {
    /// Where the walk began.
    Start(&'t Place<'d>),
    /// A member of the place before.
    Member(&'t Trail<'t, 'd>, &'t str),
    /// An item of the place before.
    Item(&'t Trail<'t, 'd>, usize),
}

impl<'t, 'd> Trail<'t, 'd> {
    /// The member `key` of this place.
    pub(super) fn member(&'t self, key: &'t str) -> Trail<'t, 'd> {
        Trail::Member(self, key)
    }

    /// The item `index` of this place.
    pub(super) fn item(&'t self, index: usize) -> Trail<'t, 'd> {
        Trail::Item(self, index)
    }

    /// The place, spelled out.
    pub(super) fn place(&self) -> Place<'d> {
        match self {
            Trail::Start(place) => (*place).clone(),
            Trail::Member(before, key) => before.place().child(key),
            Trail::Item(before, index) => before.place().item(*index),
        }
    }

    /// The file that the whole way is in.
    pub(super) fn file(&self) -> &'d SourceFile {
        match self {
            Trail::Start(place) => place.file(),
            Trail::Member(before, _) | Trail::Item(before, _) => before.file(),
        }
    }
}
