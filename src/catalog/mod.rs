//! OpenAPI documents → operations → tools, and the report of what could not become one.
//!
//! Owns reading documents, resolving `$ref`s, naming tools, joining parameters and body into one argument object. Must not know
//! who offers, calls or executes a tool, nor do network I/O.
//!
//! Read [`load_document`] first. Documents stay raw JSON: what is unknown or broken in one place harms nothing elsewhere.

mod binding;
mod load;
mod load_error;
mod operation;
mod report;
mod security;
mod settings;
mod snapshot;
mod source;
mod toolset;

pub use binding::{Binding, BodyBinding, BodyShape, Encoding, Location, Style};
pub use load::load_document;
pub use load_error::LoadError;
pub use operation::{Operation, Placement};
pub use report::{Renamed, Report, Simplified, Skipped};
pub use security::SecurityScheme;
pub use settings::{DocumentLimits, ToolsetSettings};
pub use snapshot::Catalog;
pub use toolset::Toolset;
