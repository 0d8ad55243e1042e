//! Scripted model and sample APIs, for `callwright demo` and for tests.
//!
//! Owns its servers (hyper), the script and the transcript. Must not use the proxy's internals: it communicates over
//! HTTP, and depends only on the trace types that it renders. It implements OpenAI JSON without `callwright-wire` on
//! purpose: a scripted model with the same parser would share its bugs.
//!
//! Sequence of a demo: [`start`] starts the model and the APIs and returns the configuration of a proxy between them.
//! The caller runs a proxy with it. [`play()`] holds the conversations through that proxy and prints the transcript.

pub mod client;
mod client_answer;
mod client_tool;
mod comparison;
mod conversations;
mod direct;
mod error;
mod invitation;
mod play;
mod sample_api;
mod scripted_model;
pub mod server;
mod traffic;
mod transcript;
mod world;

pub use comparison::{Comparison, Ending, Outcome};
pub use error::DemoError;
pub use invitation::invite;
pub use play::{Detail, PlayOptions, PlayedConversation, Stage, play};
pub use server::Server;
pub use traffic::traffic;
pub use world::{DemoWorld, start};
