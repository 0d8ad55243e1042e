//! The clients for models' providers.
//!
//! Owns connections, credentials towards providers, timeouts and retries. Must not judge or change answers.
//!
//! `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` of the environment are honoured for every upstream.

mod answer;
mod client;
mod connection;
mod failure;
mod headers;
mod settings;
#[cfg(test)]
mod test_server;
mod tool_calls;
mod upstreams;

pub use answer::Answer;
pub use client::Upstream;
pub use settings::Settings;
pub use tool_calls::ToolCalls;
/// A request's body that is passed through as it comes.
pub type RequestBody = reqwest::Body;

pub use upstreams::{BuildError, Upstreams};
