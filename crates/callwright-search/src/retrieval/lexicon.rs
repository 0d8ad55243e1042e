//! Lexicon of all terms of an index with several segments.

use super::postings::Postings;
use super::term::Term;

/// Segments that contain a term. Rebuilt with every index, so it stores only positions in them.
#[derive(Debug, Clone, Default)]
pub(super) struct Lexicon {
    /// Terms, sorted and unique.
    terms: Vec<Term>,
    /// End of each term's ranges.
    ends: Vec<u32>,
    ranges: Vec<PostingRange>,
}

/// Location of a term's posting list.
#[derive(Debug, Clone, Copy)]
pub(super) struct PostingRange {
    /// Number of the segment.
    pub(super) segment: u32,
    /// Start among the segment's posting lists. Stored here, so that the lookup avoids a cache miss in the segment's
    /// own table.
    pub(super) begin: u32,
    /// End among the segment's posting lists.
    pub(super) end: u32,
}

impl Lexicon {
    /// Builds the lexicon from the postings of all segments, in order.
    pub(super) fn new<'a>(segments: impl Iterator<Item = &'a Postings>) -> Self {
        let mut entries: Vec<(Term, PostingRange)> = Vec::new();
        for (segment, postings) in (0_u32..).zip(segments) {
            entries.extend(postings.ranges().map(|(term, begin, end)| (term, PostingRange { segment, begin, end })));
        }
        entries.sort_unstable_by_key(|(term, range)| (*term, range.segment));
        let mut lexicon = Self { ranges: Vec::with_capacity(entries.len()), ..Self::default() };
        for (term, range) in entries {
            if lexicon.terms.last() != Some(&term) {
                lexicon.terms.push(term);
                lexicon.ends.push(0);
            }
            lexicon.ranges.push(range);
            let end = u32::try_from(lexicon.ranges.len()).unwrap_or(u32::MAX);
            lexicon.ends.last_mut().into_iter().for_each(|last| *last = end);
        }
        lexicon.terms.shrink_to_fit();
        lexicon.ends.shrink_to_fit();
        lexicon
    }

    /// Returns the ranges of a term, in the order of the segments.
    pub(super) fn ranges(&self, term: Term) -> &[PostingRange] {
        let Ok(at) = self.terms.binary_search(&term) else { return &[] };
        let begin = at.checked_sub(1).map_or(0, |before| self.end(before));
        self.ranges.get(begin..self.end(at)).unwrap_or_default()
    }

    fn end(&self, at: usize) -> usize {
        self.ends.get(at).map_or(0, |end| *end as usize)
    }
}
