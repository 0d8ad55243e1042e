//! reStructuredText → blocks: sections, lists, definition lists, field lists, directives and tables. Code samples,
//! comments and targets are omitted.

use super::delimited::csv_rows;
use super::rst_tables::{grid_table, is_grid_border, is_simple_border, simple_table};
use super::tables::DocumentTableRow;
use super::writer::{BlockWriter, MAX_NESTING};
use crate::documents::blocks::{DEEPEST_HEADING, DocumentBlock};
use crate::word_list::WordList;

/// Minimum length of the line below a title.
const LEAST_ADORNMENT: usize = 3;

/// Directives whose body is no text.
const WITHOUT_TEXT: WordList = WordList(
    "code-block code sourcecode literalinclude highlight image figure toctree contents raw math include index \
     meta role parsed-literal prompt graphviz productionlist doctest testcode replace",
);

/// Directives whose argument is the beginning of their text.
const ADMONITIONS: WordList = WordList(
    "note warning tip important hint danger caution attention admonition seealso deprecated versionadded \
     versionchanged rubric topic sidebar tab tabs glossary",
);

pub(crate) fn rst(text: &str) -> Vec<DocumentBlock> {
    let text = text.replace('\t', "        ");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut reader = RstReader { writer: BlockWriter::default(), adornments: Vec::new() };
    reader.body(&lines, 0);
    reader.writer.finish()
}

struct RstReader {
    writer: BlockWriter,
    /// Section adornments in order of appearance: character, and whether there is a line above the title.
    adornments: Vec<(char, bool)>,
}

impl RstReader {
    /// Parses lines whose common indentation was removed.
    fn body(&mut self, lines: &[&str], level: usize) {
        if level > MAX_NESTING {
            return;
        }
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            let rest = lines.get(at..).unwrap_or_default();
            at += if line.is_empty() {
                self.writer.end_paragraph();
                1
            } else {
                self.block(line, rest, level).max(1)
            };
        }
        self.writer.end_paragraph();
    }

    /// Parses the block at the start of `rest` and returns its number of lines.
    fn block(&mut self, line: &str, rest: &[&str], level: usize) -> usize {
        if let Some(taken) = self.title(rest) {
            return taken;
        }
        if is_grid_border(line) {
            let (rows, taken) = grid_table(rest);
            self.table(rows);
            return taken;
        }
        if is_simple_border(line)
            && let Some((rows, taken)) = simple_table(rest)
        {
            self.table(rows);
            return taken;
        }
        if line.starts_with(' ') {
            let block = indented(rest, 0);
            self.body(&dedented(block), level + 1);
            return block.len();
        }
        if let Some(explicit) = line.strip_prefix("..").filter(|behind| behind.is_empty() || behind.starts_with(' ')) {
            return self.explicit(explicit.trim(), rest, level);
        }
        if marker(line).is_some() {
            return self.list(rest, level, item);
        }
        if field(line).is_some() {
            return self.fields(rest, level);
        }
        if !line.ends_with("::") && term(rest).is_some() { self.list(rest, level, term) } else { self.paragraph(rest) }
    }

    fn title(&mut self, rest: &[&str]) -> Option<usize> {
        let [first, second, ..] = rest else { return None };
        let third = rest.get(2).copied().unwrap_or_default();
        if let (Some(mark), true) = (adornment(first), adornment(first) == adornment(third))
            && !second.is_empty()
        {
            self.heading(mark, true, second);
            return Some(3);
        }
        let mark = adornment(second)?;
        let fits = !first.starts_with(' ') && !first.is_empty() && adornment(first).is_none();
        let long = second.len() >= first.chars().count().min(LEAST_ADORNMENT + 1);
        if !(fits && long) {
            return None;
        }
        self.heading(mark, false, first);
        Some(2)
    }

    fn heading(&mut self, mark: char, over: bool, title: &str) {
        let level = self.adornments.iter().position(|adornment| *adornment == (mark, over));
        let level = level.unwrap_or_else(|| {
            self.adornments.push((mark, over));
            self.adornments.len() - 1
        });
        self.writer.begin_heading((level + 1).min(DEEPEST_HEADING));
        self.writer.text(&inline(title));
        self.writer.end_paragraph();
    }

    fn table(&mut self, rows: Vec<DocumentTableRow>) {
        self.writer.table(rows);
    }

    /// Parses a directive, comment or target.
    fn explicit(&mut self, text: &str, rest: &[&str], level: usize) -> usize {
        self.writer.end_paragraph();
        let body = indented(rest.get(1..).unwrap_or_default(), 0);
        let taken = 1 + body.len();
        let Some((name, argument)) = text.split_once("::").filter(|(name, _)| !name.contains([' ', '|', '_'])) else {
            return taken;
        };
        let name = name.rsplit(':').next().unwrap_or(name);
        let body = dedented(body);
        let options = body.iter().take_while(|line| field(line).is_some()).count();
        let (options, content) = body.split_at(options);
        match name {
            _ if WITHOUT_TEXT.contains(name) => {}
            "list-table" => self.table(list_table(options, content)),
            "csv-table" => self.table(csv_table(options, content)),
            _ if ADMONITIONS.contains(name) || argument.trim().is_empty() => {
                self.text_line(argument);
                self.body(content, level + 1);
            }
            _ => {
                self.writer.begin_list();
                self.writer.begin_item();
                self.text_line(argument);
                self.body(content, level + 1);
                self.writer.end_list();
            }
        }
        taken
    }

    fn text_line(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.writer.text(&inline(text.trim()));
            self.writer.text("\n");
        }
    }

    /// Parses a list; `begin` returns the lines of an item that its first line has, if the text begins with one.
    fn list<'a>(&mut self, rest: &[&'a str], level: usize, begin: fn(&[&'a str]) -> Option<Vec<&'a str>>) -> usize {
        self.writer.begin_list();
        let mut at = 0;
        while let Some(mut lines) = rest.get(at..).and_then(begin) {
            let below = indented(rest.get(at + 1..).unwrap_or_default(), 0);
            lines.extend(dedented(below));
            self.writer.begin_item();
            self.body(&lines, level + 1);
            at += 1 + below.len();
            at += rest.iter().skip(at).take_while(|line| line.is_empty()).count();
        }
        self.writer.end_list();
        at
    }

    fn fields(&mut self, rest: &[&str], level: usize) -> usize {
        let mut at = 0;
        while let Some((name, value)) = rest.get(at).and_then(|line| field(line)) {
            self.writer.end_paragraph();
            let below = indented(rest.get(at + 1..).unwrap_or_default(), 0);
            self.text_line(&format!("{name}: {value}"));
            self.body(&dedented(below), level + 1);
            at += 1 + below.len();
        }
        at
    }

    fn paragraph(&mut self, rest: &[&str]) -> usize {
        let lines = rest.iter().copied().take_while(|line| !line.is_empty() && !line.starts_with(' '));
        let lines: Vec<&str> = lines.collect();
        let text = lines.join("\n");
        let literal = text.ends_with("::");
        let content = if literal { text.trim_end_matches(':') } else { text.as_str() };
        let is_bold = content.len() > 4 && content.starts_with("**") && content.ends_with("**");
        self.writer.strong(is_bold);
        self.writer.text(&inline(content));
        self.writer.strong(false);
        if literal && content.len() < text.len() && !content.is_empty() {
            self.writer.text(":");
        }
        self.writer.end_paragraph();
        let mut taken = lines.len().max(1);
        if literal {
            let behind = rest.get(taken..).unwrap_or_default();
            let blank = behind.iter().take_while(|line| line.is_empty()).count();
            taken += blank + indented(behind.get(blank..).unwrap_or_default(), 0).len();
        }
        taken
    }
}

/// Returns the leading lines that are blank or indented by more than `than` columns, without trailing blank lines.
fn indented<'a, 'b>(lines: &'b [&'a str], than: usize) -> &'b [&'a str] {
    let within = lines.iter().take_while(|line| line.is_empty() || indentation(line) > than).count();
    let used = lines.iter().take(within).rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines.get(..used).unwrap_or_default()
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Removes the common indentation.
fn dedented<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let common = lines.iter().filter(|line| !line.is_empty()).map(|line| indentation(line)).min().unwrap_or_default();
    lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect()
}

/// Returns the punctuation of a line that consists only of it.
fn adornment(line: &str) -> Option<char> {
    let first = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= LEAST_ADORNMENT && line.chars().all(|mark| mark == first)).then_some(first)
}

/// Returns the width of a list marker with its space.
fn marker(line: &str) -> Option<usize> {
    if let Some(rest) = line.strip_prefix(['-', '*', '+', '•']) {
        return rest.starts_with(' ').then(|| line.len() - rest.trim_start().len());
    }
    let inner = line.strip_prefix('(').unwrap_or(line);
    let rest = inner.trim_start_matches(|mark: char| mark.is_ascii_digit());
    let rest = if rest.len() == inner.len() { inner.strip_prefix('#')? } else { rest };
    let digits = inner.len() - rest.len();
    let rest = rest.strip_prefix(['.', ')'])?;
    (digits <= 2 && rest.starts_with(' ')).then(|| line.len() - rest.trim_start().len())
}

/// Parses the beginning of a field: `:name: value`.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix(':')?.split_once(':')?;
    let fits = !name.is_empty() && !name.contains('`') && (value.is_empty() || value.starts_with(' '));
    fits.then_some((name, value.trim()))
}

/// Returns the text after a list marker.
fn item<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let line = lines.first()?;
    Some(vec![line.get(marker(line)?..).unwrap_or_default()])
}

/// Returns the term of a definition, as a paragraph.
fn term<'a>(lines: &[&'a str]) -> Option<Vec<&'a str>> {
    let [line, next, ..] = lines else { return None };
    let is_term = !line.is_empty()
        && !line.starts_with(' ')
        && !line.starts_with("..")
        && marker(line).is_none()
        && next.starts_with(' ');
    is_term.then(|| vec![line.split(" : ").next().unwrap_or(line), ""])
}

/// Parses the body of a `list-table`: a list of rows, each a list of cells.
fn list_table(options: &[&str], content: &[&str]) -> Vec<DocumentTableRow> {
    let headers = option(options, "header-rows").and_then(|count| count.parse().ok()).unwrap_or(0);
    let rows = list_items(content).into_iter().enumerate().map(|(at, row)| {
        let cells = list_items(&row).into_iter().map(|cell| inline(&cell.join("\n"))).collect();
        DocumentTableRow::new(cells, at < headers)
    });
    rows.filter(|row| !row.cells.is_empty()).collect()
}

/// Returns the items of a list as lines without marker and indentation.
fn list_items<'a>(lines: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut items = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let below = indented(lines.get(at + 1..).unwrap_or_default(), 0);
        let bare = matches!(*line, "-" | "*" | "+");
        if let Some(width) = marker(line).or(bare.then_some(1)) {
            let mut item = vec![line.get(width..).unwrap_or_default()];
            item.extend(dedented(below));
            items.push(item);
            at += below.len();
        }
        at += 1;
    }
    items
}

fn csv_table(options: &[&str], content: &[&str]) -> Vec<DocumentTableRow> {
    let headers: usize = option(options, "header-rows").and_then(|count| count.parse().ok()).unwrap_or(0);
    let named = option(options, "header");
    let delimiter = option(options, "delim").and_then(|mark| mark.bytes().next()).unwrap_or(b',');
    let head = named.map(|names| csv_rows(names.as_bytes(), delimiter)).unwrap_or_default();
    let marked = head.len() + headers;
    let rows = head.into_iter().chain(csv_rows(content.join("\n").as_bytes(), delimiter)).enumerate();
    rows.map(|(at, row)| DocumentTableRow::new(row.iter().map(|cell| inline(cell)).collect(), at < marked)).collect()
}

fn option<'a>(options: &[&'a str], name: &str) -> Option<&'a str> {
    options.iter().filter_map(|line| field(line)).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Removes inline markup; literals and interpreted text are marked by backquotes.
pub(crate) fn inline(text: &str) -> String {
    let text = text.replace("``", "`").replace("**", "");
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, behind)) = rest.split_once('`') {
        let Some((inner, after)) = behind.split_once('`') else { break };
        // `:doc:` and other roles name the kind of the text that follows.
        let role = before.rfind(':').filter(|end| end + 1 == before.len()).and_then(|end| before[..end].rfind(':'));
        let before = role.filter(|at| !before[*at..].contains(' ')).map_or(before, |at| &before[..at]);
        plain.push_str(before);
        let link = after.starts_with('_');
        let title = inner.split_once(" <").filter(|(_, target)| target.ends_with('>')).map(|(title, _)| title);
        match title {
            Some(title) => plain.push_str(title),
            None if link || inner.contains(' ') && role.is_some() => plain.push_str(inner),
            None => plain.extend(["`", inner, "`"]),
        }
        rest = after.trim_start_matches('_');
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_markup_is_removed() {
        let text = "See `the guide <https://a.example/x>`_, :doc:`other </b>`, ``E_1`` and **now**.";
        assert_eq!(inline(text), "See the guide, other, `E_1` and now.");
        assert_eq!(inline("an open ` mark"), "an open ` mark");
    }
}
