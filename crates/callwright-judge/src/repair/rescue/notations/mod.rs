//! The table of notations with marks: the built-in one, and an operator's file that adds to it.
//!
//! A table is immutable; a change of the file makes another one. The automaton over all marks is built once for a table.

mod entry;
mod file;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

pub(super) use entry::{Entry, TagRole};
pub use file::Settings;

use super::hold::Marks;
use super::invented;
use super::layout::{CHANNELS, MESSAGES, REASONING};
use super::tag::{self, Kind};
use super::written::offered;
use crate::scanner::Toolbook;
use callwright_common::watch::FileError;

/// The notations that rescue reads: one entry for each.
#[derive(Debug)]
pub struct Notations {
    entries: Vec<Entry>,
    automaton: Option<AhoCorasick>,
    /// The meaning of each pattern of the automaton.
    marks: Vec<Mark>,
    hold: Marks,
}

/// The meaning of a mark in a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mark {
    /// The notation at this place of the table begins.
    Notation(usize),
    /// A tag begins, which may be one of a notation.
    Tag,
    /// Reasoning begins, up to this mark.
    Reasoning(&'static str),
    /// Reasoning ends.
    ReasoningEnd,
    /// The model writes the result of a call itself, up to this mark.
    Invented(&'static str),
}

static BUILT_IN: LazyLock<Arc<Notations>> = LazyLock::new(|| Arc::new(Notations::new(file::built_in())));

impl PartialEq for Notations {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl Eq for Notations {}

impl Notations {
    /// The built-in table.
    pub fn built_in() -> &'static Arc<Self> {
        &BUILT_IN
    }

    /// The built-in table with the entries of the operator's file that the settings name; the built-in one where they name none.
    ///
    /// # Errors
    /// [`FileError`], which names the file, the line, the key and the fix.
    pub fn load(settings: &Settings, base_dir: &Path) -> Result<Arc<Self>, FileError> {
        match settings.file(base_dir) {
            Some(path) => Self::from_file(&path),
            None => Ok(BUILT_IN.clone()),
        }
    }

    /// The built-in table with the entries of an operator's file.
    ///
    /// # Errors
    /// As [`Notations::load`].
    pub fn from_file(path: &Path) -> Result<Arc<Self>, FileError> {
        let text = file::read(path)?;
        Self::parse(&text).map_err(|problem| problem.in_file(path))
    }

    /// The built-in table with the entries of an operator's file, of which this is the text.
    pub(super) fn parse(text: &str) -> Result<Arc<Self>, file::Problem> {
        Ok(Arc::new(Self::new(file::merged(text)?)))
    }

    fn new(entries: Vec<Entry>) -> Self {
        let mut texts: Vec<&str> = Vec::new();
        let mut marks = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            for mark in entry.openers() {
                texts.push(mark);
                marks.push(Mark::Notation(index));
            }
        }
        for [open, close] in REASONING {
            texts.extend([open, close]);
            marks.extend([Mark::Reasoning(close), Mark::ReasoningEnd]);
        }
        for [open, close] in CHANNELS.into_iter().chain(MESSAGES) {
            texts.push(open);
            marks.push(Mark::Reasoning(close));
        }
        for [open, close] in invented::PAIRS {
            texts.push(open);
            marks.push(Mark::Invented(close));
        }
        if entries.iter().any(|entry| entry.tag.is_some()) {
            texts.push("<");
            marks.push(Mark::Tag);
        }
        // As many patterns as these would make it choose the slower kind.
        let automaton =
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::DFA)).build(texts);
        let hold = Marks::new(&entries);
        Self { automaton: automaton.ok(), marks, hold, entries }
    }

    /// Every entry, in the order of the table.
    #[cfg(test)]
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry at a place of the table.
    pub(super) fn entry(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    /// The marks of a text in order, of which none overlaps another.
    pub(super) fn marks<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (std::ops::Range<usize>, Mark)> + 't {
        self.automaton
            .iter()
            .flat_map(move |automaton| automaton.find_iter(text))
            .filter_map(|found| Some((found.start()..found.end(), *self.marks.get(found.pattern().as_usize())?)))
    }

    /// The entry that the start tag at the beginning of `text` belongs to.
    pub(super) fn entry_of_tag(&self, text: &str, toolbook: &Toolbook) -> Option<&Entry> {
        let tag = tag::start(text)?;
        // Other writings of a name are looked up where it has signs that HTML's elements have not: those are frequent.
        let is_tool = |name: &str| {
            let is_plain = !name.contains(['_', '-', '.']);
            if is_plain { toolbook.get(name).is_some() } else { offered(name, toolbook).is_some() }
        };
        let role = TagRole::of(tag.name, tag.kind, is_tool)?;
        let has_value = tag.value.is_some() || !matches!(role, TagRole::Function | TagRole::Parameter);
        self.entries.iter().find(|entry| entry.tag == Some(role)).filter(|_| has_value)
    }

    /// The roles of start tags that begin a notation, for a stream.
    pub(super) fn role(&self, name: &str, kind: Option<Kind>, is_tool: impl Fn(&str) -> bool) -> Option<&Entry> {
        let role = TagRole::of(name, kind, is_tool)?;
        self.entries.iter().find(|entry| entry.tag == Some(role))
    }

    /// The marks while they are still coming.
    pub(super) fn hold(&self) -> &Marks {
        &self.hold
    }
}

/// Names of notations that entries of files have had in this process. Traces, metrics and diagnoses keep names for as long as the
/// process lives, so each is stored once.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Names that files may bring in over the life of a process.
const MAX_NAMES: usize = 1024;

/// The name for the rest of the process; `None` where there are too many of them.
fn interned(name: &str) -> Option<&'static str> {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return Some(known);
    }
    if names.len() >= MAX_NAMES {
        return None;
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    Some(kept)
}
