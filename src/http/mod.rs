//! Both listeners: the only module that depends on axum.
//!
//! Owns routes, layers, and the mapping from errors to statuses. Must not contain logic of a turn.

mod admin;
mod asked;
mod body_memory;
mod browser;
mod caller;
mod chat;
mod connections;
mod console;
mod error;
mod feedback;
mod health;
mod hint;
mod json;
mod metered;
mod models;
mod operator;
mod pass_through;
mod path;
mod rate_limit;
mod receipted;
mod received_body;
mod request_guard;
mod router;
mod serve;
mod settings;
mod stream_body;
mod tls;

pub use body_memory::BodyMemory;
pub use connections::Connections;
pub use request_guard::RequestGuard;
pub use router::{ClientSide, OperatorSide, client_router, operator_router};
pub use serve::{ServeError, bind, serve};
pub use settings::{Settings, TlsSettings};
pub use tls::{Identity, Tls, TlsError};
