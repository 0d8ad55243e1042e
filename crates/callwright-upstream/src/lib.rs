//! Clients for model providers.
//!
//! Owns connections, credentials for providers, timeouts, retries, the concurrency limit and the circuit breaker. Must
//! not evaluate or change answers.
//!
//! The environment variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` apply to every upstream.

mod answer;
mod body;
mod circuit;
mod client;
mod client_headers;
mod concurrency_limiter;
mod connection;
mod connector;
mod echo;
mod failure;
mod gunzip;
mod headers;
mod pool;
mod request_budget;
mod retry;
mod settings;
// Always compiled: a feature for it would build every crate twice for `cargo test`. The linker drops it.
#[doc(hidden)]
pub mod test_server;
mod text_model;
mod tool_calls;
mod transport;
mod upstreams;
mod via;
mod witness;

pub use answer::Answer;
pub use body::RequestBody;
pub use client::Upstream;
pub use concurrency_limiter::Load;
pub use headers::detach as detach_headers;
pub use request_budget::{BudgetSpent, MoneyLimit, OwnRequestSettings, RequestBudget, RequestLimits};
pub use retry::{Again, Retries, forbid_retry, is_retry_forbidden};
pub use settings::{BuildError, Settings};
pub use text_model::{Answered, Exchange, Manner, Patience, TextModel, TextSource};
pub use tool_calls::{ModelDelivery, ObservedCalls, ToolCalls};
pub use upstreams::Upstreams;
pub use via::is_own_request;
