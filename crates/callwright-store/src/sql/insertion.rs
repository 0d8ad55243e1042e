//! Insertion of many rows in one statement.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::OnceLock;

use super::{SqlValue, Statement};

/// Maximum number of rows in one `INSERT`. One statement for many rows, because a round trip to SQLite's thread per
/// trace costs more than the insertion. Not more, because that thread would keep a processor from turns for a whole
/// time slice of the scheduler (3 ms), which raises their 99th percentile.
pub(super) const ROWS_PER_INSERT: usize = 20;

/// Insertion of rows of `COLUMNS` values, up to `ROWS` of them in one statement. The text for each number of rows is
/// composed once: a text of hundreds of placeholders takes as long to compose as its rows take to insert.
#[derive(Debug)]
pub(crate) struct Insertion<const COLUMNS: usize, const ROWS: usize> {
    head: &'static str,
    tail: &'static str,
    /// By number of rows, beginning with one row.
    texts: [OnceLock<InsertionText>; ROWS],
}

/// The text of an insertion, by kind of placeholder.
#[derive(Debug)]
struct InsertionText {
    /// With `$1, $2, ...`.
    numbered: String,
    /// With `?`.
    anonymous: String,
}

impl<const COLUMNS: usize, const ROWS: usize> Insertion<COLUMNS, ROWS> {
    /// Creates an insertion from the text before and after its rows.
    pub(crate) const fn new(head: &'static str, tail: &'static str) -> Self {
        Self { head, tail, texts: [const { OnceLock::new() }; ROWS] }
    }

    /// Returns the statements that insert these rows.
    pub(crate) fn statements<T>(
        &'static self,
        rows: &[T],
        mut values: impl FnMut(&T) -> [SqlValue; COLUMNS],
    ) -> Vec<Statement> {
        let chunks = rows.chunks(ROWS);
        let statement = chunks.map(|rows| {
            let text = self.texts[rows.len() - 1].get_or_init(|| self.text(rows.len()));
            Statement {
                text: Cow::Borrowed(&text.numbered),
                anonymous: Some(&text.anonymous),
                values: rows.iter().flat_map(&mut values).collect(),
                is_usual: true,
            }
        });
        statement.collect()
    }

    fn text(&self, rows: usize) -> InsertionText {
        let mut text = InsertionText { numbered: self.head.to_owned(), anonymous: self.head.to_owned() };
        for row in 0..rows {
            for column in 0..COLUMNS {
                let separator = match (row, column) {
                    (0, 0) => "(",
                    (_, 0) => "), (",
                    _ => ", ",
                };
                // Writing to a `String` cannot fail.
                let _ = write!(text.numbered, "{separator}${}", row * COLUMNS + column + 1);
                let _ = write!(text.anonymous, "{separator}?");
            }
        }
        text.numbered.extend([")", self.tail]);
        text.anonymous.extend([")", self.tail]);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PAIRS: Insertion<2, 3> = Insertion::new("INSERT INTO t VALUES ", " ON CONFLICT DO NOTHING");

    fn pairs(rows: &[i64]) -> Vec<Statement> {
        PAIRS.statements(rows, |row| [SqlValue::from(*row), SqlValue::from(-row)])
    }

    #[test]
    fn rows_are_split_into_full_statements_and_a_rest() {
        let texts: Vec<String> = pairs(&[1, 2, 3, 4]).iter().map(|statement| statement.text.to_string()).collect();
        assert_eq!(
            texts,
            [
                "INSERT INTO t VALUES ($1, $2), ($3, $4), ($5, $6) ON CONFLICT DO NOTHING",
                "INSERT INTO t VALUES ($1, $2) ON CONFLICT DO NOTHING"
            ]
        );
        assert!(pairs(&[]).is_empty());
    }

    #[test]
    fn both_kinds_of_placeholders_stand_for_the_same_values() {
        let [statement] = &pairs(&[7, 8])[..] else { panic!("two rows are one statement") };
        assert_eq!(statement.anonymous, Some("INSERT INTO t VALUES (?, ?), (?, ?) ON CONFLICT DO NOTHING"));
        let integers: Vec<Option<i64>> = statement
            .values
            .iter()
            .map(|value| match value {
                SqlValue::Integer(integer) => *integer,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(integers, [Some(7), Some(-7), Some(8), Some(-8)]);
    }
}
