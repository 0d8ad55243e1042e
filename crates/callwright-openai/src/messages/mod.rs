//! Anthropic's Messages protocol (API reference, "Messages").

mod answer;
mod request;
mod stream;
mod writer;

pub(crate) use answer::MessagesAnswer;
pub(crate) use request::MessagesRequest;
pub(crate) use stream::MessagesAssembly;
pub(crate) use writer::MessagesWriter;
