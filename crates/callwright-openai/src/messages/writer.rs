//! Events that the client has, and the writer of the others.

use bytes::BytesMut;
use http::{HeaderMap, StatusCode};

use crate::parts::EventWriter;
use crate::{Completion, SseEvent};

/// The events of a stream that the client has.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessagesWriter;

impl EventWriter for MessagesWriter {
    fn forwarded(&mut self, _event: &SseEvent) {
        unimplemented!()
    }
    fn is_begun(&self) -> bool {
        unimplemented!()
    }
    fn rest(&mut self, _answer: &Completion, _is_same: bool, _out: &mut BytesMut) {
        unimplemented!()
    }
    fn error(&mut self, _body: &[u8], _status: StatusCode, _headers: &HeaderMap, _out: &mut BytesMut) {
        unimplemented!()
    }
    fn boxed_clone(&self) -> Box<dyn EventWriter> {
        unimplemented!()
    }
}
