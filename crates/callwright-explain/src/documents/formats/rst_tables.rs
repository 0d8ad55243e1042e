//! Grid tables and simple tables of reStructuredText → rows.

use super::rst::inline;
use super::tables::{DocumentTableRow, MAX_COLUMNS};

/// Whether a line is the border of a grid table: `+-----+-----+`.
pub(crate) fn is_grid_border(line: &str) -> bool {
    line.starts_with("+-") && line.ends_with('+') && line.chars().all(|mark| matches!(mark, '+' | '-' | '='))
}

/// Whether a line is the border of a simple table: `===== =====`.
pub(crate) fn is_simple_border(line: &str) -> bool {
    line.starts_with("==") && line.contains(" ==") && line.chars().all(|mark| matches!(mark, '=' | ' '))
}

/// Parses a grid table; also returns its number of lines.
pub(crate) fn grid_table(lines: &[&str]) -> (Vec<DocumentTableRow>, usize) {
    let taken = lines.iter().take_while(|line| line.starts_with(['+', '|'])).count();
    let lines: Vec<Vec<char>> = lines.iter().take(taken).map(|line| line.chars().collect()).collect();
    let mut edges: Vec<usize> = Vec::new();
    for line in lines.iter().filter(|line| line.first() == Some(&'+')) {
        edges.extend(line.iter().enumerate().filter(|(_, mark)| **mark == '+').map(|(at, _)| at));
    }
    edges.sort_unstable();
    edges.dedup();
    edges.truncate(MAX_COLUMNS);
    let mut table = GridTable { cells: vec![String::new(); edges.len().saturating_sub(1)], rows: Vec::new(), edges };
    for line in &lines {
        table.line(line);
    }
    (table.rows, taken)
}

struct GridTable {
    /// Columns of the lines between cells.
    edges: Vec<usize>,
    /// Cells of the current row.
    cells: Vec<String>,
    rows: Vec<DocumentTableRow>,
}

impl GridTable {
    fn line(&mut self, line: &[char]) {
        let ended: Vec<bool> = self.edges.windows(2).map(|edges| is_ruled(line, edges[0], edges[1])).collect();
        if ended.contains(&true) {
            return self.end_row(&ended, line.contains(&'='));
        }
        let mut open = String::new();
        let mut first = 0;
        for at in 0..self.cells.len() {
            let (Some(start), Some(end)) = (self.edges.get(at), self.edges.get(at + 1)) else { break };
            open.extend(line.iter().take(*end).skip(start + 1));
            // A cell without a line behind it spans the next column.
            if line.get(*end).is_none_or(|mark| matches!(mark, '|' | '+')) || at + 1 == self.cells.len() {
                if let Some(cell) = self.cells.get_mut(first) {
                    cell.push_str(open.trim());
                    cell.push('\n');
                }
                open.clear();
                first = at + 1;
            } else {
                open.extend(line.get(*end));
            }
        }
    }

    /// Ends the row; a cell that spans several rows is repeated in each.
    fn end_row(&mut self, ended: &[bool], is_header: bool) {
        if self.cells.iter().any(|cell| !cell.trim().is_empty()) {
            let cells = self.cells.iter().map(|cell| inline(&lines_joined(cell))).collect();
            self.rows.push(DocumentTableRow::new(cells, false));
        }
        for (cell, _) in self.cells.iter_mut().zip(ended).filter(|(_, ended)| **ended) {
            cell.clear();
        }
        if is_header {
            self.rows.iter_mut().for_each(|row| row.all_headers = true);
        }
    }
}

/// Whether the line separates two rows between these columns.
fn is_ruled(line: &[char], start: usize, end: usize) -> bool {
    let within = line.get(start + 1..end).unwrap_or_default();
    !within.is_empty() && within.iter().all(|mark| matches!(mark, '-' | '=' | '+'))
}

/// Joins the lines of a cell; blank lines separate paragraphs.
fn lines_joined(cell: &str) -> String {
    let mut text = String::new();
    let mut blank = false;
    for line in cell.trim().lines() {
        if line.is_empty() {
            blank = true;
            continue;
        }
        if !text.is_empty() {
            let separate = blank || line.starts_with(['-', '*']);
            text.push(if separate { '\n' } else { ' ' });
        }
        text.push_str(line);
        blank = false;
    }
    text
}

/// Parses a simple table; also returns its number of lines. Returns `None` if it does not end.
pub(crate) fn simple_table(lines: &[&str]) -> Option<(Vec<DocumentTableRow>, usize)> {
    let border = lines.first()?;
    let mut borders = Vec::new();
    let mut taken = None;
    for (at, line) in lines.iter().enumerate() {
        if is_simple_border(line) {
            borders.push(at);
            let ends = borders.len() > 1 && lines.get(at + 1).is_none_or(|next| next.trim().is_empty());
            if ends || borders.len() == 3 {
                taken = Some(at + 1);
                break;
            }
        }
    }
    let taken = taken?;
    let headers = if borders.len() == 3 { *borders.get(1)? } else { 0 };
    let columns = columns(border);
    let mut rows: Vec<DocumentTableRow> = Vec::new();
    let mut open = false;
    for (at, line) in lines.iter().enumerate().take(taken) {
        let ruled = line.chars().all(|mark| matches!(mark, '=' | '-' | ' '));
        if ruled {
            open = false;
            continue;
        }
        let cells = cut_at(line, &columns);
        let continues = open && cells.first().is_some_and(|cell| cell.is_empty());
        match rows.last_mut().filter(|_| continues) {
            Some(row) => {
                for (cell, more) in row.cells.iter_mut().zip(&cells).filter(|(_, more)| !more.is_empty()) {
                    cell.push(' ');
                    cell.push_str(more);
                }
            }
            None => rows.push(DocumentTableRow::new(cells, at < headers)),
        }
        open = true;
    }
    for cell in rows.iter_mut().flat_map(|row| &mut row.cells) {
        *cell = inline(cell.trim());
    }
    Some((rows, taken))
}

/// Returns the first column of each cell.
fn columns(border: &str) -> Vec<usize> {
    let starts = border.char_indices().filter(|(at, mark)| {
        *mark == '=' && at.checked_sub(1).is_none_or(|before| border.as_bytes().get(before) == Some(&b' '))
    });
    starts.map(|(at, _)| at).take(MAX_COLUMNS).collect()
}

fn cut_at(line: &str, columns: &[usize]) -> Vec<String> {
    let marks: Vec<char> = line.chars().collect();
    let ends = columns.iter().skip(1).copied().chain([usize::MAX]);
    let cells = columns.iter().zip(ends);
    cells.map(|(start, end)| marks.iter().take(end).skip(*start).collect::<String>().trim().to_owned()).collect()
}
