//! Statement with its values, independent of the database that executes it.

use std::borrow::Cow;
use std::fmt::{Display, Write};
use std::sync::Arc;

/// Statement and the values of its placeholders.
#[derive(Debug, Clone)]
pub(crate) struct Statement {
    pub(crate) text: Cow<'static, str>,
    /// The text with `?` for `$1, $2, ...`, if it is composed already.
    pub(crate) anonymous: Option<&'static str>,
    pub(crate) values: Vec<SqlValue>,
    /// Whether this text is executed repeatedly and worth an entry in the cache of prepared statements.
    pub(crate) is_usual: bool,
}

impl Statement {
    /// Creates a statement with a constant text.
    pub(crate) fn new(text: &'static str) -> Self {
        Self { text: Cow::Borrowed(text), anonymous: None, values: Vec::new(), is_usual: true }
    }

    /// Creates the beginning of a composed statement.
    pub(crate) fn beginning(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), anonymous: None, values: Vec::new(), is_usual: false }
    }

    /// Sets whether this text is executed repeatedly.
    pub(crate) fn usual(mut self, is_usual: bool) -> Self {
        self.is_usual = is_usual;
        self
    }

    /// Adds the value of the next placeholder.
    pub(crate) fn bind(mut self, value: impl Into<SqlValue>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Appends to the text. Must never get external data.
    pub(crate) fn push(&mut self, text: impl Display) -> &mut Self {
        // Writing to a `String` cannot fail.
        let _ = write!(self.text.to_mut(), "{text}");
        self
    }

    /// Appends a placeholder with its value.
    pub(crate) fn push_bind(&mut self, value: impl Into<SqlValue>) -> &mut Self {
        self.values.push(value.into());
        self.push(format_args!("${}", self.values.len()))
    }

    /// Appends `($1, $2, ...)`.
    pub(crate) fn push_tuple<V: Into<SqlValue>>(&mut self, values: impl IntoIterator<Item = V>) -> &mut Self {
        for (position, value) in values.into_iter().enumerate() {
            self.push(if position == 0 { "(" } else { ", " }).push_bind(value);
        }
        self.push(")")
    }
}

/// Value of one of the column types.
#[derive(Debug, Clone)]
pub(crate) enum SqlValue {
    Integer(Option<i64>),
    Real(f64),
    Text(Option<Arc<str>>),
    Bytes(Vec<u8>),
    Flag(bool),
}

impl From<i64> for SqlValue {
    fn from(value: i64) -> Self {
        Self::Integer(Some(value))
    }
}

impl From<Option<i64>> for SqlValue {
    fn from(value: Option<i64>) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for SqlValue {
    fn from(value: u32) -> Self {
        Self::Integer(Some(i64::from(value)))
    }
}

impl From<u16> for SqlValue {
    fn from(value: u16) -> Self {
        Self::Integer(Some(i64::from(value)))
    }
}

impl From<f64> for SqlValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<bool> for SqlValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.into()))
    }
}

impl From<String> for SqlValue {
    fn from(value: String) -> Self {
        Self::Text(Some(value.into()))
    }
}

impl From<&String> for SqlValue {
    fn from(value: &String) -> Self {
        Self::from(value.as_str())
    }
}

impl From<Arc<str>> for SqlValue {
    fn from(value: Arc<str>) -> Self {
        Self::Text(Some(value))
    }
}

impl From<Option<Arc<str>>> for SqlValue {
    fn from(value: Option<Arc<str>>) -> Self {
        Self::Text(value)
    }
}

impl From<Option<&str>> for SqlValue {
    fn from(value: Option<&str>) -> Self {
        Self::Text(value.map(Into::into))
    }
}

impl From<&Option<String>> for SqlValue {
    fn from(value: &Option<String>) -> Self {
        Self::from(value.as_deref())
    }
}

impl From<&[u8]> for SqlValue {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_numbered_in_the_order_of_their_values() {
        let mut statement = Statement::beginning("SELECT a FROM t WHERE b = ");
        statement.push_bind(1_i64).push(" AND c IN ").push_tuple(["x", "y"]).push(" AND d = ").push_bind(true);
        assert_eq!(statement.text, "SELECT a FROM t WHERE b = $1 AND c IN ($2, $3) AND d = $4");
        assert_eq!(statement.values.len(), 4);
    }
}
