//! Plain text → blocks: paragraphs, list items, lines that define codes, and tab-separated columns.

use crate::documents::blocks::{BOLD_LINE, BlockKind, DocumentBlock, FLOW};
use crate::documents::heads;
use crate::documents::labels::is_label;
use crate::documents::records::LabelledRecord;
use crate::index::codes::CodeLikelihood;
use callwright_common::text::one_line;

pub(crate) fn plain(text: &str) -> Vec<DocumentBlock> {
    let mut reader = PlainTextReader::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let underline = lines.peek().and_then(|next| level_of_underline(next));
        match underline.filter(|_| !line.trim().is_empty()) {
            Some(level) => {
                reader.push(level, BlockKind::Heading(one_line(line)));
                lines.next();
            }
            None => reader.line(line),
        }
    }
    reader.flush();
    reader.blocks
}

#[derive(Default)]
struct PlainTextReader {
    blocks: Vec<DocumentBlock>,
    open: String,
    depth: usize,
    is_item: bool,
}

impl PlainTextReader {
    fn line(&mut self, line: &str) {
        let text = one_line(line);
        let depth = FLOW + indentation(line);
        if text.is_empty() || level_of_underline(line).is_some() {
            return self.flush();
        }
        let cells: Vec<&str> = line.trim().split('\t').filter(|cell| !cell.trim().is_empty()).collect();
        if cells.len() > 1 && heads::sentence_head(cells[0]).is_some_and(|head| head.alone) {
            let cells = cells.into_iter().map(one_line).collect();
            return self.push(depth, BlockKind::Row(LabelledRecord::of_row(&[], cells)));
        }
        if depth == FLOW
            && heads::sentence_head(&text).is_some_and(|head| head.alone && head.strength == CodeLikelihood::Strong)
        {
            return self.push(BOLD_LINE, BlockKind::Heading(text));
        }
        let bullet = bullet(&text);
        let begins = begins_block(&text);
        if begins || bullet.is_some() || defines(&text) || self.open.is_empty() || depth < self.depth {
            self.flush();
            self.depth = depth;
            self.is_item = bullet.is_some() || defines(&text);
            self.open = bullet.unwrap_or(&text).to_owned();
        } else {
            self.open.push(' ');
            self.open.push_str(&text);
        }
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.open);
        if !text.is_empty() {
            let kind = if self.is_item { BlockKind::Item(text) } else { BlockKind::Prose(text) };
            self.blocks.push(DocumentBlock { depth: self.depth, kind });
        }
    }

    fn push(&mut self, depth: usize, kind: BlockKind) {
        self.flush();
        self.blocks.push(DocumentBlock { depth, kind });
    }
}

/// Whether a line starts with the code or name that it defines.
fn defines(text: &str) -> bool {
    heads::sentence_head(text).is_some_and(|head| head.strength > CodeLikelihood::Name)
}

fn indentation(line: &str) -> usize {
    line.chars()
        .take_while(|character| character.is_whitespace())
        .map(|character| if character == '\t' { 4 } else { 1 })
        .sum()
}

/// Returns the text after a list marker: `- item`, `* item`, `+ item`, `• item`, `1. item`, `1) item`.
fn bullet(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix(['-', '*', '+', '•']) {
        return rest.starts_with(' ').then(|| rest.trim());
    }
    let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = line.len() - rest.len();
    let rest = rest.strip_prefix(['.', ')'])?;
    // A longer number at the start of a line is an error code or a year and not a list number.
    ((1..=2).contains(&digits) && rest.starts_with(' ')).then(|| rest.trim())
}

/// Returns the heading level of an underline such as `===` or `---`.
fn level_of_underline(line: &str) -> Option<usize> {
    let line = line.trim();
    if line.len() < 3 {
        return None;
    }
    let marks = ['=', '-', '~', '*'];
    marks.iter().position(|mark| line.chars().all(|character| character == *mark)).map(|position| position + 1)
}

/// Joins the lines of a paragraph, except where a line starts with a label (`Cause: ...`) or a code.
pub(crate) fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in text.split('\n').map(one_line).filter(|line| !line.is_empty()) {
        match parts.last_mut() {
            Some(last) if !begins_block(&line) => {
                last.push(' ');
                last.push_str(&line);
            }
            _ => parts.push(line),
        }
    }
    parts
}

/// Whether a line starts with a label or a code.
pub(crate) fn begins_block(line: &str) -> bool {
    let labelled = line.split_once(": ").is_some_and(|(label, _)| is_label(label));
    labelled || heads::sentence_head(line).is_some_and(|head| head.strength == CodeLikelihood::Strong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_labels_and_codes_are_parts_of_their_own() {
        let text = "Error code: 61003\nMessage: Door\njammed\nCause: ice\n61004: too heavy\nand large";
        assert_eq!(
            parts(text),
            ["Error code: 61003", "Message: Door jammed", "Cause: ice", "61004: too heavy and large"]
        );
        assert_eq!(parts("a text\nof 61003\nlines"), ["a text of 61003 lines"]);
    }
}
