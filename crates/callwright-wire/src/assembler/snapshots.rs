//! Detection of streams whose deltas have the content so far instead of its next piece.

use super::Assembler;
use crate::chunk::{ChunkFields, EventFields, read_event};
use crate::fields::string_in;
use crate::{AnswerError, SseEvent, StreamItem};
use callwright_common::json::{RawObject, raw};

/// Number of pieces in a row that must begin with all earlier text. In a usual stream even the second piece does not: it
/// is shorter than the text, or differs.
const MIN_REPETITIONS: usize = 2;

/// Number of such pieces after which a text is taken as it came, so that few events wait.
const MAX_REPETITIONS: usize = 8;

/// Minimum bytes and distinct characters of a repeated text. Rulers and laughter repeat shorter ones.
const MIN_REPEATED_BYTES: usize = 8;
const MIN_REPEATED_CHARACTERS: usize = 4;

/// Content of a stream's deltas, as far as it is known.
#[derive(Debug, Default)]
pub(super) enum Snapshots {
    /// Each delta has the next piece.
    #[default]
    None,
    /// Every piece so far begins with all earlier text.
    Possible(Candidate),
    /// Each delta has the content so far.
    All,
}

/// Pieces that are not added yet.
#[derive(Debug, Default)]
pub(super) struct Candidate {
    /// The last of them.
    text: String,
    repetitions: usize,
}

impl Snapshots {
    /// Creates the state at the beginning of a stream that may have such deltas.
    pub(super) fn expected() -> Self {
        Self::Possible(Candidate::default())
    }

    pub(super) fn are_possible(&self) -> bool {
        !matches!(self, Self::None)
    }
}

impl Assembler {
    /// Compares the content of an event with all content so far. Returns the item of an event that is not added as it is.
    pub(super) fn take_snapshot(&mut self, event: &EventFields<'_>) -> Result<Option<StreamItem>, AnswerError> {
        let content = content_of(event);
        let known = self.choices.get(&0).map_or("", |choice| choice.text());
        match &mut self.snapshots {
            Snapshots::None => Ok(None),
            Snapshots::All => {
                let (EventFields::Chunk(data, _), Some(content)) = (event, content) else { return Ok(None) };
                let rest = match content.strip_prefix(known) {
                    Some(rest) => rest,
                    None if known.starts_with(content.as_str()) => "",
                    None => return Ok(None),
                };
                self.take_rest(data, rest).map(Some)
            }
            Snapshots::Possible(candidate) => {
                if matches!(event, EventFields::Other) || content.is_none() && candidate.repetitions == 0 {
                    return Ok(None);
                }
                let known = if candidate.repetitions > 0 { candidate.text.as_str() } else { known };
                if known.is_empty() {
                    return Ok(None);
                }
                let content = content.unwrap_or_default();
                let may_repeat = candidate.repetitions < MAX_REPETITIONS && content.len() > known.len();
                if may_repeat && content.starts_with(known) {
                    let is_certain = candidate.repetitions + 1 >= MIN_REPETITIONS && is_distinctive(known);
                    *candidate = Candidate { text: content, repetitions: candidate.repetitions + 1 };
                    if !is_certain {
                        return Ok(Some(StreamItem::Repetition));
                    }
                    self.snapshots = Snapshots::All;
                    return Ok(Some(StreamItem::Settled));
                }
                let was_doubtful = candidate.repetitions > 0;
                self.snapshots = Snapshots::None;
                Ok(was_doubtful.then_some(StreamItem::Settled))
            }
        }
    }

    /// States that no event follows. Returns whether events wait that are to be taken again.
    pub fn settle(&mut self) -> bool {
        let were_doubtful = matches!(&self.snapshots, Snapshots::Possible(candidate) if candidate.repetitions > 0);
        if were_doubtful {
            self.snapshots = Snapshots::None;
        }
        were_doubtful
    }

    /// Adds a chunk with the part of its content that is new.
    fn take_rest(&mut self, data: &str, rest: &str) -> Result<StreamItem, AnswerError> {
        let mut chunk = RawObject::parse(data).unwrap_or_default();
        let mut choices: Vec<RawObject> = chunk.get_as("choices").unwrap_or_default();
        for choice in &mut choices {
            let mut delta: RawObject = choice.get_as("delta").unwrap_or_default();
            delta.set("content", raw(rest));
            choice.set("delta", delta.to_raw());
        }
        chunk.set("choices", raw(&choices));
        let event = SseEvent { raw: bytes::Bytes::new(), data: Some(chunk.to_raw().get().to_owned()) };
        let fields = read_event(&event)?;
        if let EventFields::Chunk(_, fields) = &fields {
            self.add(fields)?;
        }
        Ok(match fields.into_item() {
            StreamItem::Chunk(chunk) => StreamItem::Chunk(chunk.edited()),
            item => item,
        })
    }
}

/// Returns the text of a chunk of the only choice; `None` if it has none.
fn content_of(event: &EventFields<'_>) -> Option<String> {
    let EventFields::Chunk(_, fields) = event else { return None };
    let [choice] = ChunkFields::choices(fields) else { return None };
    if choice.members.get("index").is_some_and(|index| index != "0") {
        return None;
    }
    let content = choice.delta.as_ref()?.members.get("content").and_then(string_in)?;
    (!content.is_empty()).then(|| content.into_owned())
}

fn is_distinctive(text: &str) -> bool {
    let mut characters: Vec<char> = text.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    text.len() >= MIN_REPEATED_BYTES && characters.len() >= MIN_REPEATED_CHARACTERS
}
