//! OpenAI's Responses protocol (API reference, "Responses").

mod answer;
mod request;
mod stream;
mod writer;

pub(crate) use answer::Answer;
pub(crate) use request::Request;
pub(crate) use stream::Assembly;
pub(crate) use writer::Writer;
