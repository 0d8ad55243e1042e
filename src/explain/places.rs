//! Operations and sections, and which of them an operation's name means.
//!
//! Documentation that no OpenAPI document ties to an operation is tied by its headings: `gateway-close` means what stands below
//! "Gateway Close Event Codes".

use std::collections::HashMap;
use std::ops::Range;

use crate::retrieval::{Bm25, tokens};

/// The number of an operation or section of a toolset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Place(u32);

/// Least share of an operation's name, rare words counting more, that a section's headings must have to be about it.
const LEAST_SHARE: f32 = 0.34;

/// All operations and sections of a toolset.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Operations and sections by their number: `None` for sections.
    stretches: Vec<Option<Range<usize>>>,
    operations: HashMap<String, Place>,
    titles: Vec<(Place, String)>,
    headings: Option<Bm25<Place>>,
}

impl Places {
    /// The number that the place that is pushed next has.
    pub(super) fn next(&self) -> Place {
        Place(u32::try_from(self.stretches.len()).unwrap_or(u32::MAX))
    }

    pub(super) fn push_operation(&mut self, tool: &str, stretch: Range<usize>) {
        self.operations.insert(tool.to_owned(), self.next());
        self.stretches.push(Some(stretch));
    }

    pub(super) fn push_section(&mut self, path: &[String], _stretch: Range<usize>) {
        self.titles.push((self.next(), path.join("\n")));
        self.stretches.push(None);
    }

    pub(super) fn finish(&mut self) {
        self.headings = Some(Bm25::build(std::mem::take(&mut self.titles)));
    }

    /// The passages of an operation.
    pub(super) fn operation(&self, tool: &str) -> Option<Range<usize>> {
        self.stretches.get(self.operations.get(tool)?.0 as usize)?.clone()
    }

    /// How much each place is about an operation.
    pub(super) fn about(&self, tool: &str) -> Aboutness {
        let mut shares = HashMap::new();
        // The words of the name alone: the name as one word would be looked for in headings that have the same words apart.
        let hits = self.headings.as_ref().map(|headings| headings.search(&tokens(tool).join(" "), headings.len()));
        let hits = hits.unwrap_or_default();
        let best = hits.first().map_or(1.0, |hit| hit.score);
        for hit in hits.iter().filter(|hit| hit.coverage >= LEAST_SHARE) {
            shares.insert(*hit.id, hit.score / best);
        }
        if let Some(own) = self.operations.get(tool) {
            shares.insert(*own, 1.0);
        }
        Aboutness { shares, own: self.operations.get(tool).copied() }
    }

    /// Is the place an operation?
    pub(super) fn is_operation(&self, place: Place) -> bool {
        self.stretches.get(place.0 as usize).is_some_and(Option::is_some)
    }
}

/// How much places are about an operation.
#[derive(Debug, Default)]
pub(super) struct Aboutness {
    shares: HashMap<Place, f32>,
    own: Option<Place>,
}

impl Aboutness {
    /// 0 for not at all, 1 for the operation's own.
    pub(super) fn of(&self, place: Place) -> f32 {
        self.shares.get(&place).copied().unwrap_or_default()
    }

    /// Is it the operation's own place?
    pub(super) fn is_own(&self, place: Place) -> bool {
        self.own == Some(place)
    }
}
