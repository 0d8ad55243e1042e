//! The two protocols, with what tests need of both: requests, scripted answers, and a client that checks what it gets.

use http::Method;
use serde_json::{Value, json};

use super::sse::{self, events_of};
use super::{messages_api, messages_stream, responses_api, responses_stream};
use crate::support::{Answer, Proxy, Received, Reply, Stream};

/// A protocol under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    Responses,
    Messages,
}

pub(super) const APIS: [Api; 2] = [Api::Responses, Api::Messages];

/// A part of an answer: an item of `output`, or a block of `content`.
#[derive(Debug, Clone)]
pub(super) enum Part {
    Text(String),
    /// Reasoning with an encrypted content or signature.
    Thought(String),
    Call {
        id: String,
        name: String,
        /// JSON text.
        arguments: String,
    },
    /// A part of any other kind, complete.
    Other(Value),
}

pub(super) fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

pub(super) fn thought(text: &str) -> Part {
    Part::Thought(text.to_owned())
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

impl Api {
    /// Path below the base URL.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }

    /// Returns the name in the configuration and in metrics.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Messages => "messages",
        }
    }

    /// Member with the conversation.
    pub(super) fn conversation_key(self) -> &'static str {
        match self {
            Self::Responses => "input",
            Self::Messages => "messages",
        }
    }

    /// Member with the parts of an answer.
    pub(super) fn parts_key(self) -> &'static str {
        match self {
            Self::Responses => "output",
            Self::Messages => "content",
        }
    }

    /// Returns a request without tools.
    pub(super) fn plain(self, text: &str) -> Value {
        match self {
            Self::Responses => json!({"model": "gpt-test", "input": [{"role": "user", "content": text}]}),
            Self::Messages => {
                json!({"model": "gpt-test", "max_tokens": 1024, "messages": [{"role": "user", "content": text}]})
            }
        }
    }

    /// Returns a request that offers `get_weather` and `book_room`.
    pub(super) fn with_tools(self, text: &str) -> Value {
        let mut request = self.plain(text);
        request["tools"] = json!([self.tool("get_weather", weather()), self.tool("book_room", booking())]);
        request
    }

    /// Returns a function tool.
    pub(super) fn tool(self, name: &str, schema: Value) -> Value {
        match self {
            Self::Responses => {
                json!({"type": "function", "name": name, "description": "For a test", "parameters": schema, "strict": false})
            }
            Self::Messages => json!({"name": name, "description": "For a test", "input_schema": schema}),
        }
    }

    /// Returns a complete answer.
    pub(super) fn answer(self, parts: &[Part]) -> Value {
        match self {
            Self::Responses => responses_api::answer(parts),
            Self::Messages => messages_api::answer(parts),
        }
    }

    /// Returns the events of a streamed answer.
    pub(super) fn events(self, parts: &[Part]) -> Vec<Value> {
        match self {
            Self::Responses => responses_api::events(parts),
            Self::Messages => messages_api::events(parts),
        }
    }

    /// Returns the upstream's reply in the form that was requested.
    pub(super) fn reply(self, received: &Received, parts: &[Part]) -> Reply {
        if is_stream(received) { sse::reply(&self.events(parts)) } else { Reply::json(200, &self.answer(parts)) }
    }

    /// Returns the parts of an answer as short texts: `text ...`, `thought ...`, `call NAME ARGUMENTS`, or the type.
    pub(super) fn outline(self, answer: &Value) -> Vec<String> {
        let parts = answer[self.parts_key()].as_array().unwrap_or_else(|| panic!("no parts: {answer:#}"));
        let outline = match self {
            Self::Responses => responses_api::outline,
            Self::Messages => messages_api::outline,
        };
        parts.iter().map(outline).collect()
    }

    /// Returns the results of calls and the text at the end of a conversation: what was added behind the last answer of
    /// the model.
    pub(super) fn added(self, received: &Received) -> Vec<Value> {
        let conversation = self.conversation(received);
        let of_model = |element: &Value| match self {
            Self::Messages => element["role"] == "assistant",
            Self::Responses => {
                element["role"] == "assistant"
                    || element["type"].as_str().is_some_and(|kind| kind == "reasoning" || kind.ends_with("_call"))
            }
        };
        let start = conversation.iter().rposition(of_model).map_or(conversation.len(), |last| last + 1);
        conversation[start..].to_vec()
    }

    /// Whether the request continues an answer of the model.
    pub(super) fn is_continued(self, received: &Received) -> bool {
        !self.added(received).is_empty()
    }

    /// Returns the elements of the conversation.
    pub(super) fn conversation(self, received: &Received) -> Vec<Value> {
        received.json()[self.conversation_key()].as_array().cloned().unwrap_or_default()
    }

    /// Sends a request and returns the complete answer.
    pub(super) async fn send(self, proxy: &Proxy, request: &Value) -> Answer {
        self.send_with(proxy, request, &[]).await
    }

    /// Works like [`Self::send`], with more header fields.
    pub(super) async fn send_with(self, proxy: &Proxy, request: &Value, more: &[(&str, &str)]) -> Answer {
        let fields = [&FIELDS[..], more].concat();
        proxy.client().send(Method::POST, self.path(), &fields, request.to_string()).await
    }

    /// Sends a request as a stream and returns it unread.
    pub(super) async fn stream(self, proxy: &Proxy, request: &Value) -> Stream {
        let mut request = request.clone();
        request["stream"] = json!(true);
        proxy.client().stream(self.path(), &FIELDS, request.to_string()).await
    }

    /// Sends a request as a stream and returns its events.
    pub(super) async fn stream_events(self, proxy: &Proxy, request: &Value) -> Vec<Value> {
        let mut stream = self.stream(proxy, request).await;
        stream.rest().await;
        assert_eq!(stream.status, 200, "{}", stream.raw());
        events_of(&stream.raw())
    }

    /// Sends a request as a stream, checks the form of the stream, and returns the answer that a client assembles.
    pub(super) async fn streamed(self, proxy: &Proxy, request: &Value) -> Value {
        self.assembled(&self.stream_events(proxy, request).await)
    }

    /// Checks a stream, and returns its answer.
    pub(super) fn assembled(self, events: &[Value]) -> Value {
        match self {
            Self::Responses => responses_stream::assembled(events),
            Self::Messages => messages_stream::assembled(events),
        }
    }

    /// Sends a request in both ways, and returns the two answers.
    pub(super) async fn both(self, proxy: &Proxy, request: &Value) -> [Value; 2] {
        [self.send(proxy, request).await.ok(), self.streamed(proxy, request).await]
    }

    /// Checks that an error response has the form of the protocol, and returns its error object.
    pub(super) fn error(self, answer: &Answer, status: u16) -> Value {
        if self == Self::Responses {
            return answer.error(status);
        }
        assert_eq!(answer.status, status, "{}", answer.text());
        let body = answer.json();
        messages_stream::check_error(&body);
        body["error"].clone()
    }
}

/// Header fields of the clients of both protocols.
pub(super) const FIELDS: [(&str, &str); 4] = [
    ("content-type", "application/json"),
    ("authorization", "Bearer sk-client"),
    ("x-api-key", "sk-client"),
    ("anthropic-version", "2023-06-01"),
];

/// Whether the upstream is to stream.
pub(super) fn is_stream(received: &Received) -> bool {
    received.json()["stream"] == true
}

/// Returns the text of a call in the notation that most models write.
pub(super) fn written(name: &str, arguments: &str) -> String {
    format!("<tool_call>{{\"name\":\"{name}\",\"arguments\":{arguments}}}</tool_call>")
}

fn weather() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
        },
        "required": ["city"],
        "additionalProperties": false,
    })
}

fn booking() -> Value {
    json!({
        "type": "object",
        "properties": {"hotel": {"type": "string"}, "nights": {"type": "integer", "minimum": 1}},
        "required": ["hotel", "nights"],
    })
}
