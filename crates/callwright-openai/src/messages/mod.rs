//! Anthropic's Messages protocol (API reference, "Messages").

mod answer;
mod request;
mod stream;
mod writer;

pub(crate) use answer::Answer;
pub(crate) use request::Request;
pub(crate) use stream::Assembly;
pub(crate) use writer::Writer;
