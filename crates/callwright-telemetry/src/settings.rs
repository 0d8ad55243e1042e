//! Settings of the logs and of the spans (`[telemetry]`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use callwright_types::Secret;

/// How logs are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// A line for people.
    #[default]
    Text,
    /// A JSON object per line, for collectors.
    Json,
}

/// Logs, which go to standard error, and OpenTelemetry spans (`[telemetry]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What is logged: `error`, `warn`, `info`, `debug`, `trace`, or directives such as `info,callwright::upstream=debug`.
    pub log: String,
    /// `text` or `json`.
    pub format: LogFormat,
    /// URL of a collector that takes spans over OTLP (HTTP with protobuf), with or without `/v1/traces` at its end; empty: none are made.
    pub otlp_endpoint: String,
    /// Header fields to send to it: name and value.
    pub otlp_headers: BTreeMap<String, Secret>,
    /// A file of PEM certificates that are trusted besides the system's; relative paths start from the configuration file.
    pub otlp_ca_file: String,
    /// What every span says of this process, in place of or besides `service.name`, which is `callwright`.
    pub otlp_resource: BTreeMap<String, String>,
    /// Share of the turns that have spans, 0 to 1, where the client's `traceparent` does not decide.
    pub otlp_sample_ratio: f64,
    /// Seconds that one request to the collector may take.
    pub otlp_timeout_seconds: u64,
    /// Spans that may wait to be sent; those of a turn that do not fit are dropped.
    pub otlp_queue_spans: usize,
    /// Spans of one request.
    pub otlp_batch_spans: usize,
    /// Milliseconds that a span waits at most for others to be sent with.
    pub otlp_batch_milliseconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            log: "info".to_owned(),
            format: LogFormat::Text,
            otlp_endpoint: String::new(),
            otlp_headers: BTreeMap::new(),
            otlp_ca_file: String::new(),
            otlp_resource: BTreeMap::new(),
            otlp_sample_ratio: 1.0,
            otlp_timeout_seconds: 10,
            otlp_queue_spans: 8192,
            otlp_batch_spans: 512,
            otlp_batch_milliseconds: 1000,
        }
    }
}
