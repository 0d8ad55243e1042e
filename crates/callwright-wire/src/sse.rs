//! Incremental, bounded parser of server-sent events (WHATWG HTML, "Server-sent events", sections 9.2.5 and 9.2.6).

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr2, memchr2_iter};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Splits a byte stream into events. It accepts CR, LF and CRLF, a leading byte order mark, and any chunking of the
/// bytes; the events do not depend on the chunking.
#[derive(Debug)]
pub struct SseReader {
    max_event_bytes: usize,
    /// Bytes of the current event, from its first byte.
    buffer: BytesMut,
    /// Start of the current line.
    line_start: usize,
    /// Position up to which no line end was found.
    scanned: usize,
    /// Whether nothing was read yet, so that a byte order mark may follow.
    at_start: bool,
    /// Whether the last line ended with CRLF, so that a CR at the end of the bytes is probably the first half of one.
    crlf: bool,
    /// Whether the last event ended with a lone CR, so that a following LF belongs to it.
    skip_lf: bool,
    failure: Option<SseError>,
}

/// One event, comment block or stray blank line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Exact bytes, including the closing blank line (without a byte order mark).
    pub raw: Bytes,
    /// `data` lines joined with newlines; `None` if there are none (comments, other fields).
    pub data: Option<String>,
}

/// Data of an event, without white space around it.
pub(crate) enum EventData<'a> {
    /// No data: a comment, or an event without a `data` line.
    Empty,
    /// `[DONE]`, which ends the streams of chat completions, and those of some servers in other protocols.
    Done,
    Json(&'a str),
}

impl SseEvent {
    pub(crate) fn data(&self) -> EventData<'_> {
        match self.data.as_deref().map(str::trim) {
            None | Some("") => EventData::Empty,
            Some("[DONE]") => EventData::Done,
            Some(data) => EventData::Json(data),
        }
    }

    /// Returns the value of the last `event` line.
    pub(crate) fn name(&self) -> Option<&str> {
        let lines = self.raw.split(|byte| matches!(byte, b'\n' | b'\r'));
        let name = lines.filter_map(|line| line.strip_prefix(b"event:")).next_back()?;
        std::str::from_utf8(name.strip_prefix(b" ").unwrap_or(name)).ok()
    }
}

/// Error that ends the parsing of a stream. The reader is unusable afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is longer than the limit.
    #[error("an event of the stream is longer than the configured limit")]
    TooLong,
    /// The data of an event is not UTF-8.
    #[error("an event of the stream is not valid UTF-8")]
    InvalidUtf8,
}

impl SseReader {
    /// Creates a reader that rejects events longer than `max_event_bytes`.
    pub fn new(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            buffer: BytesMut::new(),
            line_start: 0,
            scanned: 0,
            at_start: true,
            crlf: false,
            skip_lf: false,
            failure: None,
        }
    }

    /// Parses the next bytes and returns the events that they complete.
    ///
    /// # Errors
    /// Fails if an event is too long or its data is not UTF-8. Earlier events are returned first; the next call
    /// returns the error.
    pub fn push(&mut self, bytes: Bytes) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        if self.failure.is_none() {
            self.buffer.extend_from_slice(&bytes);
            self.failure = self.split(&mut events).err();
        }
        match self.failure {
            Some(failure) if events.is_empty() => Err(failure),
            _ => Ok(events),
        }
    }

    /// Number of bytes of the event that is not complete.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Ends the stream and returns a last event without a closing blank line, as lenient clients do. Its `raw` bytes
    /// are completed with the missing line ends.
    ///
    /// # Errors
    /// The errors of [`SseReader::push`].
    pub fn finish(mut self) -> Result<Option<SseEvent>, SseError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.strip_start();
        let missing: &[u8] = match self.buffer.last() {
            None => return Ok(None),
            Some(b'\n') => b"\n",
            Some(b'\r') if self.line_start + 1 == self.buffer.len() => b"\n",
            Some(_) => b"\n\n",
        };
        self.buffer.extend_from_slice(missing);
        event(self.buffer.freeze()).map(Some)
    }

    fn split(&mut self, events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        loop {
            if !self.strip_start() {
                return Ok(());
            }
            match self.line_end() {
                Some((content_end, line_end)) if content_end == self.line_start => {
                    (self.line_start, self.scanned) = (0, 0);
                    let raw = self.buffer.split_to(line_end).freeze();
                    if raw.len() > self.max_event_bytes {
                        return Err(SseError::TooLong);
                    }
                    events.push(event(raw)?);
                }
                Some((_, line_end)) => (self.line_start, self.scanned) = (line_end, line_end),
                None if self.buffer.len() > self.max_event_bytes => return Err(SseError::TooLong),
                None => return Ok(()),
            }
        }
    }

    /// Removes bytes before an event that belong to none; returns false if more bytes are needed to decide.
    fn strip_start(&mut self) -> bool {
        if self.at_start {
            if self.buffer.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&self.buffer) {
                return false;
            }
            self.at_start = false;
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.buffer.advance(BYTE_ORDER_MARK.len());
            }
        }
        if self.skip_lf && !self.buffer.is_empty() {
            self.skip_lf = false;
            if self.buffer.starts_with(b"\n") {
                self.buffer.advance(1);
            }
        }
        true
    }

    /// Returns the ends of the content and of the line end of the next line; `None` if more bytes are needed.
    fn line_end(&mut self) -> Option<(usize, usize)> {
        let Some(offset) = self.buffer.get(self.scanned..).and_then(|rest| memchr2(b'\n', b'\r', rest)) else {
            self.scanned = self.buffer.len();
            return None;
        };
        let end = self.scanned + offset;
        self.scanned = end;
        if self.buffer.get(end) == Some(&b'\n') {
            self.crlf = false;
            return Some((end, end + 1));
        }
        if end == self.line_start && !self.crlf {
            // The event is complete. Waiting for a possible LF would delay it until the next event.
            self.skip_lf = true;
            return Some((end, end + 1));
        }
        // A LF may still follow a CR that is the last byte so far.
        self.crlf = *self.buffer.get(end + 1)? == b'\n';
        Some((end, end + 1 + usize::from(self.crlf)))
    }
}

fn event(raw: Bytes) -> Result<SseEvent, SseError> {
    let mut data: Option<String> = None;
    let mut start = 0;
    for end in memchr2_iter(b'\n', b'\r', &raw) {
        let line = raw.get(start..end).unwrap_or_default();
        start = end + 1;
        let Some(value) = data_value(line) else { continue };
        let value = std::str::from_utf8(value).map_err(|_| SseError::InvalidUtf8)?;
        match &mut data {
            None => data = Some(value.to_owned()),
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
        }
    }
    Ok(SseEvent { raw, data })
}

/// Returns the value of a `data` line without one space after the colon.
fn data_value(line: &[u8]) -> Option<&[u8]> {
    match line.strip_prefix(b"data")? {
        [] => Some(b""),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]], max: usize) -> (Vec<SseEvent>, Option<SseError>) {
        let mut reader = SseReader::new(max);
        let mut events = Vec::new();
        for piece in pieces {
            match reader.push(Bytes::copy_from_slice(piece)) {
                Ok(more) => events.extend(more),
                Err(error) => return (events, Some(error)),
            }
        }
        match reader.finish() {
            Ok(last) => events.extend(last),
            Err(error) => return (events, Some(error)),
        }
        (events, None)
    }

    fn data(text: &str) -> Vec<Option<String>> {
        let (events, error) = read(&[text.as_bytes()], 1000);
        assert_eq!(error, None);
        events.into_iter().map(|event| event.data).collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn events_are_split_at_blank_lines_of_any_kind() {
        for end in ["\n", "\r\n", "\r"] {
            let text = "data: one|data: two||: comment|data:three||event: x||data|||".replace('|', end);
            assert_eq!(data(&text), [some("one\ntwo"), some("three"), None, some(""), None], "{end:?}");
        }
    }

    #[test]
    fn raw_bytes_are_those_that_came() {
        let text = "data: a\r\n\r\n: ping\n\ndata: b\n\n";
        let (events, _) = read(&[text.as_bytes()], 1000);
        let raw: Vec<u8> = events.iter().flat_map(|event| event.raw.to_vec()).collect();
        assert_eq!(raw, text.as_bytes());
    }

    #[test]
    fn an_event_that_a_lone_cr_ends_is_not_held_back() {
        let mut reader = SseReader::new(100);
        assert_eq!(reader.push(Bytes::from_static(b"data: a\r\r")).unwrap().len(), 1);
        // The LF of its line end is not a separate event.
        assert_eq!(reader.push(Bytes::from_static(b"\ndata: b\n\n")).unwrap().len(), 1);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_field() {
        assert_eq!(data("\u{feff}data: a\n\n"), [some("a")]);
        assert_eq!(data("\u{feff}"), []);
        let (events, _) = read(&[b"\xef", b"\xbb", b"\xbfdata: a\n\n"], 100);
        assert_eq!(events[0].data, some("a"));
        assert_eq!(events[0].raw.as_ref(), b"data: a\n\n");
    }

    #[test]
    fn only_data_fields_count_and_one_space_is_dropped() {
        assert_eq!(data("data:  two\ndatabase: no\n data: no\nid: 1\nretry: 5\n\n"), [some(" two")]);
    }

    #[test]
    fn an_unterminated_last_event_is_given_and_completed() {
        for (text, raw) in [
            ("data: a", "data: a\n\n"),
            ("data: a\n", "data: a\n\n"),
            ("data: a\r", "data: a\r\n\n"),
            ("data: a\r\n\r", "data: a\r\n\r\n"),
        ] {
            let (events, error) = read(&[text.as_bytes()], 100);
            assert_eq!((events.len(), error), (1, None), "{text:?}");
            assert_eq!(events[0].data, some("a"));
            assert_eq!(events[0].raw, raw);
        }
    }

    #[test]
    fn an_endless_line_is_refused_before_it_is_stored() {
        let mut reader = SseReader::new(10);
        assert!(reader.push(Bytes::from_static(b"data: 1234")).is_ok());
        assert_eq!(reader.push(Bytes::from_static(b"5")), Err(SseError::TooLong));
        assert_eq!(reader.finish(), Err(SseError::TooLong));
    }

    #[test]
    fn events_before_a_broken_one_are_given_first() {
        let mut reader = SseReader::new(100);
        let events = reader.push(Bytes::from_static(b"data: a\n\ndata: \xff\n\ndata: b\n\n")).unwrap();
        assert_eq!(events.len(), 1);
        assert_eq!(reader.push(Bytes::from_static(b"x")), Err(SseError::InvalidUtf8));
    }

    #[test]
    fn comments_may_hold_any_bytes() {
        let (events, error) = read(&[b": \xff\n\ndata: a\n\n"], 100);
        assert_eq!((events.len(), error), (2, None));
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("data: ".to_owned()),
            Just("data".to_owned()),
            Just(": ".to_owned()),
            Just("\n".to_owned()),
            Just("\r".to_owned()),
            Just("\r\n".to_owned()),
            Just("\n\n".to_owned()),
            Just("\r\n\r\n".to_owned()),
            Just("\u{feff}".to_owned()),
            "[a-zä€𝄞{}]{0,6}",
        ];
        let text = prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes());
        // Sometimes includes an invalid UTF-8 byte.
        (text, prop::option::weighted(0.1, any::<prop::sample::Index>())).prop_map(|(mut text, bad)| {
            if let (Some(bad), false) = (bad, text.is_empty()) {
                let at = bad.index(text.len());
                text[at] = 0xff;
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(7), failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn any_chunking_of_a_stream_gives_the_same_events(text in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8), max in 5_usize..60) {
            let whole = read(&[&text], max);
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            at.sort_unstable();
            let mut pieces = Vec::new();
            let mut start = 0;
            for end in at {
                pieces.push(&text[start..end]);
                start = end;
            }
            pieces.push(&text[start..]);
            prop_assert_eq!(&whole, &read(&pieces, max));
            let single: Vec<&[u8]> = text.chunks(1).collect();
            prop_assert_eq!(&whole, &read(&single, max));
        }
    }
}
