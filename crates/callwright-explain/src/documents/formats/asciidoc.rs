//! AsciiDoc → blocks: sections, lists, description lists and tables. Code samples, comments, attributes and anchors are
//! omitted.

use super::asciidoc_table::{AsciidocTable, TableOptions};
use super::writer::BlockWriter;
use crate::documents::blocks::{DEEPEST_HEADING, DocumentBlock};
use callwright_common::limits::MARKUP_BYTES;
use callwright_common::text::beginning_bytes;

pub(crate) fn asciidoc(text: &str) -> Vec<DocumentBlock> {
    let mut reader = AsciidocReader::default();
    let mut lines = text.lines().map(str::trim_end);
    while let Some(line) = lines.next() {
        if is_code_fence(line) {
            lines.by_ref().find(|end| *end == line);
            reader.blank();
        } else if let Some(table) = AsciidocTable::begins(line, &reader.options) {
            reader.table(table, &mut lines, line);
        } else {
            reader.line(line);
        }
    }
    reader.end_lists();
    reader.writer.finish()
}

/// Whether a line delimits code, literal text, a comment or raw content.
fn is_code_fence(line: &str) -> bool {
    is_delimiter(line, ['-', '.', '/', '+']) || line.starts_with("```")
}

/// Whether a line consists of at least four equal marks, which delimit a block.
fn is_delimiter<const N: usize>(line: &str, marks: [char; N]) -> bool {
    line.len() >= 4 && marks.iter().any(|first| line.chars().all(|mark| mark == *first))
}

#[derive(Default)]
struct AsciidocReader {
    writer: BlockWriter,
    /// Options of the next table.
    options: TableOptions,
    /// Markers of the open lists, outermost first.
    lists: Vec<String>,
    /// Whether a blank line or block ended the last paragraph.
    is_apart: bool,
    /// Whether the next paragraph belongs to the last item (`+`).
    is_continued: bool,
    /// Whether the next paragraph is code.
    is_code: bool,
}

impl AsciidocReader {
    fn line(&mut self, line: &str) {
        if line.is_empty() {
            return self.blank();
        }
        if line == "+" {
            self.is_continued = true;
            return self.writer.end_paragraph();
        }
        if self.is_code {
            return;
        }
        if is_structure(line) {
            return self.blank();
        }
        if let Some(attributes) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            return self.attributes(attributes);
        }
        if let Some((level, title)) = heading(line) {
            return self.heading(level, title);
        }
        if let Some(title) = line.strip_prefix('.').filter(|title| title.starts_with(char::is_alphanumeric)) {
            self.end_lists();
            self.writer.strong(true);
            self.writer.text(&inline(title));
            self.writer.strong(false);
            return self.writer.end_paragraph();
        }
        let text = line.trim_start();
        if let Some((term, mark, rest)) = term(text) {
            self.item(mark, term);
            self.writer.end_paragraph();
            return self.text(rest);
        }
        if let Some((mark, rest)) = bullet(text) {
            self.item(mark, rest);
            return;
        }
        if self.is_apart && !self.is_continued && !line.starts_with(' ') {
            self.end_lists();
        }
        self.text(text);
    }

    fn text(&mut self, text: &str) {
        self.is_apart = false;
        self.is_continued = false;
        if !text.is_empty() {
            let text = text.strip_suffix(" +").unwrap_or(text);
            self.writer.text(&inline(text));
            self.writer.text("\n");
        }
    }

    fn blank(&mut self) {
        self.writer.end_paragraph();
        self.is_apart = true;
        self.is_code = false;
    }

    fn attributes(&mut self, attributes: &str) {
        self.blank();
        let name = attributes.split([',', '%', '#', '.']).next().unwrap_or_default().trim();
        self.is_code = matches!(name, "source" | "listing" | "literal" | "stem" | "plantuml");
        self.options = TableOptions::parse(attributes);
    }

    fn heading(&mut self, level: usize, title: &str) {
        self.end_lists();
        self.writer.begin_heading(level.min(DEEPEST_HEADING));
        self.writer.text(&inline(title));
        self.blank();
    }

    fn item(&mut self, mark: &str, text: &str) {
        match self.lists.iter().position(|open| open == mark) {
            Some(at) => {
                for _ in self.lists.drain(at + 1..) {
                    self.writer.end_list();
                }
            }
            None => {
                self.lists.push(mark.to_owned());
                self.writer.begin_list();
            }
        }
        self.writer.begin_item();
        self.text(text);
    }

    fn end_lists(&mut self) {
        self.writer.end_paragraph();
        for _ in self.lists.drain(..) {
            self.writer.end_list();
        }
    }

    fn table<'a>(&mut self, mut table: AsciidocTable, lines: &mut impl Iterator<Item = &'a str>, delimiter: &str) {
        for line in lines.by_ref() {
            if line == delimiter {
                break;
            }
            table.line(line);
        }
        if !self.is_continued {
            self.end_lists();
        }
        table.write(&mut self.writer, inline);
        self.options = TableOptions::default();
        self.blank();
    }
}

/// Whether a line has no text: a comment, an attribute, an anchor, a delimiter of a transparent block, a macro.
fn is_structure(line: &str) -> bool {
    let attribute = line.strip_prefix(':').and_then(|rest| rest.split_once(':'));
    let is_attribute = attribute.is_some_and(|(name, _)| !name.is_empty() && !name.contains(' '));
    let conditional = ["ifdef::", "ifndef::", "ifeval::", "endif::", "include::", "image::", "toc::"];
    line == "--"
        || line == "'''"
        || line == "<<<"
        || line.starts_with("//")
        || line.starts_with("[[") && line.ends_with("]]")
        || is_delimiter(line, ['=', '*', '_'])
        || is_attribute
        || conditional.iter().any(|name| line.starts_with(name))
}

/// Parses a section title: `== Title`, or `## Title`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches(['=', '#']);
    let level = line.len() - title.len();
    (level > 0 && level <= DEEPEST_HEADING + 1 && title.starts_with(' ')).then(|| (level, title.trim()))
}

/// Parses the term of a description list: `term:: text`.
fn term(line: &str) -> Option<(&str, &'static str, &str)> {
    for mark in ["::::", ":::", "::", ";;"] {
        if let Some((term, rest)) = line.split_once(mark) {
            let ends = rest.is_empty() || rest.starts_with(' ');
            return (ends && !term.is_empty() && !term.ends_with(':')).then(|| (term, mark, rest.trim()));
        }
    }
    None
}

/// Parses a list marker: `*`, `**`, `-`, `.`, `..`, `1.`, `<1>`.
fn bullet(line: &str) -> Option<(&str, &str)> {
    let (mark, rest) = line.split_once(' ')?;
    let digits = mark
        .strip_suffix('.')
        .is_some_and(|number| (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit()));
    let is_repeated =
        mark.len() <= 5 && (mark.bytes().all(|byte| byte == b'*') || mark.bytes().all(|byte| byte == b'.'));
    let is_marker = is_repeated || mark == "-" || mark == "•";
    let mark = if digits { "1." } else { mark };
    (is_marker || digits).then(|| (mark, rest.trim()))
}

/// Removes inline markup; code is marked by backquotes.
fn inline(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['[', '<', '`', '*']) {
        let (before, from) = rest.split_at(at);
        let taken = match markup(before, beginning_bytes(from, MARKUP_BYTES)) {
            Some((kept, text, taken)) => {
                plain.push_str(kept);
                plain.push_str(&text);
                taken
            }
            None => {
                plain.push_str(&rest[..=at]);
                1
            }
        };
        rest = &from[taken..];
    }
    plain.push_str(rest);
    plain
}

/// Parses the markup at the start of `from`. Returns the text before it that remains, the text of the markup, and the
/// length of the markup.
fn markup<'a>(before: &'a str, from: &str) -> Option<(&'a str, String, usize)> {
    // A macro or link: `xref:page.adoc[text]`, `https://a.example[text]`.
    if from.starts_with('[') {
        let start = before.trim_end_matches(|character: char| !character.is_whitespace()).len();
        let start = before[start..].find(['`', '(', '"']).map_or(start, |quote| start + quote + 1);
        let (kept, target) = before.split_at(start);
        let end = from.find(']').filter(|_| target.contains(':'))?;
        return Some((kept, link_text(&from[1..end], target), end + 1));
    }
    // A cross reference: `<<id,text>>`; placeholders such as `<<name>>` remain.
    if from.starts_with('<') {
        let (inner, _) = from.strip_prefix("<<")?.split_once(">>")?;
        let (_, text) = inner.split_once(',')?;
        return Some((before, text.trim().to_owned(), inner.len() + 4));
    }
    let mark = from.chars().next()?;
    let (inner, _) = from[1..].split_once(mark).filter(|(inner, _)| !inner.is_empty())?;
    if mark == '`' {
        return Some((before, format!("`{}`", inner.trim_matches('+')), inner.len() + 2));
    }
    // Strong text; a lone asterisk remains.
    let is_strong = !inner.starts_with(' ') && !inner.ends_with(' ');
    is_strong.then(|| (before, inner.replace('`', ""), inner.len() + 2))
}

fn link_text(text: &str, target: &str) -> String {
    let text = text.split(",window=").next().unwrap_or(text).trim_end_matches('^').trim_matches('"');
    if text.is_empty() { target.rsplit(':').next().unwrap_or_default().to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_markup_is_removed() {
        let text = "See xref:a/b.adoc[08N02], <<id,the list>>, `+E_1+`, *now* and https://a.example[the page^].";
        assert_eq!(inline(text), "See 08N02, the list, `E_1`, now and the page.");
        assert_eq!(inline("keeps `{ <<db>> }` and a[0] * 2"), "keeps `{ <<db>> }` and a[0] * 2");
    }
}
