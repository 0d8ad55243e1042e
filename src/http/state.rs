//! State that the handlers of a listener share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::keys::{Access, OperatorToken};
use crate::pipeline::{MemoryLimit, Pipeline};
use callwright_store::Store;
use callwright_telemetry::Metrics;

use super::admin::approval_events::ApprovalStreams;
use super::body_shares::BodyShares;

/// State of the client listener's handlers.
#[derive(Debug, Clone)]
pub struct ClientSide {
    /// Processes turns.
    pub pipeline: Arc<Pipeline>,
    /// Stores verdicts.
    pub store: Arc<Store>,
    /// Authenticates clients.
    pub access: Arc<Access>,
    /// Credential of operators, who may have single requests recorded.
    pub operator_token: Arc<OperatorToken>,
    /// Metrics of requests.
    pub metrics: Arc<Metrics>,
    /// Maximum size of a request body, in bytes.
    pub body_limit_bytes: usize,
    /// Memory limit of request bodies.
    pub body_memory: Arc<MemoryLimit>,
    /// Shares of callers in this memory.
    pub body_shares: Arc<BodyShares>,
}

/// State of the operator listener's handlers.
#[derive(Debug, Clone)]
pub struct OperatorSide {
    /// Pipeline to inspect and control.
    pub pipeline: Arc<Pipeline>,
    /// Storage of traces and memory.
    pub store: Arc<Store>,
    /// Virtual keys.
    pub access: Arc<Access>,
    /// Credential of operators.
    pub token: Arc<OperatorToken>,
    /// Metrics to render.
    pub metrics: Arc<Metrics>,
    /// Whether the process is shutting down and accepts no new turns.
    pub draining: Arc<AtomicBool>,
    /// Limits the streams of pending approvals.
    pub approval_streams: ApprovalStreams,
}
