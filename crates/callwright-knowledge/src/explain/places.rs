//! Operations and sections, and which of them an operation's name means.
//!
//! Documentation that no OpenAPI document ties to an operation is tied by its headings: `gateway-close` means what stands below
//! "Gateway Close Event Codes".

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::shape::{Shape, shape_of};
use callwright_search::retrieval::{Bm25, tokens};

/// The number of an operation or section of a toolset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Place(u32);

/// Least share of an operation's name, rare words counting more, that a section's headings must have to be about it.
const LEAST_SHARE: f32 = 0.34;

/// Words (stemmed) by which headings say that errors follow.
const ERROR_WORDS: [&str; 9] =
    ["error", "code", "fault", "exception", "failure", "problem", "troubleshooting", "errno", "rejection"];

/// At least four in five of the numbers that a list of statuses defines are statuses.
const STATUS_SHARE: (u32, u32) = (4, 5);

/// The words of a name apart: as one word it would be looked for in headings that have the same words in another notation.
fn spaced(name: &str) -> String {
    name.replace(|character: char| !character.is_alphanumeric(), " ")
}

/// What the passages of a place define.
#[derive(Debug, Clone, Copy, Default)]
struct Defined {
    codes: u32,
    numbers: u32,
    statuses: u32,
}

/// Can the name be a status of HTTP?
fn is_status(name: &str) -> bool {
    name.len() == 3 && name.parse::<u16>().is_ok_and(|status| (100..600).contains(&status))
}

/// Sections that belong to the same operations: there may be thousands of both, and each pair of them would take its room.
#[derive(Debug)]
struct Group {
    /// Keeps the list where it is.
    _tools: Arc<[String]>,
    sections: Vec<Place>,
}

/// All operations and sections of a toolset.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By their number: is it an operation, or a section that belongs to some?
    of_operations: Vec<bool>,
    /// Operations by the tools' names, with their passages.
    operations: HashMap<String, (Place, Range<usize>)>,
    /// Sections that belong to the same operations.
    groups: Vec<Group>,
    /// The groups by where the list of their tools is.
    by_list: HashMap<usize, usize>,
    /// The groups of sections that belong to operations, by the tools' names.
    tied: HashMap<String, Vec<usize>>,
    titles: Vec<(Place, String)>,
    /// How many codes are defined, by the place's number.
    defined: Vec<Defined>,
    most_defined: u32,
    /// Do the place's headings speak of errors?
    of_errors: Vec<bool>,
    headings: Option<Bm25<Place>>,
}

impl Places {
    /// The number that the place that is pushed next has.
    pub(super) fn next(&self) -> Place {
        Place(u32::try_from(self.of_operations.len()).unwrap_or(u32::MAX))
    }

    /// Counts what a passage of the place that is pushed next defines.
    pub(super) fn count(&mut self, place: Place, names: &[String]) {
        let number = place.0 as usize;
        if self.defined.len() <= number {
            self.defined.resize(number + 1, Defined::default());
        }
        let Some(defined) = self.defined.get_mut(number) else { return };
        let statuses = names.iter().filter(|name| is_status(name)).count();
        let numbers = names.iter().filter(|name| shape_of(name) == Some(Shape::Number)).count();
        defined.codes += u32::from(names.iter().any(|name| shape_of(name).is_some()));
        defined.numbers += u32::from(numbers > 0);
        defined.statuses += u32::from(statuses > 0 && statuses == numbers);
        self.most_defined = self.most_defined.max(defined.codes);
    }

    /// How much a place is a catalogue of errors, 0 to 1: whether its headings say so, and how many codes it defines, in orders of
    /// magnitude, beside the place that defines most.
    pub(super) fn catalogues(&self, place: Place) -> f32 {
        let number = place.0 as usize;
        let codes = self.defined.get(number).map_or(0, |defined| defined.codes);
        let share = (codes as f32).ln_1p() / (self.most_defined.max(1) as f32).ln_1p();
        let said = self.of_errors.get(number).is_some_and(|said| *said);
        (share + f32::from(u8::from(said))) / 2.0
    }

    /// Are the numbers that a place defines statuses of HTTP, and not codes of which some happen to be alike?
    pub(super) fn defines_statuses(&self, place: Place) -> bool {
        let defined = self.defined.get(place.0 as usize).copied().unwrap_or_default();
        defined.statuses * STATUS_SHARE.1 >= defined.numbers * STATUS_SHARE.0
    }

    pub(super) fn push_operation(&mut self, tool: &str, stretch: Range<usize>) {
        self.operations.insert(tool.to_owned(), (self.next(), stretch));
        self.of_errors.push(false);
        self.of_operations.push(true);
    }

    /// A section that belongs to the operations of `tools`, or to none.
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

    fn tie(&mut self, place: Place, tools: &Arc<[String]>) {
        let group = *self.by_list.entry(tools.as_ptr().addr()).or_insert_with(|| {
            let number = self.groups.len();
            for tool in tools.iter() {
                self.tied.entry(tool.clone()).or_default().push(number);
            }
            self.groups.push(Group { _tools: Arc::clone(tools), sections: Vec::new() });
            number
        });
        if let Some(group) = self.groups.get_mut(group) {
            group.sections.push(place);
        }
    }

    pub(super) fn finish(&mut self) {
        self.headings = Some(Bm25::build(std::mem::take(&mut self.titles)));
    }

    /// The passages of an operation.
    pub(super) fn operation(&self, tool: &str) -> Option<Range<usize>> {
        self.operations.get(tool).map(|(_, passages)| passages.clone())
    }

    /// How much each place is about an operation.
    pub(super) fn about(&self, tool: &str) -> Aboutness {
        let mut shares = HashMap::new();
        let hits = self.headings.as_ref().map(|headings| headings.search(&spaced(tool), headings.len()));
        let hits = hits.unwrap_or_default();
        let best = hits.iter().map(|hit| hit.coverage).fold(f32::MIN_POSITIVE, f32::max);
        for hit in hits.iter().filter(|hit| hit.coverage >= LEAST_SHARE) {
            // What is about a part of the name only is hardly about the operation.
            shares.insert(*hit.id, (hit.coverage / best).powi(2));
        }
        let groups = self.tied.get(tool).into_iter().flatten().filter_map(|group| self.groups.get(*group));
        let own = self.operations.get(tool).map(|(place, _)| place);
        let own: HashSet<Place> = own.into_iter().chain(groups.flat_map(|group| &group.sections)).copied().collect();
        shares.extend(own.iter().map(|place| (*place, 1.0)));
        Aboutness { shares, own }
    }

    /// Is the place an operation, or a section that belongs to some?
    pub(super) fn is_operation(&self, place: Place) -> bool {
        self.of_operations.get(place.0 as usize).is_some_and(|belongs| *belongs)
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
