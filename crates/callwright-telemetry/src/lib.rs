//! Metrics, logging and OpenTelemetry spans of turns.
//!
//! Owns the names and help texts of metrics, and is the only module that depends on OTLP. Must not depend on modules
//! that record metrics.
//!
//! [`Metrics`] (in `instance.rs`) has a field per metric. Call sites select a series by type, not by string:
//! `metrics.repairs.inc(RepairKind::ToolRenamed)`. [`Metrics::turn_ended`] counts a finished turn from its trace, and
//! [`Spans::turn_ended`] creates its spans.

mod by_model;
mod family;
mod instance;
mod json_line;
pub mod labels;
mod log_lines;
mod logs;
mod settings;
mod spans;
mod text_fields;
mod turn;

pub use family::{Counters, Counters2, Family, Histograms, NamedCounters, Spec, StatusCounters};
pub use instance::{InFlight, Metrics, WithoutVectors};
pub use log_lines::DelayedLines;
pub use logs::{LogError, init_logs};
pub use prometheus::IntGauge;
pub use settings::{LogFormat, Settings};
pub use spans::{Operation, OperationKind, OtlpError, SpanContext, Spans, TRACEPARENT, TRACESTATE};
