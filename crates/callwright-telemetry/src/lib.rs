//! Every metric, the set-up of logs, and OpenTelemetry spans of turns.
//!
//! Owns their names and help texts: the only room that names metrics, and that knows OTLP. Must not know any room that counts.
//!
//! [`Metrics`] (in `instance.rs`) has a field per metric; what is counted says which series by type, not by string:
//! `metrics.repairs.inc(RepairKind::ToolRenamed)`. [`Metrics::turn_ended`] counts a finished turn from its trace, and [`Spans::turn_ended`] makes its spans of it.

mod by_model;
mod family;
mod instance;
mod json_line;
pub mod labels;
mod logs;
mod settings;
mod spans;
mod turn;

pub use family::{Counters, Counters2, Family, Histograms, NamedCounters, Spec, StatusCounters};
pub use instance::{InFlight, Metrics, WithoutVectors};
pub use logs::{LogError, init_logs};
pub use settings::{LogFormat, Settings};
pub use spans::{Operation, OperationKind, OtlpError, SpanContext, Spans, TRACEPARENT, TRACESTATE};
