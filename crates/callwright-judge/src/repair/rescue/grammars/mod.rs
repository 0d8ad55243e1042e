//! Readers of notations that markers alone do not describe, one file each.

pub(super) mod arrow_hash;
pub(super) mod deepseek;
pub(super) mod elements;
pub(super) mod gemma_call;
pub(super) mod harmony;
pub(super) mod mistral;
pub(super) mod namespace_token;
pub(super) mod prefix_word;
pub(super) mod react;
#[cfg(test)]
mod reserved_tests;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
pub(super) mod tool_call;
pub(super) mod tool_input;
pub(super) mod turn;
pub(super) mod xtml;
