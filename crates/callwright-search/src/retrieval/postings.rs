//! Posting lists: the texts that contain a term, and its frequency in them.

use super::term::Term;

/// Inverted index in compact form: sorted terms, and their posting lists in one array.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings {
    terms: Vec<Term>,
    /// End of each term's list.
    ends: Vec<u32>,
    lists: Vec<Posting>,
}

/// An occurrence of a term in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Posting {
    /// Position of the text in the order of building.
    pub(super) position: u32,
    /// Term frequency; with weighted fields, the sum of the weights.
    pub(super) count: f32,
}

impl Postings {
    /// Builds the lists from terms in texts, in any order; duplicates are added up.
    pub(super) fn new(mut found: Vec<(Term, Posting)>) -> Self {
        // A stable sort, so that sums have a fixed order and equal inputs give equal results.
        found.sort_by_key(|(term, posting)| (*term, posting.position));
        let mut postings = Self::default();
        for (term, posting) in found {
            if postings.terms.last() != Some(&term) {
                postings.terms.push(term);
                postings.ends.push(postings.end());
            }
            let begin = postings.begin(postings.terms.len() - 1);
            match postings.lists.get_mut(begin..).and_then(<[Posting]>::last_mut) {
                Some(last) if last.position == posting.position => last.count += posting.count,
                _ => postings.lists.push(posting),
            }
            let end = postings.end();
            postings.ends.last_mut().into_iter().for_each(|last| *last = end);
        }
        postings.terms.shrink_to_fit();
        postings.ends.shrink_to_fit();
        postings.lists.shrink_to_fit();
        postings
    }

    /// Returns the postings of a term, in order of position.
    pub(super) fn of_term(&self, term: Term) -> &[Posting] {
        let Ok(slot) = self.terms.binary_search(&term) else { return &[] };
        let end = self.ends.get(slot).map_or(0, |end| *end as usize);
        self.lists.get(self.begin(slot)..end).unwrap_or_default()
    }

    /// Returns a range of the array of all lists.
    pub(super) fn within(&self, begin: u32, end: u32) -> &[Posting] {
        self.lists.get(begin as usize..end as usize).unwrap_or_default()
    }

    /// Returns all terms in order, with start and end of their lists.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (Term, u32, u32)> {
        let begins = std::iter::once(&0).chain(&self.ends);
        self.terms.iter().zip(begins.zip(&self.ends)).map(|(term, (begin, end))| (*term, *begin, *end))
    }

    fn begin(&self, slot: usize) -> usize {
        slot.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize)
    }

    fn end(&self) -> u32 {
        u32::try_from(self.lists.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_term_has_its_texts_in_order() {
        let entries = [("b", 1, 1.0), ("a", 2, 1.0), ("b", 0, 2.0), ("b", 1, 0.5), ("c", 0, 1.0)];
        let posting = |(position, count)| Posting { position, count };
        let postings =
            Postings::new(entries.map(|(term, position, count)| (Term::of(term), posting((position, count)))).to_vec());
        let of = |term: &str| postings.of_term(Term::of(term)).to_vec();
        assert_eq!(of("a"), [(2, 1.0)].map(posting));
        assert_eq!(of("b"), [(0, 2.0), (1, 1.5)].map(posting));
        assert_eq!(of("c"), [(0, 1.0)].map(posting));
        assert_eq!(of("d"), []);
        assert!(Postings::new(Vec::new()).of_term(Term::of("a")).is_empty());
    }
}
