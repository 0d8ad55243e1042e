//! The index of all procedures: which of them does a request want?
//!
//! A library never changes. [`Library::with`] makes the next one of what changed; both share the procedures of scopes that did not. So it
//! belongs into a turn's snapshot, and is exchanged as a whole.

mod shelf;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use super::Settings;
use callwright_search::embedding::Vector;
use callwright_types::memory::Fingerprint;
use callwright_types::{Procedure, Scope};
use shelf::Shelf;

/// The procedures of all scopes, ready to be found.
#[derive(Debug, Clone, Default)]
pub struct Library {
    shelves: HashMap<Scope, Arc<Shelf>>,
    settings: Settings,
}

/// A procedure with its vector.
#[derive(Debug, Clone)]
pub struct Shelved {
    /// The procedure.
    pub procedure: Arc<Procedure>,
    /// The vector of [`embedded_text`](super::embedded_text); none where it is found by words alone.
    pub vector: Option<Arc<Vector>>,
}

/// What happened to a procedure.
#[derive(Debug, Clone)]
pub enum Change {
    /// It was learned, or is otherwise now: joined, counted, retired.
    Shelved(Shelved),
    /// The procedure of this id is no more.
    Forgotten(String),
}

/// Whether the tool of a name is in play: one of a toolset, or, given a fingerprint, the client's own that has it.
pub type InPlay<'a> = dyn Fn(&str, Option<&Fingerprint>) -> bool + Sync + 'a;

/// What procedures are looked for.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// Whose they are.
    pub scope: &'a Scope,
    /// What is asked for.
    pub text: &'a str,
    /// Its vector, where there is one.
    pub vector: Option<&'a Vector>,
    /// A procedure is of use only where all its tools are in play.
    pub in_play: &'a InPlay<'a>,
}

/// A procedure that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The procedure.
    pub procedure: Arc<Procedure>,
    /// How well it fits, more is better: the share of the best words that were found, 0 to 1, and closeness in meaning, -1 to 1.
    pub score: f32,
}

impl Library {
    /// A library of these procedures, retired ones among them: they are found no more, but [`Self::of_scope`] tells them.
    pub fn of(procedures: impl IntoIterator<Item = Shelved>, settings: Settings) -> Self {
        Self { shelves: HashMap::new(), settings }.with(procedures.into_iter().map(Change::Shelved))
    }

    /// The library after these changes, in their order. It finds what a library made anew would find.
    #[must_use]
    pub fn with(&self, changes: impl IntoIterator<Item = Change>) -> Self {
        let mut changed: HashMap<Scope, HashMap<String, Option<Shelved>>> = HashMap::new();
        for change in changes {
            match change {
                Change::Shelved(shelved) => {
                    let (scope, id) = (shelved.procedure.scope.clone(), shelved.procedure.id.clone());
                    changed.entry(scope).or_default().insert(id, Some(shelved));
                }
                Change::Forgotten(id) => {
                    let holders = self.shelves.iter().filter(|(_, shelf)| shelf.get(&id).is_some());
                    for scope in holders.map(|(scope, _)| scope.clone()).collect::<Vec<_>>() {
                        changed.entry(scope).or_default().insert(id.clone(), None);
                    }
                    // It may have come with an earlier one of these changes.
                    changed.values_mut().filter_map(|of_scope| of_scope.get_mut(&id)).for_each(|known| *known = None);
                }
            }
        }
        let mut shelves = self.shelves.clone();
        for (scope, changed) in changed {
            let shelf = shelves.get(&scope).map_or_else(Default::default, Arc::clone).with(changed);
            if shelf.len() == 0 {
                shelves.remove(&scope);
            } else {
                shelves.insert(scope, Arc::new(shelf));
            }
        }
        Self { shelves, settings: self.settings.clone() }
    }

    /// The procedures that fit best, at most `k`, best first. None of them is retired or of another scope, and all their tools are in play.
    /// Without a vector each shares at least one word with the text that is more than grammar. Equal libraries and queries give equal
    /// answers.
    pub fn recall(&self, query: &Query<'_>, k: usize) -> Vec<Found> {
        self.shelves.get(query.scope).map(|shelf| shelf.search(query, k)).unwrap_or_default()
    }

    /// The procedures of a scope that are in use and whose tools are all in play, in the order in which they were learned.
    pub fn in_play<'a>(&'a self, scope: &Scope, in_play: &'a InPlay<'a>) -> impl Iterator<Item = &'a Shelved> {
        let shelved = self.shelves.get(scope).into_iter().flat_map(|shelf| shelf.live());
        shelved.filter(move |shelved| shelf::is_in_play(&shelved.procedure, in_play))
    }

    /// A procedure, by its scope and id.
    pub fn get(&self, scope: &Scope, id: &str) -> Option<&Arc<Procedure>> {
        self.shelves.get(scope)?.get(id)
    }

    /// All procedures of a scope, in the order in which they were learned.
    pub fn of_scope(&self, scope: &Scope) -> impl Iterator<Item = &Arc<Procedure>> {
        self.shelves.get(scope).into_iter().flat_map(|shelf| shelf.all())
    }

    /// Has this scope any procedure that is in use?
    pub fn knows(&self, scope: &Scope) -> bool {
        self.shelves.get(scope).is_some_and(|shelf| shelf.live().next().is_some())
    }

    /// The scopes that have procedures, in no order.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.shelves.keys()
    }

    /// How many procedures there are, retired ones included.
    pub fn len(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.len()).sum()
    }

    /// How many of them are retired.
    pub fn retired(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.len() - shelf.live().count()).sum()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.shelves.is_empty()
    }

    /// How procedures are found and used.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
