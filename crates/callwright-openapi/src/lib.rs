//! Converts OpenAPI documents to operations and tools, reports skipped operations, and advises a document's author.
//!
//! Owns parsing documents, resolving `$ref`s, naming tools, and joining parameters and body into one argument object.
//! Must not depend on the code that offers, calls or executes a tool, and must not do network I/O.
//!
//! Read [`load_document`] first. Documents stay raw JSON, so an unknown or broken part does not affect other parts.

mod advice;
mod argument_name;
mod arguments;
mod binding;
mod body;
mod content;
mod credential;
mod description;
mod detour;
pub mod dialect;
mod discovery;
mod document;
mod documentation;
mod encoding;
mod example;
mod files;
mod idempotency;
mod load;
mod load_error;
mod media_type;
mod naming;
mod notes;
mod operation;
mod outputs;
mod parameter;
mod parameter_list;
mod parse;
mod path_parameters;
mod path_template;
mod promise;
mod query_string;
mod reader;
mod report;
mod review;
mod schema;
mod security;
mod server;
mod server_choice;
mod settings;
mod shorten;
mod snapshot;
mod source;
mod swagger;
mod toolset;
mod walk;
mod xml;

pub use advice::{Advice, Rule};
pub use binding::{Binding, BodyBinding, BodyFormat, BodyMember, BodyShape, Content, Encoding, Location, Style};
pub use credential::{ClientAuthentication, ClientCredentials, Credential, SecretSource};
pub use discovery::{DOCUMENT_ENDINGS, Discovered, discover};
pub use files::{Fetch, FetchBounds, Fetched, Offline, Origin, RemoteFile};
pub use idempotency::IdempotencyKey;
pub use load::{load_document, load_from};
pub use load_error::LoadError;
pub use operation::{Operation, Placement};
pub use report::{Renamed, Report, Simplified, Skipped};
pub use review::{Review, review};
pub use security::{Requirement, SecurityScheme};
pub use settings::{DocsSettings, DocumentLimits, MissingCredentials, Settings, ToolsetSettings};
pub use snapshot::{Catalog, Changes};
pub use toolset::Toolset;
pub use xml::{XmlNode, XmlShape, is_name as is_xml_name};

#[cfg(test)]
mod tests;
