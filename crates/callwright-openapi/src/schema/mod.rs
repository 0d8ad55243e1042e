//! Translates the schemas of a document to the JSON Schema of a tool's argument object.

mod argument_object;
mod definitions;
mod discriminator;
mod emptiness;
mod keyword;
mod leaf;
mod literal;
mod loops;
mod nullable;
mod read_only;
mod shared;
mod single_value;
pub(crate) mod subtypes;
mod trail;
mod translator;
mod variant_rule;

pub(super) use argument_object::{ArgumentSchema, ArgumentVariants, ObjectArgument, SchemaWriter};
pub(super) use definitions::RequestPart;
pub(super) use emptiness::EmptyValueRule;
pub(super) use read_only::read_only_names;
pub(super) use shared::ToolSchema;
pub(super) use variant_rule::{owners_note, report as report_variants};
pub(super) use {
    keyword::{KeywordForm, append_description, form, is_annotation},
    loops::DEFINITIONS,
    nullable::or_else,
};
