//! Puts the chunks of a streamed answer together, whatever shape upstreams give them.

use super::{AnswerError, Chunk, Completion, StreamHead};

/// Assembles chunks into the answer that an unstreamed request would have got.
#[derive(Debug)]
pub struct Assembler {
    max_bytes: usize,
    head: Option<StreamHead>,
}

impl Assembler {
    /// An assembler that refuses answers whose chunks have more than `max_bytes` bytes in all.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, head: None }
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// When the answer grows beyond the bound.
    pub fn push(&mut self, _chunk: &Chunk) -> Result<(), AnswerError> {
        let _ = self.max_bytes;
        todo!()
    }

    /// Id, model and creation time, once a chunk has told them.
    pub fn head(&self) -> Option<&StreamHead> {
        self.head.as_ref()
    }

    /// Were all pieces of calls as the API reference says, so that the events may be replayed verbatim?
    pub fn is_conformant(&self) -> bool {
        todo!()
    }

    /// Has every choice that was seen a finish reason, and was one seen?
    pub fn is_finished(&self) -> bool {
        todo!()
    }

    /// The answer.
    pub fn into_completion(self) -> Completion {
        todo!()
    }
}
