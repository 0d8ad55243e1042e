//! Markdown → the blocks inside which sentences are looked for.

/// A piece of a text that no sentence and no passage crosses, or that is one by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// Lines of prose, joined.
    Prose(String),
    /// One item of a list, without its bullet.
    Item(String),
    /// A heading, without its marks.
    Heading(String),
    /// One row of a table, with the header that says what its cells mean.
    Row {
        /// The header row as written; empty where the table has none.
        header: String,
        /// The row as written.
        row: String,
    },
    /// The lines of a fenced code block.
    Code(String),
}

/// Splits a text into blocks (CommonMark's paragraphs, lists, headings and fences; GitHub's tables). Whitespace is folded.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let line = line.trim();
        let next = lines.peek().map_or("", |next| next.trim());
        reader.read(line, next);
    }
    reader.flush();
    reader.blocks
}

#[derive(Default)]
struct Reader {
    blocks: Vec<Block>,
    open: Vec<String>,
    kind: Kind,
    header: String,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    #[default]
    Prose,
    Item,
    Code,
    Table,
}

impl Reader {
    fn read(&mut self, line: &str, next: &str) {
        let fence = line.starts_with("```") || line.starts_with("~~~");
        if self.kind == Kind::Code {
            if fence { self.flush() } else { self.open.push(fold(line)) }
        } else if fence {
            self.begin(Kind::Code);
        } else if line.is_empty() || is_rule(line) {
            self.flush();
        } else if self.kind == Kind::Table && line.contains('|') {
            self.row(line);
        } else if line.contains('|') && is_delimiter(next, cells(line).len()) {
            self.begin(Kind::Table);
            self.header = fold(line);
            self.open.push(self.header.clone());
        } else if let Some(heading) = heading(line) {
            self.flush();
            self.blocks.push(Block::Heading(fold(heading)));
        } else if let Some(item) = item(line) {
            self.begin(Kind::Item);
            self.open.push(fold(item));
        } else {
            if self.kind == Kind::Table {
                self.flush();
            }
            self.open.push(fold(line.trim_start_matches('>')));
        }
    }

    fn row(&mut self, line: &str) {
        if !is_delimiter(line, cells(&self.header).len()) {
            // The header is shown with each row; by itself only where there is none.
            self.open.clear();
            self.blocks.push(Block::Row { header: self.header.clone(), row: fold(line) });
        }
    }

    fn begin(&mut self, kind: Kind) {
        self.flush();
        self.kind = kind;
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.open).join(" ");
        let kind = std::mem::take(&mut self.kind);
        if text.trim().is_empty() {
            return;
        }
        self.blocks.push(match kind {
            Kind::Item => Block::Item(text),
            Kind::Code => Block::Code(text),
            Kind::Prose | Kind::Table => Block::Prose(text),
        });
    }
}

/// The cells of a table row, trimmed. A bar behind a backslash or inside a code span does not part cells.
pub(super) fn cells(row: &str) -> Vec<&str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    let (mut cells, mut start, mut escaped, mut code) = (Vec::new(), 0, false, false);
    for (at, character) in row.char_indices() {
        match character {
            '`' => code = !code,
            '|' if !escaped && !code => {
                cells.push(row[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        escaped = character == '\\' && !escaped;
    }
    cells.push(row[start..].trim());
    cells
}

/// Runs of whitespace become one space.
fn fold(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `# Heading`, up to six marks.
fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    let marks = line.len() - rest.len();
    ((1..=6).contains(&marks) && rest.starts_with(' ')).then(|| rest.trim_end_matches('#').trim())
}

/// `- item`, `* item`, `+ item`, `1. item`, `1) item`.
fn item(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix(['-', '*', '+', '•']) {
        return rest.starts_with(' ').then(|| rest.trim());
    }
    let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
    let digits = line.len() - rest.len();
    let rest = rest.strip_prefix(['.', ')'])?;
    // A number of more digits at the head of a line is an error code or a year rather than a position.
    ((1..=2).contains(&digits) && rest.starts_with(' ')).then(|| rest.trim())
}

/// `---`, `***`, `===`: a break, or the underline of a heading.
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && ['-', '*', '_', '='].iter().any(|mark| line.chars().all(|character| character == *mark))
}

/// `|---|:--:|`: the row between a table's header and its body, with as many cells as the header.
fn is_delimiter(line: &str, columns: usize) -> bool {
    let is_dashes = |cell: &str| {
        let dashes = cell.trim_start_matches(':').trim_end_matches(':');
        !dashes.is_empty() && dashes.bytes().all(|byte| byte == b'-')
    };
    let cells = cells(line);
    line.contains('|') && cells.len() == columns && cells.into_iter().all(is_dashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Block {
        Block::Prose(text.to_owned())
    }

    #[test]
    fn paragraphs_headings_and_items_are_kept_apart() {
        let text =
            "Intro goes\non.\n\n## Errors ##\n- `A`: one\n  more\n- `B`: two\n\n1. first\n20000 is no position\n";
        assert_eq!(
            blocks(text),
            [
                prose("Intro goes on."),
                Block::Heading("Errors".into()),
                Block::Item("`A`: one more".into()),
                Block::Item("`B`: two".into()),
                Block::Item("first 20000 is no position".into()),
            ]
        );
    }

    #[test]
    fn each_row_of_a_table_keeps_its_header() {
        let text = "Codes:\n| code | meaning |\n|---|:--|\n| 1 | one |\n| 2 | two |\nafter";
        let row = |row: &str| Block::Row { header: "| code | meaning |".into(), row: row.into() };
        assert_eq!(blocks(text), [prose("Codes:"), row("| 1 | one |"), row("| 2 | two |"), prose("after")]);
    }

    #[test]
    fn code_blocks_are_not_read_as_markdown() {
        assert_eq!(
            blocks("a\n```json\n# no heading\n- no item\n```\nb"),
            [prose("a"), Block::Code("# no heading - no item".into()), prose("b")]
        );
    }

    #[test]
    fn an_open_fence_ends_with_the_text() {
        assert_eq!(blocks("```\nx"), [Block::Code("x".into())]);
    }

    #[test]
    fn cells_are_parted_at_bars_outside_of_code() {
        assert_eq!(cells("| `a|b` | c \\| d | |"), ["`a|b`", "c \\| d", ""]);
        assert_eq!(cells("a | b"), ["a", "b"]);
    }
}
