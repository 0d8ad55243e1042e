//! Counts how many operations of a document have a parameter.

use std::collections::{HashMap, HashSet};

use crate::{DocumentOperation, LocatedValue, Location};

/// Minimum number of operations of a document in which frequencies mean anything.
const LEAST_OPERATIONS: usize = 3;

/// Parameters of a document by name and location, with the number of their operations.
#[derive(Debug, Default)]
pub(super) struct ParameterSurvey {
    operations: usize,
    counts: HashMap<(String, Location), ParameterUse>,
    /// Operations that have a parameter or form field of a name in any location.
    operations_with: HashMap<String, usize>,
}

#[derive(Debug, Default, Clone, Copy)]
struct ParameterUse {
    operations: usize,
    /// Whether an operation that is not safe has it. Parameters for paging only occur in operations that read.
    in_unsafe: bool,
}

impl ParameterSurvey {
    pub(super) fn new(sources: &[DocumentOperation<'_>]) -> Self {
        let mut survey = Self { operations: sources.len(), ..Self::default() };
        for operation in sources {
            let mut seen = HashSet::new();
            let mut names = HashSet::new();
            for holder in operation.path_items.iter().chain([&operation.operation]) {
                for entry in holder.items_of("parameters") {
                    let Ok(at) = entry.follow() else { continue };
                    let Some(name) = at.text("name") else { continue };
                    seen.extend(location(&at).map(|location| (name, location)));
                    names.insert(name);
                }
            }
            for name in names {
                *survey.operations_with.entry(name.to_owned()).or_default() += 1;
            }
            for (name, location) in seen {
                let uses = survey.counts.entry((name.to_owned(), location)).or_default();
                uses.operations += 1;
                uses.in_unsafe |= !operation.method.is_safe();
            }
        }
        survey
    }

    /// Returns all parameters, by name as written and location.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &(String, Location)> {
        self.counts.keys()
    }

    /// Whether the parameter belongs to at least half of the operations, also to some that change state.
    pub(super) fn is_general(&self, name: &str, location: Location) -> bool {
        let uses = self.counts.get(&(name.to_owned(), location)).copied().unwrap_or_default();
        self.operations >= LEAST_OPERATIONS && uses.operations * 2 >= self.operations && uses.in_unsafe
    }

    /// Whether at least half of the operations have the parameter, in any location.
    pub(super) fn is_general_anywhere(&self, name: &str) -> bool {
        self.operations >= LEAST_OPERATIONS
            && self.operations_with.get(name).is_some_and(|operations| operations * 2 >= self.operations)
    }

    /// Whether every operation has the parameter.
    pub(super) fn is_everywhere(&self, name: &str, location: Location) -> bool {
        let uses = self.counts.get(&(name.to_owned(), location)).copied().unwrap_or_default();
        uses.operations == self.operations
    }
}

fn location(at: &LocatedValue<'_>) -> Option<Location> {
    match at.text("in")? {
        "query" => Some(Location::Query),
        "header" => Some(Location::Header),
        "cookie" => Some(Location::Cookie),
        _ => None,
    }
}
