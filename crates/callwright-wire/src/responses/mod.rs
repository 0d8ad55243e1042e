//! OpenAI's Responses protocol (API reference, "Responses").

mod answer;
mod conversation;
mod encoder;
mod event;
mod item;
mod request;
mod stream;
mod streamed_item;
mod streamed_items;
mod writer;

pub(crate) use answer::ResponsesAnswer;
pub(crate) use request::ResponsesRequest;
pub(crate) use stream::ResponsesAssembly;
pub(crate) use writer::ResponsesWriter;

#[cfg(test)]
mod tests;
