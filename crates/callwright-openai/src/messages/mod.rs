//! Anthropic's Messages protocol (API reference, "Messages").

mod added;
mod answer;
mod blocks;
mod notes;
mod rejoin;
mod request;
mod stream;
mod views;
mod writer;

pub(crate) use answer::MessagesAnswer;
pub(crate) use request::MessagesRequest;
pub(crate) use stream::MessagesAssembly;
pub(crate) use writer::MessagesWriter;
