//! Where a walk through arguments is: written out only when something is found there.

use callwright_common::json::Pointer;

/// A place in the arguments, each within the one that is walked through.
pub(crate) enum Place<'a> {
    Root,
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl Place<'_> {
    /// The place, written out.
    pub(crate) fn pointer(&self) -> Pointer {
        match self {
            Self::Root => Pointer::root(),
            Self::Member(parent, name) => parent.pointer().child(name),
            Self::Item(parent, index) => parent.pointer().item(*index),
        }
    }

    /// The member that the value is, or is in the list of.
    pub(crate) fn parameter(&self) -> Pointer {
        match self {
            Self::Item(parent, _) => parent.parameter(),
            place => place.pointer(),
        }
    }

    /// The name of the member that the value is, or is in the list of.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Root => "",
            Self::Member(_, name) => name,
            Self::Item(parent, _) => parent.name(),
        }
    }
}
