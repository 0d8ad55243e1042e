//! Executor: turns a checked call into an HTTP request to the tool's API and returns its outcome.
//!
//! Owns addresses, credentials, encoding and the rules for what may be sent. It is the only crate that calls tool
//! APIs. Must not depend on models, turns or feedback.
//!
//! Start with [`Executor::execute`]. A call passes `permission` (and a person's `approval` if required) and becomes a
//! `request`. If its method is not safe, it is committed as an `intent`. The `request_sender` sends it with the toolset's
//! own `credentials` through the `client`, which connects to checked `address`es only. Only the call's arguments come
//! from the client's request; its keys never reach this crate.

mod address;
mod answer;
mod approval;
mod charset;
mod client;
mod commitment;
mod credentials;
mod decoding;
mod documents;
#[allow(clippy::module_inception, reason = "the crate is named after its main type")]
mod executor;
mod host_limits;
mod idempotency;
mod intent;
mod long_integer;
mod media_type;
mod paging;
mod permission;
mod preview;
mod redirect;
mod refusal;
mod request;
mod request_sender;
mod settings;
mod stored_answer;
#[cfg(test)]
mod tests;

pub use address::{AddressAudit, Lookup};
pub use approval::{Application, Grant};
pub use credentials::{LackingCredential, audit as audit_credentials, fault as credential_fault, lacking_credentials};
pub use documents::DocumentFetcher;
pub use executor::{CallContext, Executor};
pub use permission::Permissions;
pub use preview::{Preview, preview};
pub use settings::{BuildError, Settings};
