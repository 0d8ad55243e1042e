//! The table of notations with markers: the built-in entries, and those of an operator's file.
//!
//! A table is immutable; a change of the file creates a new one. The automaton over all markers is built once for each
//! table.

mod entry;
mod file;
pub(super) mod residue_marks;
pub(super) mod streamed;
#[cfg(test)]
mod tests;
mod tokens;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

pub(super) use entry::{NotationEntry, TagRole};
use file::NotationTable;
pub use file::Settings;
use residue_marks::ResidueMarks;
use streamed::HoldMarks;

use super::call_names::offered;
use super::markers::{CHANNELS, INVENTED_RESULTS, MESSAGES, REASONING};
use super::tag::{self, TagKind};
use crate::scanner::ToolSet;
use callwright_common::watch::FileError;

/// The notations that rescue parses, one entry for each.
#[derive(Debug)]
pub struct Notations {
    entries: Vec<NotationEntry>,
    automaton: Option<AhoCorasick>,
    /// Meaning of each pattern of the automaton.
    marks: Vec<NotationMark>,
    hold: HoldMarks,
    residue: ResidueMarks,
}

/// Meaning of a marker in a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum NotationMark {
    /// The notation at this index of the table begins.
    Notation(usize),
    /// A tag begins, which may belong to a notation.
    Tag,
    /// Reasoning begins, and ends at this marker.
    Reasoning(&'static str),
    /// Reasoning ends.
    ReasoningEnd,
    /// The model invents the result of a call, up to this marker.
    Invented(&'static str),
}

static BUILT_IN: LazyLock<Arc<Notations>> = LazyLock::new(|| Arc::new(Notations::new(file::built_in())));

impl PartialEq for Notations {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries && self.residue == other.residue
    }
}

impl Eq for Notations {}

impl Notations {
    /// Returns the built-in table.
    pub fn built_in() -> &'static Arc<Self> {
        &BUILT_IN
    }

    /// Loads the built-in table with the entries of the operator's file from the settings, or the built-in table alone
    /// if there is no file.
    ///
    /// # Errors
    /// Returns [`FileError`] with the file, the line, the key and the fix.
    pub fn load(settings: &Settings, base_dir: &Path) -> Result<Arc<Self>, FileError> {
        match settings.file(base_dir) {
            Some(path) => Self::from_file(&path),
            None => Ok(BUILT_IN.clone()),
        }
    }

    /// Loads the built-in table with the entries of an operator's file.
    ///
    /// # Errors
    /// Returns the errors of [`Notations::load`].
    pub fn from_file(path: &Path) -> Result<Arc<Self>, FileError> {
        let text = file::read(path)?;
        Self::parse(&text).map_err(|problem| problem.in_file(path))
    }

    /// Parses the text of an operator's file, and merges its entries with the built-in table.
    pub(super) fn parse(text: &str) -> Result<Arc<Self>, file::NotationProblem> {
        Ok(Arc::new(Self::new(file::merged(text)?)))
    }

    fn new(table: NotationTable) -> Self {
        let NotationTable { entries, tokens } = table;
        let mut texts: Vec<&str> = Vec::new();
        let mut marks = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            for mark in entry.openers() {
                texts.push(mark);
                marks.push(NotationMark::Notation(index));
            }
        }
        for [open, close] in REASONING {
            texts.extend([open, close]);
            marks.extend([NotationMark::Reasoning(close), NotationMark::ReasoningEnd]);
        }
        for [open, close] in CHANNELS.into_iter().chain(MESSAGES) {
            texts.push(open);
            marks.push(NotationMark::Reasoning(close));
        }
        for [open, close] in INVENTED_RESULTS {
            texts.push(open);
            marks.push(NotationMark::Invented(close));
        }
        if entries.iter().any(|entry| entry.tag.is_some()) {
            texts.push("<");
            marks.push(NotationMark::Tag);
        }
        // Forces a DFA, because the builder selects a slower automaton for this many patterns.
        let automaton =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::DFA)).build(texts);
        let hold = HoldMarks::new(&entries);
        let residue = ResidueMarks::new(&entries, &tokens);
        Self { automaton: automaton.ok(), marks, hold, residue, entries }
    }

    /// Returns all entries in the order of the table.
    #[cfg(test)]
    pub(super) fn entries(&self) -> &[NotationEntry] {
        &self.entries
    }

    /// Returns the entry at an index of the table.
    pub(super) fn entry(&self, index: usize) -> Option<&NotationEntry> {
        self.entries.get(index)
    }

    /// Returns the markers of a text in order, without overlaps.
    pub(super) fn marks<'t>(
        &'t self,
        text: &'t str,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, NotationMark)> + 't {
        self.automaton
            .iter()
            .flat_map(move |automaton| automaton.find_iter(text))
            .filter_map(|found| Some((found.start()..found.end(), *self.marks.get(found.pattern().as_usize())?)))
    }

    /// Returns the entry that the start tag at the beginning of `text` belongs to.
    pub(super) fn entry_of_tag(&self, text: &str, tool_set: &ToolSet) -> Option<&NotationEntry> {
        let tag = tag::start(text)?;
        // Only names with a character that HTML element names lack are matched by spelling variants, because HTML
        // elements are frequent.
        let role = TagRole::of(tag.name, tag.kind, |name| match name.contains(['_', '-', '.']) {
            true => offered(name, tool_set).is_some(),
            false => tool_set.get(name).is_some(),
        })?;
        let has_value = tag.value.is_some() || !matches!(role, TagRole::Function | TagRole::Parameter);
        self.entries.iter().find(|entry| entry.tag == Some(role)).filter(|_| has_value)
    }

    /// Returns the entry that begins with a start tag of this role, for a streamed text.
    pub(super) fn role(
        &self,
        name: &str,
        kind: Option<TagKind>,
        is_tool: impl Fn(&str) -> bool,
    ) -> Option<&NotationEntry> {
        let role = TagRole::of(name, kind, is_tool)?;
        self.entries.iter().find(|entry| entry.tag == Some(role))
    }

    /// Returns what may be left of a call in the text beside it.
    pub(super) fn residue(&self) -> &ResidueMarks {
        &self.residue
    }

    /// Returns the markers for streamed texts.
    pub(super) fn hold(&self) -> &HoldMarks {
        &self.hold
    }
}
