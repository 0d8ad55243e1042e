//! Test data of this crate.

use jiff::Timestamp;

use super::{Settings, TraceRow};
use callwright_types::trace::{Attempt, sample};
use callwright_types::{Call, KeyLimits, KeySecret, Purpose, Trace, Usage, Verdict, VirtualKey};

/// Settings of a store in memory without retention.
pub(super) fn in_memory() -> Settings {
    Settings { url: "sqlite::memory:".into(), retention_days: 0, ..Settings::default() }
}

/// Returns a small trace that started at this millisecond.
pub(super) fn trace(id: &str, millisecond: i64) -> Trace {
    Trace {
        id: id.to_owned(),
        started_at: Timestamp::from_millisecond(millisecond).unwrap(),
        model: "gpt-5".to_owned(),
        duration_ms: 1.5,
        overhead_ms: 0.25,
        ..sample()
    }
}

/// Returns a trace in which the model called these tools.
pub(super) fn trace_calling(id: &str, millisecond: i64, tools: &[&str]) -> Trace {
    let call = |name: &&str| Call { id: "1".to_owned(), name: (*name).to_owned(), arguments: "{}".to_owned() };
    let attempt = Attempt {
        purpose: Purpose::First,
        upstream: "default".to_owned(),
        model: "m".to_owned(),
        status: Some(200),
        outcome: "success".to_owned(),
        request_id: None,
        verdict: Some(Verdict::Clean),
        calls: tools.iter().map(call).collect(),
        diagnoses: Vec::new(),
        advice: Vec::new(),
        repairs: Vec::new(),
        usage: Usage::default(),
        estimate: None,
        started_ms: 0.5,
        first_chunk_ms: None,
        duration_ms: 1.0,
    };
    Trace { attempts: vec![attempt], verdict: Verdict::Clean, ..trace(id, millisecond) }
}

/// Returns traces prepared for storage.
pub(super) fn rows(traces: impl IntoIterator<Item = Trace>) -> Vec<TraceRow> {
    traces.into_iter().map(|trace| TraceRow::new(&trace).unwrap()).collect()
}

/// Returns a key with one secret.
pub(super) fn key(id: &str, name: &str) -> VirtualKey {
    let at = Timestamp::from_millisecond(1_000).unwrap();
    VirtualKey {
        id: id.to_owned(),
        name: name.to_owned(),
        group: String::new(),
        policy: String::new(),
        selectable_policies: Vec::new(),
        models: Vec::new(),
        pass_through: None,
        limits: KeyLimits::default(),
        secrets: vec![KeySecret { handle: name.to_owned(), hash: "0".repeat(64), created_at: at, valid_until: None }],
        created_at: at,
        expires_at: None,
        revoked_at: None,
        updated_at: at,
    }
}
