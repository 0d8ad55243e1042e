//! The credentials of one toolset: which ones a call needs, where they come from, and how its API wants to be shown them.
//!
//! Read [`Keyring`] first. They go to the toolset's own servers alone; a client's secret goes to the token endpoint alone. What is
//! wrong with a credential is for the operator (the log); the model learns only that the tool cannot be used.

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
pub(super) use wanted::Wanted;
