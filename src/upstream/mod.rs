//! The clients for models' providers.
//!
//! Owns connections, credentials towards providers, timeouts and retries. Must not judge or change answers.

mod answer;
mod client;
mod headers;
mod settings;
mod upstreams;

pub use answer::Answer;
pub use client::Upstream;
pub use settings::Settings;
pub use upstreams::{BuildError, Upstreams};
