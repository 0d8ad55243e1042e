//! A checked call → an HTTP request to the tool's API → an outcome.
//!
//! Owns addresses, credentials, encoding and what may be sent. The only room that calls tool APIs. Must not know models, turns or
//! feedback.
//!
//! Read [`Executor::execute`] first. A call passes `permission` (and, where that says so, a person's `approval`), becomes a `request`, is committed as an `intent` where its method is
//! not safe, and is taken to its API by the `courier`, with the toolset's own `credentials`, through the `client`, which connects to
//! checked `address`es alone. Nothing of the client's request (its keys least of all) comes this way: only the call's arguments do.

mod address;
mod answer;
mod approval;
mod build_error;
mod charset;
mod client;
mod courier;
mod credentials;
mod documents;
#[allow(clippy::module_inception, reason = "the room is named after what it holds")]
mod executor;
mod host_gates;
mod idempotency;
mod intent;
mod kept;
mod paging;
mod permission;
mod preview;
mod refusal;
mod request;
mod retry_after;
mod running;
mod settings;
#[cfg(test)]
mod tests;

pub use address::Lookup;
pub use approval::{Application, Clearance, Grant};
pub use build_error::BuildError;
pub use credentials::{audit as audit_credentials, fault as credential_fault};
pub use documents::DocumentFetcher;
pub use executor::Executor;
pub use permission::Permissions;
pub use preview::{Preview, preview};
pub use settings::Settings;
