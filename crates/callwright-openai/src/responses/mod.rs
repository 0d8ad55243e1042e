//! OpenAI's Responses protocol (API reference, "Responses").

mod answer;
mod request;
mod stream;
mod writer;

pub(crate) use answer::ResponsesAnswer;
pub(crate) use request::ResponsesRequest;
pub(crate) use stream::ResponsesAssembly;
pub(crate) use writer::ResponsesWriter;
