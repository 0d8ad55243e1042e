//! All terms of an index of several segments.

use super::postings::Postings;
use super::term::Term;

/// Which segments have a term. Made anew with every index, so it holds no more than places in them.
#[derive(Debug, Clone, Default)]
pub(super) struct Lexicon {
    /// Each once, in order.
    terms: Vec<Term>,
    /// Where each term's places end.
    ends: Vec<u32>,
    places: Vec<Place>,
}

/// Where a term's list is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// In which segment.
    pub(super) segment: u32,
    /// Where it begins among the segment's lists. Known here, a list is found without a look at the segment's own table, which is in no cache.
    pub(super) begin: u32,
    /// Where it ends.
    pub(super) end: u32,
}

impl Lexicon {
    /// Of the postings of all segments, in their order.
    pub(super) fn of<'a>(segments: impl Iterator<Item = &'a Postings>) -> Self {
        let mut entries: Vec<(Term, Place)> = Vec::new();
        for (segment, postings) in (0_u32..).zip(segments) {
            entries.extend(postings.ranges().map(|(term, begin, end)| (term, Place { segment, begin, end })));
        }
        entries.sort_unstable_by_key(|(term, place)| (*term, place.segment));
        let mut lexicon = Self { places: Vec::with_capacity(entries.len()), ..Self::default() };
        for (term, place) in entries {
            if lexicon.terms.last() != Some(&term) {
                lexicon.terms.push(term);
                lexicon.ends.push(0);
            }
            lexicon.places.push(place);
            let end = u32::try_from(lexicon.places.len()).unwrap_or(u32::MAX);
            lexicon.ends.last_mut().into_iter().for_each(|last| *last = end);
        }
        lexicon.terms.shrink_to_fit();
        lexicon.ends.shrink_to_fit();
        lexicon
    }

    /// Where a term is, in the order of the segments.
    pub(super) fn places(&self, term: Term) -> &[Place] {
        let Ok(at) = self.terms.binary_search(&term) else { return &[] };
        let end = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        self.places.get(at.checked_sub(1).map_or(0, end)..end(at)).unwrap_or_default()
    }
}
