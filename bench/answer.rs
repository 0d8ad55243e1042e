//! Fixed responses of the mock upstream, and their selection by URL.
//!
//! Everything in the path before `/v1/` is parsed as `key=value` pairs joined by `&`, so that a proxy's base URL
//! selects the response: `http://127.0.0.1:9000/answer=call&chunks=20&spacing_ms=5/v1/chat/completions`.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

/// Content of the response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A few sentences.
    Text,
    /// One call of `get_weather`, with arguments that its schema accepts.
    #[default]
    Call,
}

/// Parameters of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// `answer=text|call`.
    pub(crate) kind: Kind,
    /// `delay_ms=N`: pause before the first byte.
    pub(crate) delay: Duration,
    /// `chunks=N`: deltas that carry the text or the arguments of a streamed answer.
    pub(crate) chunks: usize,
    /// `spacing_ms=N`: pause before every delta but the first.
    pub(crate) spacing: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Self { kind: Kind::Call, delay: Duration::ZERO, chunks: 8, spacing: Duration::ZERO }
    }
}

impl Plan {
    /// Parses the plan in `path`. Absent settings have their defaults.
    ///
    /// # Errors
    /// If a setting is unknown or its value is invalid: a measurement with a misspelt setting would measure something
    /// else.
    pub(crate) fn of_path(path: &str) -> Result<Self, String> {
        let mut plan = Self::default();
        let Some((settings, _)) = path.trim_start_matches('/').split_once("v1/") else {
            return Err(format!("no /v1/ in {path}"));
        };
        for pair in settings.trim_end_matches('/').split('&').filter(|pair| !pair.is_empty()) {
            let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{pair}: {error}"));
            match pair.split_once('=') {
                Some(("answer", "text")) => plan.kind = Kind::Text,
                Some(("answer", "call")) => plan.kind = Kind::Call,
                Some(("delay_ms", text)) => plan.delay = Duration::from_millis(number(text)?),
                Some(("spacing_ms", text)) => plan.spacing = Duration::from_millis(number(text)?),
                Some(("chunks", text)) => plan.chunks = number(text)?.clamp(1, 10_000) as usize,
                _ => return Err(format!("unknown setting {pair}")),
            }
        }
        Ok(plan)
    }
}

/// Members of a request that determine the response.
#[derive(Debug, Deserialize)]
pub(crate) struct Asked<'a> {
    #[serde(borrow)]
    pub(crate) model: std::borrow::Cow<'a, str>,
    #[serde(default)]
    pub(crate) stream: bool,
}

const TEXT: &str = "In Paris it is nine degrees and raining. Take a coat that keeps the water out, and leave the \
                    bicycle at home: the wind comes from the west at forty kilometres an hour and turns north at noon.";
const ARGUMENTS: &str =
    r#"{"city":"Paris","country":"FR","unit":"celsius","days":3,"include":["wind","rain"],"detail":{"hourly":true}}"#;

/// Returns a whole response.
pub(crate) fn whole(kind: Kind, model: &str) -> Bytes {
    let (message, finish_reason) = match kind {
        Kind::Text => (json!({"role": "assistant", "content": TEXT, "refusal": null}), "stop"),
        Kind::Call => {
            let call = json!({"id": "call_Zk3nQ9vR1", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}});
            (json!({"role": "assistant", "content": null, "refusal": null, "tool_calls": [call]}), "tool_calls")
        }
    };
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason});
    let mut body = head(model, "chat.completion", choice);
    body["usage"] = json!({"prompt_tokens": 182, "completion_tokens": 41, "total_tokens": 223});
    Bytes::from(body.to_string())
}

/// Returns the events of a streamed response, including `[DONE]`.
pub(crate) fn events(kind: Kind, model: &str, chunks: usize) -> Vec<Bytes> {
    let (text, finish_reason) = match kind {
        Kind::Text => (TEXT, "stop"),
        Kind::Call => (ARGUMENTS, "tool_calls"),
    };
    let mut deltas =
        vec![json!({"role": "assistant", "content": if kind == Kind::Text { json!("") } else { Value::Null }})];
    if kind == Kind::Call {
        let function = json!({"name": "get_weather", "arguments": ""});
        deltas.push(
            json!({"tool_calls": [{"index": 0, "id": "call_Zk3nQ9vR1", "type": "function", "function": function}]}),
        );
    }
    for piece in pieces(text, chunks) {
        deltas.push(match kind {
            Kind::Text => json!({"content": piece}),
            Kind::Call => json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}),
        });
    }
    let mut events: Vec<Bytes> = deltas.iter().map(|delta| event(model, delta, None)).collect();
    events.push(event(model, &json!({}), Some(finish_reason)));
    events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    events
}

fn event(model: &str, delta: &Value, finish_reason: Option<&str>) -> Bytes {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
    Bytes::from(format!("data: {}\n\n", head(model, "chat.completion.chunk", choice)))
}

fn head(model: &str, object: &str, choice: Value) -> Value {
    json!({
        "id": "chatcmpl-Bw1nD0s9TqLmZk3nQ9vR1xY2aB3cD", "object": object, "created": 1_750_000_000, "model": model,
        "service_tier": "default", "system_fingerprint": "fp_44709d6fcb", "choices": [choice],
    })
}

/// Splits ASCII `text` into at most `count` pieces of equal length.
fn pieces(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let length = text.len().div_ceil(count).max(1);
    (0..text.len()).step_by(length).filter_map(move |start| text.get(start..text.len().min(start + length)))
}
