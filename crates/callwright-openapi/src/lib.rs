//! Reads OpenAPI documents as tools for language models: a name, a description and a JSON Schema for the arguments of
//! each operation, and the mapping of these arguments to an HTTP request.
//!
//! Documents of Swagger 2.0 and OpenAPI 3.0 to 3.2 are accepted, in JSON or YAML, in one or several files. Real
//! documents have faults: the reader tolerates what it can, skips the rest, and reports both in [`Toolset::report`].
//!
//! The crate owns reading, naming and reporting. It must not fetch documents itself ([`Fetch`]), send requests or judge
//! calls.
//!
//! ```
//! use std::path::Path;
//!
//! use callwright_openapi::{Offline, Origin, ToolsetSettings, load_from};
//! use serde_json::json;
//!
//! let text = r#"
//! openapi: 3.0.3
//! info: {title: Pets, version: "1"}
//! servers: [{url: "https://pets.example/v1"}]
//! paths:
//!   /pets/{petId}:
//!     get:
//!       operationId: showPet
//!       summary: Shows one pet.
//!       parameters:
//!         - {name: petId, in: path, required: true, schema: {type: integer}}
//! "#;
//! let origin = Origin::Bytes(Path::new("pets.yaml"), text.as_bytes());
//! let toolset = load_from("pets", origin, &ToolsetSettings::default(), &Offline)?;
//!
//! let operation = toolset.operation("showPet").expect("the document has it");
//! assert_eq!(operation.tool.description, "Shows one pet.");
//! assert_eq!(operation.tool.parameters["properties"]["petId"]["type"], "integer");
//!
//! let arguments = json!({"petId": 7});
//! let placed = operation.place(arguments.as_object().expect("it is an object"));
//! assert_eq!(placed.parameters[0].0.location.as_str(), "path");
//! # Ok::<(), callwright_openapi::LoadError>(())
//! ```
//!
//! Where to look next:
//!
//! - [`load_document`] loads a file, [`load_from`] any [`Origin`], [`Catalog`] all toolsets of a configuration.
//! - [`Operation`] has the tool, its [`Binding`]s, its servers and its documented responses.
//! - [`dialect::translate`] reduces a tool's schema to what a model provider accepts.
//! - [`review()`] advises the author of a document.
//!
//! The crate does no network I/O of its own: an implementation of [`Fetch`] fetches remote files. It does not offer or
//! call tools. Within the crate, documents stay raw JSON, so that a broken part does not affect other parts.

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
mod export;
mod files;
mod hidden;
mod idempotency;
mod load;
mod load_error;
mod markup;
mod media_type;
mod naming;
mod notes;
mod operation;
mod operations;
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

pub use advice::{Review, Rule, review, reviewed};
pub use binding::{Binding, BodyBinding, BodyFormat, BodyMember, BodyShape, Content, Encoding, Location, Style};
pub use credential::{ClientAuthentication, ClientCredentials, Credential, SecretSource};
pub use discovery::{DOCUMENT_ENDINGS, Discovered, Discovery, discover};
pub use export::{Export, export};
pub use files::{Fetch, FetchBounds, Fetched, Offline, Origin, RemoteFile};
pub use idempotency::IdempotencyKey;
pub use load::{load_document, load_from};
pub use load_error::LoadError;
pub use operation::{FixedArgument, Operation, Placement};
pub use report::{Advice, HiddenParameter, Renamed, Report, Simplified, Skipped};
pub use security::{Requirement, SecurityScheme};
pub use settings::{DocsSettings, DocumentLimits, MissingCredentials, Settings, ToolsetSettings};
pub use snapshot::{Catalog, Changes};
pub use toolset::Toolset;
pub use xml::{XmlNode, XmlShape, is_name as is_xml_name};

#[cfg(test)]
mod tests;
