//! Operations and sections, and which of them an operation's name means.
//!
//! Documentation that no OpenAPI document ties to an operation is tied by its headings: `gateway-close` means what stands below
//! "Gateway Close Event Codes".

use std::collections::{HashMap, HashSet};
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
    /// Operations and sections by their number: `None` for sections that belong to no operation.
    stretches: Vec<Option<Range<usize>>>,
    operations: HashMap<String, Place>,
    /// The sections that belong to operations, by the tools' names.
    tied: HashMap<String, Vec<Place>>,
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

    /// A section that belongs to the operations of `tools`, or to none.
    pub(super) fn push_section(&mut self, path: &[String], tools: &[String], stretch: Range<usize>) {
        let place = self.next();
        for tool in tools {
            self.tied.entry(tool.clone()).or_default().push(place);
        }
        self.titles.push((place, path.join("\n")));
        self.stretches.push((!tools.is_empty()).then_some(stretch));
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
        let tied = self.tied.get(tool).into_iter().flatten();
        let own: HashSet<Place> = self.operations.get(tool).into_iter().chain(tied).copied().collect();
        shares.extend(own.iter().map(|place| (*place, 1.0)));
        Aboutness { shares, own }
    }

    /// Is the place an operation, or a section that belongs to some?
    pub(super) fn is_operation(&self, place: Place) -> bool {
        self.stretches.get(place.0 as usize).is_some_and(Option::is_some)
    }
}

/// How much places are about an operation.
#[derive(Debug, Default)]
pub(super) struct Aboutness {
    shares: HashMap<Place, f32>,
    own: HashSet<Place>,
}

impl Aboutness {
    /// 0 for not at all, 1 for the operation's own.
    pub(super) fn of(&self, place: Place) -> f32 {
        self.shares.get(&place).copied().unwrap_or_default()
    }

    /// Is it the operation itself, or a section that belongs to it?
    pub(super) fn is_own(&self, place: Place) -> bool {
        self.own.contains(&place)
    }
}
