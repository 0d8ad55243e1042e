//! Both listeners: the only module that depends on axum.
//!
//! Owns routes, layers, and the mapping from errors to statuses. Must not contain logic of a turn.

mod admin;
mod batch_input;
mod body_budget;
mod body_fault;
mod body_shares;
mod browser;
mod caller;
mod connections;
mod console;
mod error;
mod fallback;
mod feedback;
mod forwarded;
mod health;
mod json;
mod layers;
mod models;
mod objects;
mod pass_through;
mod path;
mod rate_limit;
mod receipted;
mod received_body;
mod request_guard;
mod router;
mod serve;
mod settings;
mod state;
mod stream_body;
mod tls;
mod turns;
mod workers;

pub use admin::approval_events::ApprovalStreams;
pub use body_shares::BodyShares;
pub use connections::descriptors::limit as limit_of_open_files;
pub use connections::{Connections, Serving};
pub use request_guard::{GuardedRouter, RequestGuard};
pub use router::{client_router, operator_router};
pub use serve::{ServeError, bind, serve};
pub use settings::{Settings, TlsSettings};
pub use state::{ClientSide, OperatorSide};
pub use tls::{Identity, Tls, TlsError};
pub use workers::{WorkerThreads, Workers};
