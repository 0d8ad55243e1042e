//! Reads OpenAPI documents as tools for language models: a name, a description and a JSON Schema for the arguments of
//! each operation, and the mapping of these arguments to an HTTP request.
//!
//! Documents of Swagger 2.0 and OpenAPI 3.0 to 3.2 are accepted, in JSON or YAML, in one or several files. Real
//! documents have faults: the reader tolerates what it can, skips the rest, and reports both in [`Toolset::report`].
//! The crate needs no proxy and no network: an implementation of [`Fetch`] fetches remote files, and the caller sends
//! the requests.
//!
//! - **Load**: operations become tools. Parameters that a model should not fill (credentials, the version of the API,
//!   arguments with a single allowed value) are not offered; requests have them nevertheless.
//! - **Place**: [`Operation::place`] maps a call's arguments to path, query, header fields, cookies and body.
//! - **Translate**: [`dialect::translate`] reduces a tool's schema to what a model provider accepts.
//! - **Review**: [`reviewed()`] advises the author of a document on what would help models.
//!
//! # Example
//!
//! ```
//! use std::path::Path;
//!
//! use callwright_openapi::{Offline, Origin, SecurityScheme, ToolsetSettings, load_from};
//! use serde_json::json;
//!
//! let text = r#"
//! openapi: 3.0.3
//! info: {title: Pets, version: "2024-05-01"}
//! servers: [{url: "https://pets.example/v1"}]
//! security: [{key: []}]
//! paths:
//!   /pets/{petId}:
//!     patch:
//!       operationId: renamePet
//!       summary: Renames a pet.
//!       parameters:
//!         - {name: petId, in: path, required: true, schema: {type: integer}}
//!         - {name: api-version, in: query, required: true, schema: {type: string}}
//!       requestBody:
//!         required: true
//!         content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}
//!   /pets: {get: 3}
//! components:
//!   securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
//! "#;
//! let origin = Origin::Bytes(Path::new("pets.yaml"), text.as_bytes());
//! let toolset = load_from("pets", origin, &ToolsetSettings::default(), &Offline)?;
//!
//! // The tool for the model.
//! let operation = toolset.operation("renamePet").expect("the document has it");
//! assert_eq!(operation.tool.description, "Renames a pet.");
//! assert_eq!(operation.tool.parameters["properties"]["petId"]["type"], "integer");
//! assert_eq!(operation.tool.parameters["properties"].get("api-version"), None);
//!
//! // The request of a call: parameters by location, the body, the server and the credentials to add.
//! let arguments = json!({"petId": 7, "name": "Rex"});
//! let placed = operation.place(arguments.as_object().expect("it is an object"));
//! let parameters: Vec<_> =
//!     placed.parameters.iter().map(|(binding, value)| (binding.location.as_str(), (*value).clone())).collect();
//! assert_eq!(parameters, [("path", json!(7)), ("query", json!("2024-05-01"))]);
//! assert_eq!(placed.body, Some(json!({"name": "Rex"})));
//! assert_eq!(operation.servers[0].as_str(), "https://pets.example/v1");
//! assert!(matches!(&toolset.security_schemes["key"], SecurityScheme::ApiKey { name, .. } if name == "X-Key"));
//!
//! // The report: nothing is lost without a reason.
//! assert_eq!(toolset.report.operations_skipped[0].operation, "GET /pets");
//! assert_eq!(toolset.report.hidden[0].parameter, "api-version");
//! # Ok::<(), callwright_openapi::LoadError>(())
//! ```
//!
//! # Entry points
//!
//! - [`load_document`] loads a file, [`load_from`] any [`Origin`], [`Catalog`] all toolsets of a configuration,
//!   [`discover`] finds the documents of a folder.
//! - [`Operation`] has the tool, its [`Binding`]s and [`BodyBinding`], its servers, security and documented responses.
//! - [`ToolsetSettings`] chooses servers, credentials and limits; [`DocumentLimits`] bounds the cost of any document.
//! - [`Report`] lists skipped operations, assumptions, renamed tools and hidden parameters.
//!
//! The crate owns reading, naming and reporting. It must not fetch documents itself, send requests or judge calls.
//! Within the crate, documents stay raw JSON, so that a broken part does not affect other parts.

#![warn(missing_docs)]

mod catalog;
pub mod dialect;
mod discovery;
mod document;
mod documentation;
mod files;
mod hidden;
mod load;
mod parse;
mod report;
mod request;
mod schema;
mod security;
mod server;
mod swagger;
mod tool;

pub use catalog::load_error::LoadError;
pub use catalog::settings::{DocsSettings, DocumentLimits, MissingCredentials, ToolsetSettings};
pub use catalog::toolset::Toolset;
pub use catalog::{Catalog, Changes};
pub use discovery::{DOCUMENT_ENDINGS, DiscoveredDocument, Discovery, discover};
pub use files::{Fetch, FetchBounds, FetchedFile, Offline, Origin, RemoteFile};
pub use load::operation::{FixedArgument, Operation, Placement};
pub use load::{load_document, load_from};
pub use report::advice::{Review, Rule, reviewed};
pub use report::{Advice, HiddenParameter, RenamedTool, Report, Simplification, SkippedOperation};
pub use request::binding::{
    Binding, BodyBinding, BodyFormat, BodyMember, BodyShape, Content, Encoding, Location, Style,
};
pub use request::idempotency::IdempotencyKey;
pub use request::xml::{XmlNode, XmlShape, is_name as is_xml_name};
pub use security::credential::{ClientAuthentication, ClientCredentials, Credential, SecretSource};
pub use security::{Requirement, SecurityScheme};

// Names that most modules use.
pub(crate) use document::{ApiDocument, LocatedValue, Version};
pub(crate) use files::{SourceFile, ValuePosition, ValuePositionId};
pub(crate) use load::operation_list::DocumentOperation;
pub(crate) use report::LoadNotes;
pub(crate) use request::body::OperationBody;
pub(crate) use request::parameter::OperationParameter;
pub(crate) use schema::subtypes::Subtypes;

#[cfg(test)]
mod tests;
