//! Credentials of one toolset: which credentials a call requires, where they come from, and how they are sent to the
//! API.
//!
//! Start with [`Keyring`]. Credentials are sent only to the toolset's own servers; a client secret is sent only to
//! the token endpoint. Credential faults are logged for the operator; the model learns only that the tool cannot be
//! used.

mod audit;
mod fault;
mod keyring;
mod secret_file;
mod shared;
mod shown;
mod token;
mod token_request;
mod unavailable;
mod wanted;

pub use audit::audit;
pub use fault::fault;
pub(super) use keyring::Keyring;
pub(super) use shown::Credentials;
pub(super) use wanted::CallCredentials;
