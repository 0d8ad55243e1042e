//! Wire formats of OpenAI's chat completions, Responses and embeddings, and of Anthropic's Messages: requests, responses
//! and server-sent events.
//!
//! Owns parsing and editing of their JSON without losing unknown members; no other crate parses it. Must not do I/O
//! or decide anything about a turn.
//!
//! A request is a [`ModelRequest`], a complete response a [`Completion`]; their [`Protocol`](callwright_types::Protocol)
//! is a value. A streamed response is parsed from bytes to events ([`SseReader`]). The events of a chat completion are
//! parsed to [`Chunk`]s ([`read_item`]) and from chunks to a [`Completion`] ([`Assembler`]); [`emit`] does the reverse.
//! The ordered events of the other protocols are assembled by a [`StreamForm`] ([`stream_form`]) and written by an
//! [`EventWriter`] ([`event_writer`]).

#![warn(missing_docs)]

mod assembler;
mod assistant;
mod chat_answer;
mod chat_message;
mod choice;
mod chunk;
mod completion;
mod content;
mod embeddings;
pub mod emit;
mod error;
mod fields;
mod forms;
mod keep_alive;
mod kept;
mod merge;
mod message_calls;
mod message_view;
mod messages;
mod models;
mod objects;
mod parts;
#[cfg(test)]
mod properties;
mod reasoning_part;
mod recorded;
mod request;
mod responses;
mod scanner;
mod sse;
#[cfg(test)]
mod testing;
mod text_request;
mod tool_choice;
mod tools;
mod usage;
mod words;

pub use assembler::Assembler;
pub use assistant::AssistantMessage;
pub use choice::Choice;
pub use chunk::{Chunk, StreamHead, StreamItem, read_item};
pub use completion::Completion;
pub use embeddings::{embeddings_request, error_message, read_embeddings};
pub use emit::event;
pub use error::{AnswerError, ErrorBody, RequestError, THREAD_UNSUPPORTED};
pub use forms::{event_writer, late_error, stream_form};
pub use keep_alive::KeepAlive;
pub use kept::KeptPart;
pub use merge::DeltaRun;
pub use message_view::MessageView;
pub use models::{filter_model_list, merge_model_lists, model_list, named_model, with_model};
pub use objects::{
    AnswerObjects, FinishedResponse, HandedOut, MAX_REFERENCES, ObjectKind, ObjectList, ObjectPath, ObjectReader,
    ObjectReference, StreamedObjects, UncheckedBody, form_references, handed_out, is_kept, object_references,
    response_id, unknown_object,
};
pub use parts::{EventRole, EventWriter, MessageContent, StreamForm};
pub use reasoning_part::ReasoningPart;
pub use recorded::{RecordedAnswer, name_of, read_tools};
pub use request::{ModelRequest, ToolsElsewhere};
pub use sse::{SseError, SseEvent, SseReader};
pub use text_request::{AnswerLimit, Role, TextRequest, text_request};
pub use tool_choice::ToolChoice;
pub use tools::{SentTool, WrittenTool};

/// Parses any JSON text as a value, for traces. Text that `serde_json` cannot represent (nesting beyond 128 levels)
/// becomes a string.
fn to_value(text: &[u8]) -> serde_json::Value {
    serde_json::from_slice(text).unwrap_or_else(|_| String::from_utf8_lossy(text).into())
}
