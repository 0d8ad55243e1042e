//! Traces for the console, as the proxy stores them, written into the store of a stopped proxy.

use callwright_store::{Settings, Store, TraceRow, Traces};
use callwright_types::outcome::CredentialFault;
use callwright_types::trace::{Attempt, Enrichment, Execution, Observation, Purpose, sample};
use callwright_types::{
    ApprovalNote, ApprovalStatus, Call, Diagnosis, FaultCode, RefusalReason, Trace, UpstreamFailureKind, Usage,
    Verdict, ids,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::support::{Proxy, Server};

/// Name of the store file in the proxy's folder.
const FILE: &str = "traces.sqlite3";

/// Starts a proxy whose store has these traces.
pub(super) async fn proxy_with(upstream: &Server, keys: &str, traces: Vec<Trace>) -> Proxy {
    let store = format!("sqlite:{FILE}");
    let config = crate::support::config::config_with_store(&upstream.url("/v1"), &store) + keys;
    let stopped = Proxy::start(config).await.stop().await;
    let settings = Settings { url: store.into(), ..Settings::default() };
    let opened = Store::open(&settings, stopped.directory()).await;
    let rows: Vec<TraceRow> = traces.into_iter().map(|trace| TraceRow::new(&trace).unwrap()).collect();
    for batch in rows.chunks(100) {
        opened.append(batch).await.unwrap();
    }
    opened.close().await;
    stopped.start_again().await
}

/// Returns a turn that began this many seconds ago.
pub(super) fn turn(seconds_ago: i64, verdict: Verdict) -> Trace {
    let started_at = Timestamp::now() - SignedDuration::from_secs(seconds_ago);
    Trace {
        id: ids::trace_id(started_at),
        started_at,
        model: "assistant".to_owned(),
        upstream: "default".to_owned(),
        verdict,
        duration_ms: 812.0,
        overhead_ms: 1.7,
        ..sample()
    }
}

/// Returns a call without its arguments, which are not recorded by default.
pub(super) fn call(tool: &str) -> Call {
    Call { id: format!("call_{tool}"), name: tool.to_owned(), arguments: String::new() }
}

/// Returns a successful request to the model that calls a tool.
pub(super) fn attempt(purpose: Purpose, started_ms: f64, tool: &str) -> Attempt {
    let usage = Usage { prompt_tokens: 420, completion_tokens: 36, total_tokens: 456, cached_tokens: 0 };
    let attempt = Attempt::unjudged(purpose, "default", "success", usage, 380.0);
    Attempt {
        status: Some(200),
        model: "gpt-test".to_owned(),
        verdict: Some(Verdict::Clean),
        calls: vec![call(tool)],
        started_ms,
        ..attempt
    }
}

/// Returns a diagnosis as it is recorded without bodies.
pub(super) fn diagnosis(code: FaultCode, path: &str) -> Diagnosis {
    let facts = if code == FaultCode::NoCall { json!({"reason": "cut_off", "notation": "json"}) } else { Value::Null };
    Diagnosis {
        code,
        call: 0,
        path: serde_json::from_value(json!(path)).unwrap(),
        message: String::new(),
        facts,
        suggestion: None,
    }
}

/// Returns the execution of a call with this outcome.
pub(super) fn execution(tool: &str, outcome: &str, status: Option<u16>) -> Execution {
    Execution {
        call: call(tool),
        toolset: "rooms".to_owned(),
        operation: "POST /rooms/{room}/bookings".to_owned(),
        outcome: outcome.to_owned(),
        reason: None,
        remedy: None,
        status,
        body: None,
        approval: None,
        explanation: None,
        credential: None,
        doubt: None,
        started_ms: 390.0,
        duration_ms: 24.0,
    }
}

/// Returns a turn with one faulty call.
pub(super) fn faulty(code: FaultCode, path: &str) -> Trace {
    let attempt = Attempt {
        verdict: Some(Verdict::Faulty),
        diagnoses: vec![diagnosis(code, path)],
        ..attempt(Purpose::First, 2.0, "bookRoom")
    };
    Trace { attempts: vec![attempt], ..turn(60, Verdict::Faulty) }
}

/// Returns a turn with one executed call.
pub(super) fn executed(execution: Execution) -> Trace {
    let attempts = vec![attempt(Purpose::First, 2.0, "bookRoom")];
    Trace { attempts, executions: vec![execution], ..turn(60, Verdict::Clean) }
}

/// Returns a call that awaits or has a decision of a person.
pub(super) fn unapproved(status: ApprovalStatus) -> Trace {
    let at = Timestamp::now();
    let note = ApprovalNote {
        id: ids::approval_id(at),
        status,
        expires_at: at,
        decided_at: None,
        decided_by: None,
        comment: None,
    };
    executed(Execution { approval: Some(note), ..execution("bookRoom", "unapproved", None) })
}

/// Returns a call that lacks a credential.
pub(super) fn uncredentialed(fault: CredentialFault) -> Trace {
    let (outcome, status) =
        if fault == CredentialFault::Refused { ("client_error", Some(401)) } else { ("refused", None) };
    executed(Execution { credential: Some(fault), ..execution("bookRoom", outcome, status) })
}

/// Returns a call that the proxy did not send.
pub(super) fn refused(reason: RefusalReason) -> Trace {
    let remedy = Some("add the address".to_owned());
    let refused = Execution { reason: Some(reason), remedy, ..execution("bookRoom", "refused", None) };
    Trace { verdict: Verdict::Refused, ..executed(refused) }
}

/// Returns a turn whose upstream failed.
pub(super) fn unanswered(kind: UpstreamFailureKind) -> Trace {
    let attempt = Attempt::unjudged(Purpose::First, "default", kind.label(), Usage::default(), 10.0);
    Trace { attempts: vec![attempt], status: kind.status(), ..turn(60, Verdict::Unguarded) }
}

/// Returns a turn in which a tool of the application failed.
pub(super) fn client_tool(rule: &str) -> Trace {
    let observed = Observation {
        call: call("sendMail"),
        rule: rule.to_owned(),
        again: false,
        explanation: None,
        done: Enrichment::Noted,
    };
    Trace { observed: vec![observed], ..turn(60, Verdict::Text) }
}

/// Returns a call that the address rules refuse.
fn refusals(tool: &str) -> Vec<Execution> {
    vec![Execution { reason: Some(RefusalReason::AddressNotAllowed), ..execution(tool, "refused", None) }]
}

/// Returns the turns of a day: most are fine, more in the afternoon, with a period of failures.
pub(super) fn day() -> Vec<Trace> {
    const FAULTS: [(FaultCode, &str); 4] = [
        (FaultCode::ParameterMissing, "/from"),
        (FaultCode::TypeMismatch, "/hours"),
        (FaultCode::ToolNameLiteral, ""),
        (FaultCode::Constraint, "/from"),
    ];
    const TOOLS: [&str; 4] = ["bookRoom", "listRooms", "getRoom", "findPeople"];
    let mut turns = Vec::new();
    for slot in 0_u32..96 {
        let load = 3.0 + 7.0 * (f64::from(slot) / 96.0 * std::f64::consts::TAU - 1.5).sin().abs();
        for number in 0..load as u32 {
            let seed = slot * 31 + number * 17;
            let ago = i64::from((95 - slot) * 900 + number * 61 + 5);
            let tool = TOOLS[seed as usize % 4];
            let (code, path) = FAULTS[(seed / 3) as usize % 4];
            let fails = (60..66).contains(&slot) && number % 2 == 0;
            let verdict = match seed % 11 {
                _ if fails => Verdict::Faulty,
                0 | 1 => Verdict::Corrected,
                2 | 3 => Verdict::Repaired,
                4 => Verdict::Text,
                _ => Verdict::Clean,
            };
            let mut attempts = vec![attempt(Purpose::First, 1.8, tool)];
            if matches!(verdict, Verdict::Corrected | Verdict::Faulty) {
                attempts[0].verdict = Some(Verdict::Faulty);
                attempts[0].diagnoses = vec![diagnosis(code, path)];
                attempts.push(attempt(Purpose::StaticFeedback, 384.0, tool));
            }
            let refused = verdict == Verdict::Clean && seed % 37 == 0;
            let verdict = if refused { Verdict::Refused } else { verdict };
            let executions = if refused {
                refusals(tool)
            } else if fails {
                vec![execution(tool, "server_error", Some(503))]
            } else {
                Vec::new()
            };
            let tokens = 456 * attempts.len() as u64;
            let wobble = f64::from(seed % 23);
            for attempt in &mut attempts {
                attempt.duration_ms = 240.0 + 14.0 * wobble + if fails { 900.0 } else { 0.0 };
            }
            turns.push(Trace {
                attempts,
                executions,
                session: Some(format!("session-{}", seed % 12)),
                usage: Usage {
                    prompt_tokens: tokens * 9 / 10,
                    completion_tokens: tokens / 10,
                    total_tokens: tokens,
                    cached_tokens: 0,
                },
                cost: Some(0.0004 * tokens as f64 / 100.0),
                overhead_ms: 0.8 + wobble / 12.0,
                status: if fails { 502 } else { 200 },
                ..turn(ago, verdict)
            });
        }
    }
    turns
}
