//! Posting lists: the texts that contain a term, and its frequency in them.

use super::tokens::Term;

/// Lists by term in compact form: sorted terms, and their lists in one array.
#[derive(Debug, Clone, Default)]
pub(super) struct TermLists<T> {
    terms: Vec<Term>,
    /// End of each term's list.
    ends: Vec<u32>,
    items: Vec<T>,
}

/// An occurrence of a term in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Posting {
    /// Position of the text in the order of building.
    pub(super) position: u32,
    /// Term frequency; with weighted fields, the sum of the weights.
    pub(super) count: f32,
}

/// Inverted index.
pub(super) type Postings = TermLists<Posting>;

/// Builds an inverted index from terms in texts, in any order; duplicates are added up.
pub(super) fn postings(mut found: Vec<(Term, Posting)>) -> Postings {
    // A stable sort, so that sums have a fixed order and equal inputs give equal results.
    found.sort_by_key(|(term, posting)| (*term, posting.position));
    found.dedup_by(|(term, posting), (last_term, last)| {
        let is_same = term == last_term && posting.position == last.position;
        if is_same {
            last.count += posting.count;
        }
        is_same
    });
    TermLists::new(found)
}

impl<T> TermLists<T> {
    /// Builds the lists from items, sorted by term.
    pub(super) fn new(sorted: Vec<(Term, T)>) -> Self {
        let mut lists = Self { terms: Vec::new(), ends: Vec::new(), items: Vec::with_capacity(sorted.len()) };
        for (term, item) in sorted {
            lists.items.push(item);
            let end = u32::try_from(lists.items.len()).unwrap_or(u32::MAX);
            match lists.ends.last_mut().filter(|_| lists.terms.last() == Some(&term)) {
                Some(last) => *last = end,
                None => {
                    lists.terms.push(term);
                    lists.ends.push(end);
                }
            }
        }
        lists.terms.shrink_to_fit();
        lists.ends.shrink_to_fit();
        lists
    }

    /// Returns the list of a term.
    pub(super) fn of_term(&self, term: Term) -> &[T] {
        let Ok(slot) = self.terms.binary_search(&term) else { return &[] };
        let begin = slot.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.within(begin, self.ends.get(slot).copied().unwrap_or_default())
    }

    /// Returns a range of the array of all lists.
    pub(super) fn within(&self, begin: u32, end: u32) -> &[T] {
        self.items.get(begin as usize..end as usize).unwrap_or_default()
    }

    /// Returns all terms in order, with start and end of their lists.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (Term, u32, u32)> {
        let begins = std::iter::once(&0).chain(&self.ends);
        self.terms.iter().zip(begins.zip(&self.ends)).map(|(term, (begin, end))| (*term, *begin, *end))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_term_has_its_texts_in_order() {
        let entries = [("b", 1, 1.0), ("a", 2, 1.0), ("b", 0, 2.0), ("b", 1, 0.5), ("c", 0, 1.0)];
        let posting = |(position, count)| Posting { position, count };
        let index =
            postings(entries.map(|(term, position, count)| (Term::of(term), posting((position, count)))).to_vec());
        let of = |term: &str| index.of_term(Term::of(term)).to_vec();
        assert_eq!(of("a"), [(2, 1.0)].map(posting));
        assert_eq!(of("b"), [(0, 2.0), (1, 1.5)].map(posting));
        assert_eq!(of("c"), [(0, 1.0)].map(posting));
        assert_eq!(of("d"), []);
        assert!(postings(Vec::new()).of_term(Term::of("a")).is_empty());
    }
}
