//! Assembly of a streamed answer.

use crate::parts::{EventRole, StreamForm};
use crate::{AnswerError, Completion, SseEvent};

/// A streamed answer that is being assembled.
#[derive(Debug)]
pub(crate) struct MessagesAssembly;

impl MessagesAssembly {
    /// Creates an assembly that rejects answers whose events exceed `max_bytes` bytes in total.
    pub(crate) fn new(_max_bytes: usize) -> Self {
        unimplemented!()
    }
}

impl StreamForm for MessagesAssembly {
    fn take(&mut self, _event: &SseEvent) -> Result<EventRole, AnswerError> {
        unimplemented!()
    }
    fn text(&self) -> &str {
        unimplemented!()
    }
    fn has_calls(&self) -> bool {
        unimplemented!()
    }
    fn is_finished(&self) -> bool {
        unimplemented!()
    }
    fn is_conformant(&self) -> bool {
        unimplemented!()
    }
    fn into_completion(self: Box<Self>) -> Completion {
        unimplemented!()
    }
}
