//! Anthropic's Messages protocol (API reference, "Messages").

mod answer;
mod blocks;
mod conversation;
mod events;
mod request;
mod stream;
mod streamed_block;
mod writer;

pub(crate) use answer::MessagesAnswer;
pub(crate) use events::write_event;
pub(crate) use request::MessagesRequest;
pub(crate) use stream::MessagesAssembly;
pub(crate) use writer::MessagesWriter;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod request_properties;
#[cfg(test)]
mod testing;
