//! Notations with markers: the table (`table.rs`), and what is derived from it for whole texts, streamed texts and text
//! beside native calls.

mod form;
pub(super) mod residue_marks;
mod table;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use form::Form;
pub(super) use table::NOTATIONS;

use super::call_names::offered;
use super::element;
use super::literal::LiteralReader;
use super::markers::{CHANNELS, INVENTED_RESULTS, MESSAGES, REASONING};
use super::tag::{self, TagKind};
use super::written::WrittenCall;
use callwright_scanner::ToolSet;

/// One notation of the table.
#[derive(Debug)]
pub(super) struct Notation {
    /// Name in traces, metrics and the documentation.
    pub(super) name: &'static str,
    /// Texts that begin a call.
    open: &'static [&'static str],
    /// Texts that end a call or one of its parts. A reader is aware of its own; then they are only what may be left of a
    /// call beside native ones.
    close: &'static [&'static str],
    /// Role of the start tag that begins the notation, in addition to its openers.
    tag: Option<TagKind>,
    pub(super) strength: MarkerStrength,
    /// Whether an opener counts only at the start of a line.
    pub(super) begins_line: bool,
    form: Form,
}

/// Strength of the evidence that an opener of a notation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkerStrength {
    /// It is reserved for calls. Without a readable call it is a fault (E1) and not text.
    Reserved,
    /// It is text unless a call follows it.
    Common,
    /// It is ignored unless a call follows it, so that another notation may begin within it.
    Tentative,
}

/// Meaning of a marker in a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum NotationMark {
    /// A notation begins.
    Notation(&'static Notation),
    /// A tag begins, which may belong to a notation.
    Tag,
    /// Reasoning begins, and ends at this marker.
    Reasoning(&'static str),
    /// Reasoning ends.
    ReasoningEnd,
    /// The model invents the result of a call, up to this marker.
    Invented(&'static str),
}

impl Notation {
    pub(super) fn is_reserved(&self) -> bool {
        self.strength == MarkerStrength::Reserved
    }

    /// Whether the openers are the beginning of JSON.
    pub(super) fn is_json(&self) -> bool {
        self.strength == MarkerStrength::Tentative && self.openers().any(|open| open.ends_with(':'))
    }

    /// Returns the texts that begin the notation.
    pub(super) fn openers(&self) -> impl Iterator<Item = &'static str> {
        self.form.section().iter().chain(self.open).copied()
    }

    /// Parses the calls at the reader's position, which is at an opener. On success, the reader is positioned after the
    /// last closing marker.
    pub(super) fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>> {
        match &self.form {
            Form::AtMark(read) => read(reader, tool_set),
            Form::BehindMark(read) => {
                form::take_one(reader, self.open)?;
                read(reader, tool_set)
            }
            Form::Element(read) => {
                let call = read(reader, tool_set)?;
                element::closed(reader, vec![call])
            }
            Form::Calls { before, is_paired } => form::calls(self, before, *is_paired, reader, tool_set),
            Form::Call(markers) => markers.read(self, reader, tool_set),
        }
    }
}

/// Returns the markers that begin a call, and those of reasoning.
pub(super) fn own_marks() -> Vec<(&'static str, NotationMark)> {
    let calls = NOTATIONS.iter().flat_map(|notation| notation.openers().map(move |open| (open, notation)));
    let mut all: Vec<_> = calls.map(|(open, notation)| (open, NotationMark::Notation(notation))).collect();
    for [open, close] in REASONING {
        all.extend([(open, NotationMark::Reasoning(close)), (close, NotationMark::ReasoningEnd)]);
    }
    all
}

/// Finds all markers in one pass: an automaton, with the meaning of each of its patterns.
static FINDER: LazyLock<(Option<AhoCorasick>, Vec<NotationMark>)> = LazyLock::new(|| {
    let mut all = own_marks();
    all.push(("<", NotationMark::Tag));
    all.extend(CHANNELS.into_iter().chain(MESSAGES).map(|[open, close]| (open, NotationMark::Reasoning(close))));
    all.extend(INVENTED_RESULTS.map(|[open, close]| (open, NotationMark::Invented(close))));
    let (texts, marks): (Vec<&str>, _) = all.into_iter().unzip();
    // Forces a DFA, because the builder selects a slower automaton for this many patterns.
    let automaton =
        AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::DFA)).build(texts);
    (automaton.ok(), marks)
});

/// Returns the markers of a text in order, without overlaps.
pub(super) fn marks(text: &str) -> impl Iterator<Item = (Range<usize>, NotationMark)> {
    let (automaton, marks) = &*FINDER;
    automaton
        .iter()
        .flat_map(move |automaton| automaton.find_iter(text))
        .filter_map(move |found| Some((found.range(), *marks.get(found.pattern().as_usize())?)))
}

/// Returns the notation that the start tag at the beginning of `text` belongs to.
pub(super) fn of_tag(text: &str, tool_set: &ToolSet) -> Option<&'static Notation> {
    let tag = tag::start(text)?;
    // Only names with a character that HTML element names lack are matched by spelling variants, because HTML elements
    // are frequent.
    let notation = of_name(tag.name, tag.kind, |name| match name.contains(['_', '-', '.']) {
        true => offered(name, tool_set).is_some(),
        false => tool_set.get(name).is_some(),
    })?;
    let requires_value = matches!(notation.tag, Some(TagKind::Function | TagKind::Parameter));
    (tag.value.is_some() || !requires_value).then_some(notation)
}

/// Returns the notation that begins with a start tag of this name and kind.
pub(super) fn of_name(name: &str, kind: Option<TagKind>, is_tool: impl Fn(&str) -> bool) -> Option<&'static Notation> {
    // Other names of arguments are common words.
    let kind = kind.filter(|kind| *kind != TagKind::Parameter || matches!(name, "parameter" | "param"));
    let kind = kind.or_else(|| is_tool(name).then_some(TagKind::Tool))?;
    NOTATIONS.iter().find(|notation| notation.tag == Some(kind))
}
