//! Which texts have a term, and how often.

use std::collections::HashMap;

use super::term::Term;

/// The inverted lists of an index.
#[derive(Debug, Clone, Default)]
pub(super) struct Postings(HashMap<Term, Vec<Posting>>);

/// That a text has a term.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    /// The text's position in the order of building.
    pub(super) position: u32,
    /// How often it has the term; where fields weigh differently, the sum of their weights.
    pub(super) count: f32,
}

impl Postings {
    /// Notes that the text at a position, which is the last one so far, has a term.
    pub(super) fn add(&mut self, term: Term, position: u32, count: f32) {
        let list = self.0.entry(term).or_default();
        match list.last_mut() {
            Some(last) if last.position == position => last.count += count,
            _ => list.push(Posting { position, count }),
        }
    }

    /// The texts with a term, in order.
    pub(super) fn of(&self, term: Term) -> &[Posting] {
        self.0.get(&term).map_or(&[], Vec::as_slice)
    }

    /// Gives back the memory that growing has taken in advance.
    pub(super) fn shrink(&mut self) {
        self.0.values_mut().for_each(Vec::shrink_to_fit);
        self.0.shrink_to_fit();
    }
}
