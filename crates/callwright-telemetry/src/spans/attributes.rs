//! Names of span attributes, and OTLP values.

use callwright_common::limits::LINE_CHARS;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};

// Semantic conventions for generative AI.
pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const REQUEST_STREAM: &str = "gen_ai.request.stream";
pub(super) const FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(super) const MEMORY_STORE: &str = "gen_ai.memory.store.id";

// General semantic conventions.
pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const METHOD: &str = "http.request.method";
pub(super) const ROUTE: &str = "http.route";
pub(super) const STATUS: &str = "http.response.status_code";
pub(super) const SERVER: &str = "server.address";
pub(super) const PORT: &str = "server.port";

// Attributes without a semantic convention.
pub(super) const TRACE: &str = "callwright.trace.id";
pub(super) const POLICY: &str = "callwright.policy";
pub(super) const MODE: &str = "callwright.mode";
pub(super) const VERDICT: &str = "callwright.verdict";
pub(super) const UPSTREAM: &str = "callwright.upstream";
pub(super) const PURPOSE: &str = "callwright.purpose";
pub(super) const FAULTS: &str = "callwright.diagnoses";
pub(super) const REPAIRS: &str = "callwright.repairs";
pub(super) const TOOLSET: &str = "callwright.toolset";
pub(super) const API_OPERATION: &str = "callwright.operation";
pub(super) const RESULT: &str = "callwright.plan.result";
pub(super) const FOUND: &str = "callwright.found";

/// Attributes of one span.
#[derive(Debug, Default)]
pub(super) struct Attributes(pub(super) Vec<KeyValue>);

impl Attributes {
    /// Adds a text unless it is empty.
    pub(super) fn text(mut self, key: &str, text: &str) -> Self {
        if !text.is_empty() {
            self.0.push(pair(key, Value::StringValue(bounded(text))));
        }
        self
    }

    pub(super) fn number(mut self, key: &str, number: u64) -> Self {
        self.0.push(pair(key, Value::IntValue(i64::try_from(number).unwrap_or(i64::MAX))));
        self
    }

    pub(super) fn fraction(mut self, key: &str, number: Option<f64>) -> Self {
        self.0.extend(number.map(|number| pair(key, Value::DoubleValue(number))));
        self
    }

    pub(super) fn flag(mut self, key: &str, flag: bool) -> Self {
        self.0.push(pair(key, Value::BoolValue(flag)));
        self
    }

    pub(super) fn status(self, status: Option<u16>) -> Self {
        match status {
            Some(status) => self.number(STATUS, status.into()),
            None => self,
        }
    }
}

/// Returns an attribute of a key and a value.
pub(super) fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// Returns the beginning of a text without control characters.
pub(super) fn bounded(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(LINE_CHARS).collect()
}
