//! Server-sent events, incrementally and bounded (WHATWG HTML, "Server-sent events", section 9.2.6).

use bytes::Bytes;

/// Splits a byte stream into events. It accepts CR, LF and CRLF, a leading byte order mark, and any split of the bytes.
#[derive(Debug)]
pub struct SseReader {
    max_event_bytes: usize,
}

/// One event, comment block or stray blank line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// The exact bytes, the closing blank line included.
    pub raw: Bytes,
    /// The `data` lines joined with newlines; `None` where there is none (comments, other fields).
    pub data: Option<String>,
}

/// A stream that cannot be split further. The reader is of no use afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is longer than the bound.
    #[error("an event of the stream is longer than the configured limit")]
    TooLong,
    /// The data of an event is not UTF-8.
    #[error("an event of the stream is not valid UTF-8")]
    InvalidUtf8,
}

impl SseReader {
    /// A reader that refuses events longer than `max_event_bytes`.
    pub fn new(max_event_bytes: usize) -> Self {
        Self { max_event_bytes }
    }

    /// Takes the next bytes, gives the events that they complete.
    ///
    /// # Errors
    /// When an event is too long or its data is not UTF-8. Events before it are given first; the error comes with the next call.
    pub fn push(&mut self, _bytes: Bytes) -> Result<Vec<SseEvent>, SseError> {
        let _ = self.max_event_bytes;
        todo!()
    }

    /// Ends the stream; gives an event that no blank line ended, as lenient clients accept it.
    ///
    /// # Errors
    /// As for [`SseReader::push`].
    pub fn finish(self) -> Result<Option<SseEvent>, SseError> {
        todo!()
    }
}
