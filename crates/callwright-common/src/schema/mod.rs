//! The JSON Schema traversal shared by all modules.
//!
//! [`resolve`] returns the target of a `$ref`. [`subschemas`] lists the direct subschemas of a schema and the values to
//! which they apply. [`Views`] has all schemas that apply to the same value, and [`expand()`] the same with their
//! locations. [`SchemaDocument`] returns all possible targets of a reference, including anchors and embedded resources.
//! Validation, examples, masking, search, planning and memory use only these, so that they interpret a schema in the
//! same way.
//!
//! Owns this traversal. Must not load documents or validate values. A [`SchemaNode`] of OpenAPI documents follows
//! references across files. Their translation to tool schemas has its own traversal, because it keeps locations and the
//! form of every keyword.

mod document;
mod expand;
mod reference;
mod subschema;

pub use document::SchemaDocument;
pub use expand::{LocalSchema, SchemaNode, Source, View, Views, expand};
pub use reference::{pointer, resolve};
pub use subschema::{Applies, Subschema, subschemas};
