//! The one view of JSON Schemas that every room shares.
//!
//! [`resolve`] finds what a `$ref` names, [`subschemas`] lists the schemas inside one and the values that they judge, [`expand()`] finds all
//! schemas that apply to one and the same value, and [`SchemaDocument`] finds everything that a reference may name, anchors and embedded
//! resources included. Judging, examples, masking and planning read schemas through these functions alone, so that what one of them
//! sees is seen by the others.
//!
//! The loader of OpenAPI documents (`catalog`) has its own: its references lead from file to file and into places that are no schemas,
//! their targets are kept with their place, and what it makes of them are tools' schemas that stand alone, which are read here.

mod document;
mod expand;
mod reference;
mod subschema;

pub use document::SchemaDocument;
pub use expand::{Source, View, expand};
pub use reference::{pointer, resolve};
pub use subschema::{Applies, Subschema, subschemas};
