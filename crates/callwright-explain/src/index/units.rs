//! Operations and sections, and their association by name.
//!
//! Documentation that is not part of an OpenAPI document is associated with operations by its headings. For example,
//! `gateway-close` matches the section "Gateway Close Event Codes".

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::codes::{CodeShape, shape_of};
use callwright_search::retrieval::{Bm25, tokens};

/// Index of an operation or section of a toolset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct UnitId(u32);

/// Minimum share of an operation's name, weighted by rarity of the words, that a section's headings must contain.
const LEAST_SHARE: f32 = 0.34;

/// Words (stemmed) in headings of error catalogues.
const ERROR_WORDS: [&str; 9] =
    ["error", "code", "fault", "exception", "failure", "problem", "troubleshooting", "errno", "rejection"];

/// Minimum share of HTTP statuses among the numbers that a list of statuses defines.
const STATUS_SHARE: (u32, u32) = (4, 5);

/// Splits a name into words. As one word it would not match headings with the same words in a different notation.
fn spaced(name: &str) -> String {
    name.replace(|character: char| !character.is_alphanumeric(), " ")
}

/// Counts of passages of one unit that define codes, numbers and HTTP statuses.
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

/// Operation, or section of further documentation.
#[derive(Debug, Default)]
struct DocumentUnit {
    /// Whether it is an operation or a section that belongs to one.
    is_operation: bool,
    /// Whether its headings mention errors.
    mentions_errors: bool,
    defined: DefinitionCounts,
}

/// All operations and sections of a toolset.
#[derive(Debug, Default)]
pub(crate) struct DocumentUnits {
    units: Vec<DocumentUnit>,
    /// Definitions in the passages of the next unit.
    next: DefinitionCounts,
    /// Operations by tool name, with their passages.
    operations: HashMap<String, (UnitId, Range<usize>)>,
    /// Sections by the list of the tools that they belong to. Sections share the lists, because there may be thousands
    /// of both.
    sections: HashMap<usize, (Arc<[String]>, Vec<UnitId>)>,
    titles: Vec<(UnitId, String)>,
    most_defined: u32,
    headings: Option<Bm25<UnitId>>,
}

impl DocumentUnits {
    /// Returns the index of the next unit.
    pub(crate) fn next_id(&self) -> UnitId {
        UnitId(u32::try_from(self.units.len()).unwrap_or(u32::MAX))
    }

    /// Counts the definitions in a passage of the next unit.
    pub(crate) fn count(&mut self, names: &[String]) {
        let statuses = names.iter().filter(|name| is_status(name)).count();
        let numbers = names.iter().filter(|name| shape_of(name) == Some(CodeShape::Number)).count();
        self.next.codes += u32::from(names.iter().any(|name| shape_of(name).is_some()));
        self.next.numbers += u32::from(numbers > 0);
        self.next.statuses += u32::from(statuses > 0 && statuses == numbers);
        self.most_defined = self.most_defined.max(self.next.codes);
    }

    fn unit(&self, unit: UnitId) -> Option<&DocumentUnit> {
        self.units.get(unit.0 as usize)
    }

    /// Returns how likely a unit is an error catalogue, 0 to 1: whether its headings mention errors, and the logarithm
    /// of its number of codes relative to the unit with the most codes.
    pub(crate) fn catalogue_likelihood(&self, unit: UnitId) -> f32 {
        let Some(unit) = self.unit(unit) else { return 0.0 };
        let share = (unit.defined.codes as f32).ln_1p() / (self.most_defined.max(1) as f32).ln_1p();
        (share + f32::from(u8::from(unit.mentions_errors))) / 2.0
    }

    /// Whether the numbers that a unit defines are HTTP statuses, and not codes of the same form.
    pub(crate) fn defines_statuses(&self, unit: UnitId) -> bool {
        let defined = self.unit(unit).map(|unit| unit.defined).unwrap_or_default();
        defined.statuses * STATUS_SHARE.1 >= defined.numbers * STATUS_SHARE.0
    }

    /// Whether the unit is an operation, or a section that belongs to one.
    pub(crate) fn is_operation(&self, unit: UnitId) -> bool {
        self.unit(unit).is_some_and(|unit| unit.is_operation)
    }

    pub(crate) fn push_operation(&mut self, tool: &str, passages: Range<usize>) {
        self.operations.insert(tool.to_owned(), (self.next_id(), passages));
        self.push(true, false);
    }

    /// Adds a section that belongs to the operations of `tools`, or to none.
    pub(crate) fn push_section(&mut self, path: &[String], tools: &Arc<[String]>) {
        let unit = self.next_id();
        if !tools.is_empty() {
            let list = self.sections.entry(tools.as_ptr().addr());
            list.or_insert_with(|| (Arc::clone(tools), Vec::new())).1.push(unit);
        }
        let title = spaced(&path.join("\n"));
        self.push(!tools.is_empty(), tokens(&title).iter().any(|word| ERROR_WORDS.contains(&word.as_str())));
        self.titles.push((unit, title));
    }

    fn push(&mut self, is_operation: bool, mentions_errors: bool) {
        self.units.push(DocumentUnit { is_operation, mentions_errors, defined: std::mem::take(&mut self.next) });
    }

    pub(crate) fn finish(&mut self) {
        self.headings = Some(Bm25::build(std::mem::take(&mut self.titles)));
    }

    /// Returns the passages of an operation.
    pub(crate) fn operation(&self, tool: &str) -> Option<Range<usize>> {
        self.operations.get(tool).map(|(_, passages)| passages.clone())
    }

    /// Returns the relevance of each unit to an operation.
    pub(crate) fn relevance(&self, tool: &str) -> UnitRelevance {
        let mut shares = HashMap::new();
        let hits = self.headings.as_ref().map(|headings| headings.search(&spaced(tool), headings.len()));
        let hits = hits.unwrap_or_default();
        let best = hits.iter().map(|hit| hit.coverage).fold(f32::MIN_POSITIVE, f32::max);
        for hit in hits.iter().filter(|hit| hit.coverage >= LEAST_SHARE) {
            // A match of only a part of the name is a weak one.
            shares.insert(*hit.id, (hit.coverage / best).powi(2));
        }
        let lists = self.sections.values().filter(|(tools, _)| tools.iter().any(|one| one == tool));
        let sections = lists.flat_map(|(_, sections)| sections);
        let own = self.operations.get(tool).map(|(unit, _)| unit);
        let own: HashSet<UnitId> = own.into_iter().chain(sections).copied().collect();
        shares.extend(own.iter().map(|unit| (*unit, 1.0)));
        UnitRelevance { shares, own }
    }
}

/// Relevance of units to an operation.
#[derive(Debug, Default)]
pub(crate) struct UnitRelevance {
    shares: HashMap<UnitId, f32>,
    own: HashSet<UnitId>,
}

impl UnitRelevance {
    /// Returns the relevance of a unit: 0 for none, 1 for the operation's own.
    pub(crate) fn share(&self, unit: UnitId) -> f32 {
        self.shares.get(&unit).copied().unwrap_or_default()
    }

    /// Whether the unit is the operation itself or a section that belongs to it.
    pub(crate) fn is_own(&self, unit: UnitId) -> bool {
        self.own.contains(&unit)
    }
}
