//! The request of an operation: its parameters and body, and the arguments that fill them.

pub(crate) mod arguments;
pub(crate) mod binding;
pub(crate) mod body;
pub(crate) mod content;
pub(crate) mod idempotency;
pub(crate) mod parameter;
pub(crate) mod parameter_list;
pub(crate) mod path_template;
pub(crate) mod xml;
