//! Lexicon of all terms of an index with several segments.

use super::postings::{Postings, TermLists};

/// Segments that contain a term, in order. Rebuilt with every index, so it stores only positions in them.
pub(super) type Lexicon = TermLists<PostingRange>;

/// Location of a term's posting list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PostingRange {
    /// Number of the segment.
    pub(super) segment: u32,
    /// Start among the segment's posting lists. Stored here, so that the lookup avoids a cache miss in the segment's
    /// own table.
    pub(super) begin: u32,
    /// End among the segment's posting lists.
    pub(super) end: u32,
}

/// Builds the lexicon from the postings of all segments, in order.
pub(super) fn lexicon<'a>(segments: impl Iterator<Item = &'a Postings>) -> Lexicon {
    let mut entries = Vec::new();
    for (segment, postings) in (0_u32..).zip(segments) {
        entries.extend(postings.ranges().map(|(term, begin, end)| (term, PostingRange { segment, begin, end })));
    }
    entries.sort_unstable_by_key(|(term, range)| (*term, range.segment));
    TermLists::new(entries)
}
