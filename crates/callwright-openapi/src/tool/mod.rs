//! Names and texts of tools and their arguments.

pub(crate) mod description;
pub(crate) mod markup;
pub(crate) mod naming;
pub(crate) mod text;
