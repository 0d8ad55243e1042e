//! Readers of notations that markers alone do not describe, one file each.

pub(super) mod arrow_hash;
pub(super) mod elements;
pub(super) mod gemma_call;
pub(super) mod namespace_token;
pub(super) mod react;
#[cfg(test)]
mod reserved_tests;
#[cfg(test)]
mod samples;
pub(super) mod single_mark;
#[cfg(test)]
mod tests;
pub(super) mod tool_call;
pub(super) mod xtml;
