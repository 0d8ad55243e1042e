//! The JSON Schema traversal shared by all modules.
//!
//! [`resolve`] returns the target of a `$ref`. [`subschemas`] lists the direct subschemas of a schema and the values to
//! which they apply. [`expand()`] returns all schemas that apply to the same value. [`SchemaDocument`] returns all
//! possible targets of a reference, including anchors and embedded resources. Validation, examples, masking and
//! planning use only these functions, so that they interpret a schema in the same way.
//!
//! Owns this traversal. Must not load documents or validate values. The loader of OpenAPI documents (`catalog`) has its
//! own traversal, because its references cross files, may point to parts that are not schemas, and keep their location.
//! It produces self-contained tool schemas, which are read here.

mod document;
mod expand;
mod reference;
mod subschema;

pub use document::SchemaDocument;
pub use expand::{Source, View, expand};
pub use reference::{pointer, resolve};
pub use subschema::{Applies, Subschema, subschemas};
