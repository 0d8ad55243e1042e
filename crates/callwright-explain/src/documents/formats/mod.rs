//! Readers of documentation formats: text → blocks.

pub(crate) mod asciidoc;
mod asciidoc_table;
pub(crate) mod assignments;
pub(crate) mod delimited;
pub(crate) mod format;
mod front_matter;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod nested_rows;
pub(crate) mod plain;
pub(crate) mod rst;
mod rst_tables;
mod tables;
mod writer;
