//! Conversion of a finished turn's trace to spans.

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, SpanFlags, Status};
use url::Url;

use super::attributes::{self as name, Attributes, bounded};
use super::context::SAMPLED;
use super::{Operation, OperationKind, SpanContext};
use crate::labels::MemoryKind;
use callwright_types::trace::{Attempt, Execution};
use callwright_types::{Purpose, Trace};

/// Host and port of each upstream, by name.
pub(super) type Addresses = BTreeMap<String, (String, u16)>;

/// The upstreams' API by its conventional name; `server.address` and `callwright.upstream` identify the provider.
const PROVIDER: &str = "openai";
/// Tool type of an API call by the conventions: a tool that the agent's side executes.
const EXTENSION: &str = "extension";
/// Outcome labels of attempts.
const SUCCESS: &str = "success";
const HTTP_ERROR: &str = "http_error";

/// Returns the flags of a span, which is sampled. `is_remote` is whether its parent is in another process.
fn flags(is_remote: bool) -> u32 {
    let known = u32::from(SAMPLED) | SpanFlags::ContextHasIsRemoteMask as u32;
    if is_remote { known | SpanFlags::ContextIsRemoteMask as u32 } else { known }
}

/// Returns host and port of the upstreams with these base URLs.
pub(super) fn addresses<'a>(upstreams: impl IntoIterator<Item = (&'a str, &'a str)>) -> Addresses {
    let addresses = upstreams.into_iter().filter_map(|(name, base)| {
        let url = Url::parse(base).ok()?;
        Some((name.to_owned(), (url.host_str()?.to_owned(), url.port_or_known_default()?)))
    });
    addresses.collect()
}

/// Returns the spans of a turn, its own first.
pub(super) fn spans(
    context: &SpanContext,
    trace: &Trace,
    operations: &[Operation],
    addresses: &Addresses,
) -> Vec<Span> {
    let turn = TurnSpans { context, trace };
    let (plans, others): (Vec<&Operation>, Vec<&Operation>) =
        operations.iter().partition(|operation| operation.kind == OperationKind::Plan);
    let plans: Vec<Span> = plans.into_iter().map(|operation| turn.operation(operation)).collect();
    let others = others.into_iter().map(|operation| under_plan(turn.operation(operation), &plans));
    let attempts = trace.attempts.iter().enumerate().map(|(number, attempt)| {
        let span = turn.attempt(number, attempt, addresses);
        let is_planning = matches!(attempt.purpose, Purpose::Plan | Purpose::Procedure);
        if is_planning { under_plan(span, &plans) } else { span }
    });
    let executions = trace.executions.iter().map(|execution| turn.execution(execution));
    let below: Vec<Span> = others.chain(attempts).chain(executions).collect();
    std::iter::once(turn.itself()).chain(plans).chain(below).collect()
}

struct TurnSpans<'t> {
    context: &'t SpanContext,
    trace: &'t Trace,
}

impl TurnSpans<'_> {
    fn itself(&self) -> Span {
        let trace = self.trace;
        let error = match trace.status {
            // A turn without a status has no response: the client disconnected.
            0 => Some("cancelled".to_owned()),
            status if status >= 500 => Some(status.to_string()),
            _ => None,
        };
        let attributes = Attributes::default()
            .text(name::OPERATION, "chat")
            .text(name::PROVIDER, PROVIDER)
            .text(name::REQUEST_MODEL, &trace.model)
            .flag(name::REQUEST_STREAM, trace.stream)
            .text(name::CONVERSATION, trace.session.as_deref().unwrap_or_default())
            .number(name::INPUT_TOKENS, trace.usage.prompt_tokens)
            .number(name::OUTPUT_TOKENS, trace.usage.completion_tokens)
            .text(name::METHOD, "POST")
            .text(name::ROUTE, &trace.endpoint)
            .status(Some(trace.status).filter(|status| *status > 0))
            .text(name::TRACE, &trace.id)
            .text(name::POLICY, &trace.policy)
            .text(name::MODE, trace.mode.label())
            .text(name::VERDICT, trace.verdict.label())
            .text(name::UPSTREAM, &trace.upstream);
        let took = milliseconds(trace.duration_ms);
        let span = self.span(self.context.span_id(), format!("chat {}", bounded(&trace.model)), Duration::ZERO, took);
        Span {
            parent_span_id: self.context.parent.map(|parent| parent.to_vec()).unwrap_or_default(),
            flags: flags(self.context.has_parent()),
            kind: SpanKind::Server.into(),
            ..finished(span, attributes, error)
        }
    }

    fn attempt(&self, number: usize, attempt: &Attempt, addresses: &Addresses) -> Span {
        let error = match attempt.outcome.as_str() {
            SUCCESS => None,
            HTTP_ERROR => Some(attempt.status.map_or_else(|| HTTP_ERROR.to_owned(), |status| status.to_string())),
            failure => Some(failure.to_owned()),
        };
        let mut attributes = Attributes::default()
            .text(name::OPERATION, "chat")
            .text(name::PROVIDER, PROVIDER)
            .text(name::REQUEST_MODEL, &attempt.model)
            .fraction(name::FIRST_CHUNK, attempt.first_chunk_ms.map(|time| time / 1_000.0))
            .number(name::INPUT_TOKENS, attempt.usage.prompt_tokens)
            .number(name::OUTPUT_TOKENS, attempt.usage.completion_tokens)
            .status(attempt.status)
            .text(name::UPSTREAM, &attempt.upstream)
            .text(name::PURPOSE, attempt.purpose.label())
            .text(name::VERDICT, attempt.verdict.map(|verdict| verdict.label()).unwrap_or_default())
            .number(name::FAULTS, attempt.diagnoses.len() as u64)
            .number(name::REPAIRS, attempt.repairs.len() as u64);
        if let Some((host, port)) = addresses.get(&attempt.upstream) {
            attributes = attributes.text(name::SERVER, host).number(name::PORT, (*port).into());
        }
        let called = format!("chat {}", bounded(&attempt.model));
        let (after, took) = (milliseconds(attempt.started_ms), milliseconds(attempt.duration_ms));
        let span = self.span(self.context.attempt_id(number), called.trim_end().to_owned(), after, took);
        Span { kind: SpanKind::Client.into(), ..finished(span, attributes, error) }
    }

    fn execution(&self, execution: &Execution) -> Span {
        let error = Some(&execution.outcome).filter(|outcome| *outcome != SUCCESS).cloned();
        let attributes = Attributes::default()
            .text(name::OPERATION, "execute_tool")
            .text(name::TOOL_NAME, &execution.call.name)
            .text(name::TOOL_TYPE, EXTENSION)
            .text(name::TOOL_CALL, &execution.call.id)
            .status(execution.status)
            .text(name::TOOLSET, &execution.toolset)
            .text(name::API_OPERATION, &execution.operation);
        let (after, took) = (milliseconds(execution.started_ms), milliseconds(execution.duration_ms));
        let span = self.span(fresh_id(), format!("execute_tool {}", bounded(&execution.call.name)), after, took);
        finished(span, attributes, error)
    }

    fn operation(&self, operation: &Operation) -> Span {
        let (called, attributes) = match operation.kind {
            OperationKind::Plan => {
                let result = self.trace.plan.as_ref().map(|plan| plan.result.label()).unwrap_or_default();
                ("plan", Attributes::default().text(name::RESULT, result))
            }
            OperationKind::Retrieval => ("retrieval", Attributes::default()),
            OperationKind::SearchMemory(kind) => {
                let store = match kind {
                    MemoryKind::Lesson => "lessons",
                    MemoryKind::Procedure => "procedures",
                };
                ("search_memory", Attributes::default().text(name::MEMORY_STORE, store))
            }
        };
        let attributes = attributes.text(name::OPERATION, called).number(name::FOUND, operation.found as u64);
        finished(self.span(fresh_id(), called.to_owned(), operation.started_after, operation.took), attributes, None)
    }

    /// Creates a span below the turn's, which starts this long after the request's arrival.
    fn span(&self, id: [u8; 8], called: String, after: Duration, took: Duration) -> Span {
        let arrived = u64::try_from(self.trace.started_at.as_nanosecond()).unwrap_or_default();
        let start = arrived.saturating_add(nanoseconds(after));
        Span {
            trace_id: self.context.trace_id.to_vec(),
            span_id: id.to_vec(),
            parent_span_id: self.context.span_id().to_vec(),
            flags: flags(false),
            name: called,
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: start,
            end_time_unix_nano: start.saturating_add(nanoseconds(took)),
            ..Span::default()
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Makes the span a child of the plan's span that contains it in time, if there is one.
fn under_plan(span: Span, plans: &[Span]) -> Span {
    match plans.iter().find(|plan| contains(plan, &span)) {
        Some(plan) => Span { parent_span_id: plan.span_id.clone(), ..span },
        None => span,
    }
}

/// Whether the outer span contains the inner one in time.
fn contains(outer: &Span, inner: &Span) -> bool {
    outer.start_time_unix_nano <= inner.start_time_unix_nano && inner.end_time_unix_nano <= outer.end_time_unix_nano
}

/// Adds the attributes and the error, if any.
fn finished(span: Span, attributes: Attributes, error: Option<String>) -> Span {
    let attributes = attributes.text(name::ERROR_TYPE, error.as_deref().unwrap_or_default());
    // The conventions leave the status of successful spans unset.
    let status = error.map(|_| Status { code: StatusCode::Error.into(), ..Status::default() });
    Span { attributes: attributes.0, status, ..span }
}

/// Returns a random id for a span that needs no predictable one.
fn fresh_id() -> [u8; 8] {
    fastrand::u64(1..).to_be_bytes()
}

/// Converts milliseconds of a trace; an invalid number becomes zero.
fn milliseconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number / 1_000.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    use serde_json::json;

    use super::super::context::Sampler;
    use super::*;

    fn trace() -> Trace {
        let call = json!({"id": "c1", "name": "list_rooms", "arguments": "{\"q\": \"canary\"}"});
        let attempt = |purpose: &str, started: f64, took: f64, outcome: &str| {
            json!({"purpose": purpose, "upstream": "main", "model": "big", "status": 200, "outcome": outcome,
                "calls": [call], "diagnoses": [], "repairs": [], "started_ms": started, "duration_ms": took,
                "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
        };
        serde_json::from_value(json!({
            "id": "0123456789abcdef0123456789abcdef", "started_at": "2026-01-01T00:00:00Z",
            "endpoint": "/v1/chat/completions", "model": "helper", "session": "s", "upstream": "main",
            "policy": "default", "mode": "guard", "stream": true, "status": 200, "verdict": "clean",
            "tools_offered": [], "record": [],
            "attempts": [attempt("plan", 2.0, 3.0, "success"), attempt("first", 10.0, 20.0, "timeout")],
            "executions": [{"call": call, "toolset": "rooms", "operation": "GET /rooms", "outcome": "server_error",
                "status": 503, "body": "canary", "started_ms": 31.0, "duration_ms": 5.0}],
            "plan": {"result": "complete", "reason": "canary"},
            "request": {"messages": "canary"}, "error": "canary",
            "usage": {"prompt_tokens": 14, "completion_tokens": 6, "total_tokens": 20},
            "duration_ms": 50.0, "overhead_ms": 0.5,
        }))
        .unwrap()
    }

    fn operations() -> Vec<Operation> {
        let operation = |kind, after, took, found| Operation {
            kind,
            started_after: Duration::from_millis(after),
            took: Duration::from_millis(took),
            found,
        };
        vec![
            operation(OperationKind::Retrieval, 0, 1, 4),
            operation(OperationKind::SearchMemory(MemoryKind::Lesson), 1, 1, 0),
            operation(OperationKind::SearchMemory(MemoryKind::Procedure), 2, 1, 1),
            operation(OperationKind::Plan, 2, 6, 2),
        ]
    }

    fn made() -> Vec<Span> {
        let context = Sampler::new(1.0).begin(&HeaderMap::new(), &trace().id);
        let addresses = addresses([("main", "https://models.example.com/v1"), ("odd", "no url")]);
        spans(&context, &trace(), &operations(), &addresses)
    }

    fn value(span: &Span, key: &str) -> Option<Value> {
        let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
        found.value.clone()?.value
    }

    fn text(span: &Span, key: &str) -> Option<String> {
        match value(span, key)? {
            Value::StringValue(text) => Some(text),
            _ => None,
        }
    }

    #[test]
    fn a_turn_is_a_tree_of_spans_with_the_times_of_its_trace() {
        let spans = made();
        let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
        let expected = [
            "chat helper", "plan", "retrieval", "search_memory", "search_memory", "chat big", "chat big",
            "execute_tool list_rooms",
        ];
        assert_eq!(names, expected);
        let (turn, plan) = (&spans[0], &spans[1]);
        assert!(turn.parent_span_id.is_empty());
        assert_eq!(turn.end_time_unix_nano - turn.start_time_unix_nano, 50_000_000);
        let of_plan: Vec<bool> = spans[2..].iter().map(|span| span.parent_span_id == plan.span_id).collect();
        assert_eq!(of_plan, [false, false, true, true, false, false]);
        for span in &spans[1..] {
            assert!([&turn.span_id, &plan.span_id].contains(&&span.parent_span_id), "{}", span.name);
            assert_eq!(span.trace_id, turn.trace_id);
            assert!(span.start_time_unix_nano >= turn.start_time_unix_nano, "{}", span.name);
            assert!(span.end_time_unix_nano <= turn.end_time_unix_nano, "{}", span.name);
        }
        assert_eq!(spans[7].start_time_unix_nano - turn.start_time_unix_nano, 31_000_000);
    }

    #[test]
    fn attributes_are_those_of_the_conventions() {
        let spans = made();
        assert_eq!(value(&spans[0], "gen_ai.usage.input_tokens"), Some(Value::IntValue(14)));
        assert_eq!(text(&spans[0], "callwright.trace.id").unwrap(), trace().id);
        assert_eq!(spans[0].status, None);
        let failed = &spans[6];
        assert_eq!(failed.kind, i32::from(SpanKind::Client));
        assert_eq!(text(failed, "error.type").unwrap(), "timeout");
        assert_eq!(failed.status.as_ref().unwrap().code, i32::from(StatusCode::Error));
        assert_eq!(text(failed, "server.address").unwrap(), "models.example.com");
        assert_eq!(value(failed, "server.port"), Some(Value::IntValue(443)));
        assert_eq!(text(&spans[3], "gen_ai.memory.store.id").unwrap(), "lessons");
        assert_eq!(text(&spans[7], "gen_ai.tool.call.id").unwrap(), "c1");
        assert_eq!(text(&spans[7], "error.type").unwrap(), "server_error");
        for span in &spans {
            assert!(span.name.starts_with(&text(span, "gen_ai.operation.name").unwrap()), "{}", span.name);
        }
    }

    #[test]
    fn nothing_that_anybody_wrote_is_in_a_span() {
        let told = format!("{:?}", made());
        assert!(!told.contains("canary"), "{told}");
        let mut strange = trace();
        strange.model = "m\n".repeat(5_000);
        strange.status = 0;
        strange.attempts[0].duration_ms = f64::NAN;
        let context = Sampler::new(1.0).begin(&HeaderMap::new(), "no id");
        let spans = spans(&context, &strange, &[], &Addresses::new());
        assert!(spans[0].name.len() < 300 && !spans[0].name.contains('\n'));
        assert_eq!(text(&spans[0], "error.type").unwrap(), "cancelled");
    }
}
