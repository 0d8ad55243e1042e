//! OpenAI's Responses protocol (API reference, "Responses").

mod answer;
mod conversation;
mod item;
mod request;
mod stream;
mod writer;

pub(crate) use answer::ResponsesAnswer;
pub(crate) use request::ResponsesRequest;
pub(crate) use stream::ResponsesAssembly;
pub(crate) use writer::ResponsesWriter;
