//! What a schema lost on its way into a dialect.

use std::fmt;

use super::trail::Trail;
use callwright_common::json::Pointer;

/// Where the definitions of a schema stand.
const DEFINITIONS: &str = "/$defs/";

/// One loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The place in the tool's own schema.
    pub at: Pointer,
    /// What became of it.
    pub what: String,
}

impl Loss {
    pub(super) fn new(at: &Trail<'_>, what: impl Into<String>) -> Self {
        Self { at: at.pointer(), what: what.into() }
    }

    /// Does it concern a definition, which other tools of the document may have too?
    pub(super) fn is_shared(&self) -> bool {
        self.at.as_str().starts_with(DEFINITIONS)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "arguments#{}: {}", self.at, self.what)
    }
}

/// Gathers losses, each once.
#[derive(Debug, Default)]
pub(super) struct Losses(Vec<Loss>);

impl Losses {
    pub(super) fn add(&mut self, at: &Trail<'_>, what: impl Into<String>) {
        let loss = Loss::new(at, what);
        if !self.0.contains(&loss) {
            self.0.push(loss);
        }
    }

    pub(super) fn finish(self) -> Vec<Loss> {
        self.0
    }
}
