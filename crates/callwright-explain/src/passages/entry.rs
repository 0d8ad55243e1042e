//! Catalogue entry → passage that explains a code and its remedy.

use super::sentences::sentences;
use super::{Piece, cut, exceeds};
use crate::documents::blocks::{BlockKind, DocumentBlock};
use crate::documents::heads::PassageHead;
use crate::documents::labels::{LabelRole, MAX_LABEL_WORDS, is_label, role};
use crate::documents::records::{is_address, joined, line};
use crate::index::codes::{mentioned, normal_form};
use callwright_common::text::letters;

/// When an entry is split, the head takes at most 1/`HEAD_SHARE` of each passage.
const HEAD_SHARE: usize = 4;

/// Returns the passages of the entry with the head `block` and the blocks `below` it: one passage if it fits `limit`
/// characters, otherwise several that each start with the head.
pub(crate) fn entry<'a>(
    block: &DocumentBlock,
    head: &PassageHead,
    below: impl Iterator<Item = &'a DocumentBlock>,
    limit: usize,
) -> Vec<Piece> {
    let mut lines = first_lines(block, head);
    // Every block is compared with the title, so limit the title to the length that a passage can contain.
    let title = lines.first().map(|line| cut(line, limit.max(1)).0).unwrap_or_default();
    let (title, lower) = (title.to_owned(), title.to_lowercase());
    let mut body = EntryBody {
        title: &title,
        lower: &lower,
        codes: &head.codes,
        groups: vec![LabelledTexts::default()],
        skipping: None,
    };
    below.for_each(|block| body.read(block));
    lines.extend(body.lines());
    fit(&lines, limit.max(1)).into_iter().map(|text| piece(text, head)).collect()
}

fn piece(text: String, head: &PassageHead) -> Piece {
    let mentions = mentioned(&text);
    Piece { text, defines: head.codes.clone(), mentions }
}

/// Returns the text of the head, starting with the code.
fn first_lines(block: &DocumentBlock, head: &PassageHead) -> Vec<String> {
    match &block.kind {
        BlockKind::Row(record) => record.lines(),
        BlockKind::Heading(text) | BlockKind::Item(text) | BlockKind::Prose(text) | BlockKind::Code(text) => {
            let lower = text.to_lowercase();
            match head.codes.first().filter(|code| !lower.contains(code.as_str())) {
                Some(code) => vec![format!("{code}: {text}")],
                None => vec![text.clone()],
            }
        }
    }
}

/// Text under one label.
#[derive(Debug, Default)]
struct LabelledTexts {
    label: String,
    parts: Vec<String>,
}

impl LabelledTexts {
    /// Formats the parts after their label. Without parts, returns the label unless it is a usual label of entries.
    fn line(self) -> Option<String> {
        let label = self.label.trim_end_matches(':');
        let text = joined(&self.parts);
        match (label.is_empty(), text.is_empty()) {
            (_, true) => (!label.is_empty() && !is_label(label)).then(|| label.to_owned()),
            (true, false) => Some(text),
            (false, false) => Some(format!("{label}: {text}")),
        }
    }
}

struct EntryBody<'a> {
    title: &'a str,
    /// Title in lower case.
    lower: &'a str,
    codes: &'a [String],
    groups: Vec<LabelledTexts>,
    /// Depth of the heading whose content is being skipped.
    skipping: Option<usize>,
}

impl EntryBody<'_> {
    fn read(&mut self, block: &DocumentBlock) {
        if self.skipping.is_some_and(|depth| block.depth > depth) {
            return;
        }
        self.skipping = None;
        match &block.kind {
            BlockKind::Heading(title) if role(title) == LabelRole::Useless => self.skipping = Some(block.depth),
            BlockKind::Heading(title) => self.begin(title),
            BlockKind::Item(text) | BlockKind::Prose(text) => self.text(text),
            BlockKind::Row(record) => self.part(record.lines().join(" ")),
            BlockKind::Code(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(label) = text.strip_suffix(':').filter(|label| label.split(' ').count() <= MAX_LABEL_WORDS) {
            return self.begin(label);
        }
        match text.split_once(':').filter(|(label, value)| is_label_of(label, value)) {
            Some((_, value)) if self.repeats_head(value.trim()) => {}
            Some((label, value)) => line(label.trim(), value.trim()).into_iter().for_each(|line| self.part(line)),
            None => self.part(text.to_owned()),
        }
    }

    fn begin(&mut self, label: &str) {
        let label = if role(label) == LabelRole::Description { String::new() } else { label.to_owned() };
        self.groups.push(LabelledTexts { label, parts: Vec::new() });
    }

    fn part(&mut self, text: String) {
        let is_redundant = text.is_empty() || is_address(&text) || same(&text, self.title);
        if let Some(group) = self.groups.last_mut().filter(|_| !is_redundant) {
            group.parts.push(text);
        }
    }

    /// Whether a labelled value only repeats the head.
    fn repeats_head(&self, value: &str) -> bool {
        normal_form(value).is_some_and(|value| self.codes.contains(&value))
            || !value.is_empty() && self.lower.contains(&value.to_lowercase())
    }

    fn lines(self) -> impl Iterator<Item = String> {
        self.groups.into_iter().filter_map(LabelledTexts::line)
    }
}

/// Whether `label` is a usual label of entries, followed by its value in the same line.
fn is_label_of(label: &str, value: &str) -> bool {
    value.starts_with(' ') && (is_label(label) || matches!(role(label), LabelRole::Code(_)))
}

/// Whether two texts are equal except for case and punctuation.
fn same(left: &str, right: &str) -> bool {
    left.len() <= right.len() * 2 && right.len() <= left.len() * 2 && letters(left) == letters(right)
}

/// Joins the lines to one text, or to several of at most `limit` characters that each start with the first line.
fn fit(lines: &[String], limit: usize) -> Vec<String> {
    let whole = lines.join("\n");
    if !exceeds(&whole, limit) {
        return if whole.is_empty() { Vec::new() } else { vec![whole] };
    }
    let Some((first, rest)) = lines.split_first() else { return Vec::new() };
    let share = (limit / HEAD_SHARE).max(1);
    let (title, overflow) = if exceeds(first, share) { head_of(first, share) } else { (first.as_str(), "") };
    let room = limit.saturating_sub(title.chars().count() + 1).max(1);
    let body = std::iter::once(overflow).chain(rest.iter().map(String::as_str));
    let texts = pack(body, room).into_iter();
    texts.map(|text| format!("{title}\n{text}").chars().take(limit).collect()).collect()
}

/// Splits a text after its first sentence, or at the limit if that sentence is too long.
fn head_of(text: &str, limit: usize) -> (&str, &str) {
    let first = sentences(text).first().copied().unwrap_or_default();
    if first.is_empty() || exceeds(first, limit) {
        return cut(text, limit);
    }
    match text.split_once(first) {
        Some((_, rest)) => (first, rest.trim_start()),
        None => cut(text, limit),
    }
}

/// Packs lines and their sentences into texts of at most `room` characters.
fn pack<'a>(lines: impl Iterator<Item = &'a str>, room: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for line in lines {
        for (at, mut rest) in sentences(line).into_iter().enumerate() {
            while !rest.is_empty() {
                let (taken, left) = if exceeds(rest, room) { cut(rest, room) } else { (rest, "") };
                let length = taken.chars().count() + 1;
                match texts.last_mut().filter(|open| open.chars().count() + length <= room) {
                    Some(open) => open.extend([if at == 0 { "\n" } else { " " }, taken]),
                    None => texts.push(taken.to_owned()),
                }
                rest = left;
            }
        }
    }
    texts
}
