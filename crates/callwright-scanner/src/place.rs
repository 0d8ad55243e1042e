//! Current location during a traversal of arguments. It becomes a JSON Pointer only when a finding needs one.

use callwright_common::json::Pointer;

/// A location in the arguments that links to its parent location.
pub enum ArgumentPath<'a> {
    /// The arguments themselves.
    Root,
    /// A member of an object.
    Member(&'a ArgumentPath<'a>, &'a str),
    /// An item of a list.
    Item(&'a ArgumentPath<'a>, usize),
}

impl ArgumentPath<'_> {
    /// Returns the location as a JSON Pointer.
    pub fn pointer(&self) -> Pointer {
        match self {
            Self::Root => Pointer::root(),
            Self::Member(parent, name) => parent.pointer().child(name),
            Self::Item(parent, index) => parent.pointer().item(*index),
        }
    }

    /// Returns the path of the member that holds the value, skipping array indices.
    pub fn parameter(&self) -> Pointer {
        match self {
            Self::Item(parent, _) => parent.parameter(),
            place => place.pointer(),
        }
    }

    /// Returns the name of the member that holds the value, skipping array indices.
    pub fn name(&self) -> &str {
        match self {
            Self::Root => "",
            Self::Member(_, name) => name,
            Self::Item(parent, _) => parent.name(),
        }
    }
}
