//! Credentials of one toolset: which credentials a call requires, where they come from, and how they are sent to the
//! API.
//!
//! Start with [`CredentialProvider`]. Credentials are sent only to the toolset's own servers; a client secret is sent only to
//! the token endpoint. Credential faults are logged for the operator; the model learns only that the tool cannot be
//! used.

mod audit;
mod credential_set;
mod fault;
mod provider;
mod requirement;
mod secret_file;
mod token;
mod token_request;
mod unavailable;
mod unavailable_log;

pub use audit::{LackingCredential, audit, lacking_credentials};
pub(super) use credential_set::Credentials;
pub use fault::fault;
pub(super) use provider::CredentialProvider;
pub(super) use requirement::CallCredentials;
