//! Operations and sections, and their association by name.
//!
//! Documentation that is not part of an OpenAPI document is associated with operations by its headings. For example,
//! `gateway-close` matches the section "Gateway Close Event Codes".

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::shape::{CodeShape, shape_of};
use callwright_search::retrieval::{Bm25, tokens};

/// Index of an operation or section of a toolset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct DocumentPlace(u32);

/// Minimum share of an operation's name, weighted by rarity of the words, that a section's headings must contain.
const LEAST_SHARE: f32 = 0.34;

/// Share of the relevance that depends on how short the heading is.
const BREVITY_SHARE: f32 = 0.1;

/// Words (stemmed) in headings of error catalogues.
const ERROR_WORDS: [&str; 9] =
    ["error", "code", "fault", "exception", "failure", "problem", "troubleshooting", "errno", "rejection"];

/// Minimum share of HTTP statuses among the numbers that a list of statuses defines.
const STATUS_SHARE: (u32, u32) = (4, 5);

/// Splits a name into words. As one word it would not match headings with the same words in a different notation.
fn spaced(name: &str) -> String {
    name.replace(|character: char| !character.is_alphanumeric(), " ")
}

/// Counts of passages of one place that define codes, numbers and HTTP statuses.
#[derive(Debug, Clone, Copy, Default)]
struct DefinitionCounts {
    codes: u32,
    numbers: u32,
    statuses: u32,
}

/// Whether the name can be an HTTP status.
fn is_status(name: &str) -> bool {
    name.len() == 3 && name.parse::<u16>().is_ok_and(|status| (100..600).contains(&status))
}

/// Sections of the same operations. Grouping saves memory, because there may be thousands of both.
#[derive(Debug)]
struct SectionGroup {
    /// Keeps the list allocated, because its address is the key in `by_list`.
    _tools: Arc<[String]>,
    sections: Vec<DocumentPlace>,
}

/// All operations and sections of a toolset.
#[derive(Debug, Default)]
pub(super) struct DocumentPlaces {
    /// Whether each place is an operation or a section that belongs to one.
    of_operations: Vec<bool>,
    /// Operations by tool name, with their passages.
    operations: HashMap<String, (DocumentPlace, Range<usize>)>,
    /// Groups of sections with the same operations.
    groups: Vec<SectionGroup>,
    /// Groups by the address of their list of tools.
    by_list: HashMap<usize, usize>,
    /// Groups of sections by the names of the tools that they belong to.
    tied: HashMap<String, Vec<usize>>,
    titles: Vec<(DocumentPlace, String)>,
    /// Numbers of defined codes by place.
    defined: Vec<DefinitionCounts>,
    most_defined: u32,
    /// Whether the headings of each place mention errors.
    of_errors: Vec<bool>,
    headings: Option<Bm25<DocumentPlace>>,
}

impl DocumentPlaces {
    /// Returns the index of the next place.
    pub(super) fn next(&self) -> DocumentPlace {
        DocumentPlace(u32::try_from(self.of_operations.len()).unwrap_or(u32::MAX))
    }

    /// Counts the definitions in a passage of `place`.
    pub(super) fn count(&mut self, place: DocumentPlace, names: &[String]) {
        let number = place.0 as usize;
        if self.defined.len() <= number {
            self.defined.resize(number + 1, DefinitionCounts::default());
        }
        let Some(defined) = self.defined.get_mut(number) else { return };
        let statuses = names.iter().filter(|name| is_status(name)).count();
        let numbers = names.iter().filter(|name| shape_of(name) == Some(CodeShape::Number)).count();
        defined.codes += u32::from(names.iter().any(|name| shape_of(name).is_some()));
        defined.numbers += u32::from(numbers > 0);
        defined.statuses += u32::from(statuses > 0 && statuses == numbers);
        self.most_defined = self.most_defined.max(defined.codes);
    }

    /// Returns how likely a place is an error catalogue, 0 to 1: whether its headings mention errors, and the logarithm
    /// of its number of codes relative to the place with the most codes.
    pub(super) fn catalogues(&self, place: DocumentPlace) -> f32 {
        let number = place.0 as usize;
        let codes = self.defined.get(number).map_or(0, |defined| defined.codes);
        let share = (codes as f32).ln_1p() / (self.most_defined.max(1) as f32).ln_1p();
        let said = self.of_errors.get(number).is_some_and(|said| *said);
        (share + f32::from(u8::from(said))) / 2.0
    }

    /// Whether the numbers that a place defines are HTTP statuses, and not codes that happen to look alike.
    pub(super) fn defines_statuses(&self, place: DocumentPlace) -> bool {
        let defined = self.defined.get(place.0 as usize).copied().unwrap_or_default();
        defined.statuses * STATUS_SHARE.1 >= defined.numbers * STATUS_SHARE.0
    }

    pub(super) fn push_operation(&mut self, tool: &str, stretch: Range<usize>) {
        self.operations.insert(tool.to_owned(), (self.next(), stretch));
        self.of_errors.push(false);
        self.of_operations.push(true);
    }

    /// Adds a section that belongs to the operations of `tools`, or to none.
    pub(super) fn push_section(&mut self, path: &[String], tools: &Arc<[String]>) {
        let place = self.next();
        if !tools.is_empty() {
            self.tie(place, tools);
        }
        let title = spaced(&path.join("\n"));
        self.of_errors.push(tokens(&title).iter().any(|word| ERROR_WORDS.contains(&word.as_str())));
        self.titles.push((place, title));
        self.of_operations.push(!tools.is_empty());
    }

    fn tie(&mut self, place: DocumentPlace, tools: &Arc<[String]>) {
        let group = *self.by_list.entry(tools.as_ptr().addr()).or_insert_with(|| {
            let number = self.groups.len();
            for tool in tools.iter() {
                self.tied.entry(tool.clone()).or_default().push(number);
            }
            self.groups.push(SectionGroup { _tools: Arc::clone(tools), sections: Vec::new() });
            number
        });
        if let Some(group) = self.groups.get_mut(group) {
            group.sections.push(place);
        }
    }

    pub(super) fn finish(&mut self) {
        self.headings = Some(Bm25::build(std::mem::take(&mut self.titles)));
    }

    /// Returns the passages of an operation.
    pub(super) fn operation(&self, tool: &str) -> Option<Range<usize>> {
        self.operations.get(tool).map(|(_, passages)| passages.clone())
    }

    /// Returns the relevance of each place to an operation.
    pub(super) fn about(&self, tool: &str) -> Aboutness {
        let mut shares = HashMap::new();
        let hits = self.headings.as_ref().map(|headings| headings.search(&spaced(tool), headings.len()));
        let hits = hits.unwrap_or_default();
        let best = hits.iter().map(|hit| hit.coverage).fold(f32::MIN_POSITIVE, f32::max);
        let best_score = hits.first().map_or(1.0, |hit| hit.score);
        for hit in hits.iter().filter(|hit| hit.coverage >= LEAST_SHARE) {
            // A match of only a part of the name is a weak one; of equal matches the shorter heading is the better one.
            let brevity = 1.0 - BREVITY_SHARE * (1.0 - hit.score / best_score);
            shares.insert(*hit.id, (hit.coverage / best).powi(2) * brevity);
        }
        let groups = self.tied.get(tool).into_iter().flatten().filter_map(|group| self.groups.get(*group));
        let own = self.operations.get(tool).map(|(place, _)| place);
        let own: HashSet<DocumentPlace> =
            own.into_iter().chain(groups.flat_map(|group| &group.sections)).copied().collect();
        shares.extend(own.iter().map(|place| (*place, 1.0)));
        Aboutness { shares, own }
    }

    /// Whether the place is an operation, or a section that belongs to one.
    pub(super) fn is_operation(&self, place: DocumentPlace) -> bool {
        self.of_operations.get(place.0 as usize).is_some_and(|belongs| *belongs)
    }
}

/// Relevance of places to an operation.
#[derive(Debug, Default)]
pub(super) struct Aboutness {
    shares: HashMap<DocumentPlace, f32>,
    own: HashSet<DocumentPlace>,
}

impl Aboutness {
    /// Returns the relevance of a place: 0 for none, 1 for the operation's own.
    pub(super) fn of(&self, place: DocumentPlace) -> f32 {
        self.shares.get(&place).copied().unwrap_or_default()
    }

    /// Whether the place is the operation itself or a section that belongs to it.
    pub(super) fn is_own(&self, place: DocumentPlace) -> bool {
        self.own.contains(&place)
    }
}
