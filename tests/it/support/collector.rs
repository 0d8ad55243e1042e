//! An OpenTelemetry collector that receives spans over OTLP and parses them according to the specification.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span as Sent;
use prost::Message;
use serde_json::{Map, Value, json};

use super::reply::Reply;
use super::server::{Received, Server};
use super::{POLL, guarded};

/// A collector, and its received spans.
pub(crate) struct Collector {
    server: Server,
}

/// A span as received by the collector.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) name: String,
    /// 1 internal, 2 server, 3 client.
    pub(crate) kind: i32,
    pub(crate) trace: String,
    pub(crate) id: String,
    /// Empty if there is none.
    pub(crate) parent: String,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) is_error: bool,
    pub(crate) attributes: Value,
}

impl Collector {
    /// Starts a collector that accepts everything.
    pub(crate) async fn start() -> Self {
        Self { server: Server::always(taken()).await }
    }

    /// Starts a collector whose responses come from `script`.
    pub(crate) async fn scripted(script: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static) -> Self {
        Self { server: Server::scripted(script).await }
    }

    /// Returns the underlying server.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the configuration table that sends spans here without delay.
    pub(crate) fn table(&self) -> String {
        table(&self.server.url(""))
    }

    /// Returns all received spans.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.server.received().iter().flat_map(spans_of).collect()
    }

    /// Waits for the spans of the turn with this trace (its `x-callwright-trace`), and returns them.
    pub(crate) async fn of_turn(&self, turn: &str) -> Vec<Span> {
        guarded("waiting for the spans of a turn", async {
            loop {
                let spans = self.spans();
                let own = spans.iter().find(|span| span.attributes["callwright.trace.id"] == turn);
                if let Some(own) = own {
                    return spans.iter().filter(|span| span.trace == own.trace).cloned().collect();
                }
                tokio::time::sleep(POLL).await;
            }
        })
        .await
    }
}

/// Returns the response of a collector that has accepted all spans.
pub(crate) fn taken() -> Reply {
    Reply::body(200, &[("content-type", "application/x-protobuf")], "")
}

/// Returns the configuration table that sends spans to this collector without delay.
pub(crate) fn table(endpoint: &str) -> String {
    format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\notlp_batch_milliseconds = 10\n")
}

/// Returns the spans of one request, which must conform to the specification.
pub(crate) fn spans_of(received: &Received) -> Vec<Span> {
    assert_eq!((received.method.as_str(), received.target.as_str()), ("POST", "/v1/traces"));
    assert_eq!(received.header("content-type"), Some("application/x-protobuf"));
    let request = ExportTraceServiceRequest::decode(received.body.as_slice()).unwrap();
    let mut spans = Vec::new();
    for resource in request.resource_spans {
        let process = attributes(&resource.resource.unwrap().attributes);
        assert!(process["service.name"].is_string() && process["service.version"].is_string(), "{process}");
        for scope in resource.scope_spans {
            assert_eq!(scope.scope.unwrap().name, "callwright");
            spans.extend(scope.spans.into_iter().map(read));
        }
    }
    spans
}

fn read(span: Sent) -> Span {
    assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
    assert!(span.parent_span_id.is_empty() || span.parent_span_id.len() == 8);
    assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
    Span {
        name: span.name,
        kind: span.kind,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        is_error: span.status.is_some_and(|status| status.code == 2),
        attributes: attributes(&span.attributes),
    }
}

fn attributes(pairs: &[KeyValue]) -> Value {
    let mut read = Map::new();
    for pair in pairs {
        let value = match pair.value.clone().unwrap().value.unwrap() {
            Any::StringValue(text) => json!(text),
            Any::IntValue(number) => json!(number),
            Any::DoubleValue(number) => json!(number),
            Any::BoolValue(flag) => json!(flag),
            other => panic!("{}: {other:?}", pair.key),
        };
        assert!(read.insert(pair.key.clone(), value).is_none(), "{} stands there twice", pair.key);
    }
    Value::Object(read)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
