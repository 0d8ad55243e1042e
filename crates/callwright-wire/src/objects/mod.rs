//! Objects that the provider stores: responses, conversations, files and so on. Where requests name them, where answers
//! hand them out, and the provider's errors for unknown ones.
//!
//! All of it is in tables: [`ObjectKind`], [`references`](mod@references) by the names of members, and
//! [`handed_out`](mod@handed_out) by the members that hold an object.

mod handed_out;
mod list;
mod multipart;
mod path;
mod references;

use http::StatusCode;

use super::ErrorBody;
use super::scanner::Scanner;
use callwright_common::json::RawObject;
use callwright_types::Protocol;

pub use handed_out::{AnswerObjects, FinishedResponse, HandedOut, ObjectReader, StreamedObjects, handed_out};
pub use list::ObjectList;
pub use multipart::form_references;
pub use path::ObjectPath;
pub use references::{MAX_REFERENCES, ObjectReference, UncheckedBody, object_references};

/// Maximum nesting of the parts of a body that may name objects; that of `serde_json`.
const MAX_DEPTH: usize = 128;

/// Members with content that only the client or a tool interprets: names in it are not those of the protocol.
const OPAQUE: [&str; 10] = [
    "arguments", "attributes", "headers", "input_schema", "json_schema", "metadata", "output_schema", "parameters",
    "properties", "schema",
];

/// Kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// `assistants`.
    Assistant,
    /// Audio of an answer of chat completions.
    Audio,
    /// `batches`, and `messages/batches`.
    Batch,
    /// Stored chat completion.
    ChatCompletion,
    /// Connector of a hosted MCP tool.
    Connector,
    /// `containers`.
    Container,
    /// `conversations`.
    Conversation,
    /// `evals`.
    Eval,
    /// `files`.
    File,
    /// `fine_tuning/jobs`.
    FineTuningJob,
    /// Item of a response or of a conversation.
    Item,
    /// Stored prompt.
    Prompt,
    /// `responses`.
    Response,
    /// `skills`.
    Skill,
    /// `threads`, and `thread` of Messages.
    Thread,
    /// `uploads`, and their parts.
    Upload,
    /// `vector_stores`.
    VectorStore,
    /// `videos`.
    Video,
}

impl ObjectKind {
    /// Name in the provider's errors.
    fn noun(self) -> &'static str {
        match self {
            Self::Assistant => "Assistant",
            Self::Audio => "Audio",
            Self::Batch => "Batch",
            Self::ChatCompletion => "Chat completion",
            Self::Connector => "Connector",
            Self::Container => "Container",
            Self::Conversation => "Conversation",
            Self::Eval => "Eval",
            Self::File => "File",
            Self::FineTuningJob => "Fine-tuning job",
            Self::Item => "Item",
            Self::Prompt => "Prompt",
            Self::Response => "Response",
            Self::Skill => "Skill",
            Self::Thread => "Thread",
            Self::Upload => "Upload",
            Self::VectorStore => "Vector store",
            Self::Video => "Video",
        }
    }

    /// Whether the provider deletes the object by itself after some time.
    pub fn is_passing(self) -> bool {
        matches!(self, Self::Audio | Self::ChatCompletion | Self::Container | Self::Item | Self::Response | Self::Video)
    }
}

/// Member of a request with the response that it continues.
const PREVIOUS_RESPONSE: &str = "previous_response_id";

/// Returns the provider's error for an object that it does not have. `member` is the request's member that names it; `None`
/// for a path.
pub fn unknown_object(protocol: Protocol, kind: ObjectKind, id: &str, member: Option<&str>) -> (StatusCode, ErrorBody) {
    let noun = kind.noun();
    let is_previous = member == Some(PREVIOUS_RESPONSE);
    let message = match protocol {
        Protocol::Messages => format!("{noun} not found: {id}"),
        _ if is_previous => format!("Previous response with id '{id}' not found."),
        _ if kind == ObjectKind::File => format!("No such File object: {id}"),
        _ => format!("{noun} with id '{id}' not found."),
    };
    let param = match member {
        _ if kind == ObjectKind::File && member.is_none() => Some("id"),
        _ if kind == ObjectKind::Item && member.is_some() => Some("input"),
        member => member.filter(|_| is_previous || kind == ObjectKind::File),
    };
    let error = ErrorBody {
        message,
        kind: "invalid_request_error".to_owned(),
        param: param.map(str::to_owned),
        code: is_previous.then(|| "previous_response_not_found".to_owned()),
    };
    (if is_previous { StatusCode::BAD_REQUEST } else { StatusCode::NOT_FOUND }, error)
}

/// Returns the id of a response.
pub fn response_id(body: &[u8]) -> Option<String> {
    RawObject::parse_bytes(body).ok()?.get_as("id")
}

/// Whether the provider keeps the answer to this body: Responses unless the client declines, chat completions on request.
pub fn is_kept(protocol: Protocol, body: &[u8]) -> bool {
    let is_default = protocol == Protocol::Responses;
    let Ok(text) = std::str::from_utf8(body) else { return is_default };
    let mut store = None;
    let read = Scanner::new(text).object(|scanner, name| {
        let value = scanner.value()?;
        if name == "store" {
            store = Some(value == "true").filter(|_| value != "null");
        }
        Ok(())
    });
    store.filter(|_| read.is_ok()).unwrap_or(is_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_the_provider() {
        let error = |kind, member| {
            let (status, error) = unknown_object(Protocol::Responses, kind, "x", member);
            (status.as_u16(), error.message, error.param, error.code)
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            error(ObjectKind::Response, Some("previous_response_id")),
            (
                400,
                "Previous response with id 'x' not found.".to_owned(),
                text("previous_response_id"),
                text("previous_response_not_found")
            )
        );
        assert_eq!(error(ObjectKind::Response, None), (404, "Response with id 'x' not found.".to_owned(), None, None));
        assert_eq!(error(ObjectKind::File, None), (404, "No such File object: x".to_owned(), text("id"), None));
        assert_eq!(
            error(ObjectKind::Item, Some("id")),
            (404, "Item with id 'x' not found.".to_owned(), text("input"), None)
        );
        let (status, error) = unknown_object(Protocol::Messages, ObjectKind::File, "file_1", Some("file_id"));
        let body: serde_json::Value = serde_json::from_slice(&error.to_bytes_in(Protocol::Messages, status)).unwrap();
        assert_eq!((body["type"].as_str(), body["error"]["type"].as_str()), (Some("error"), Some("not_found_error")));
    }

    #[test]
    fn answers_are_kept_by_default_or_on_request() {
        let kept = |protocol, body: &str| is_kept(protocol, body.as_bytes());
        assert!(kept(Protocol::Responses, "{}") && kept(Protocol::Responses, r#"{"store":null}"#));
        assert!(!kept(Protocol::Responses, r#"{"store":true,"store":false}"#));
        assert!(kept(Protocol::Chat, r#"{"store":true}"#) && !kept(Protocol::Chat, r#"{"x":{"store":true}}"#));
    }
}
