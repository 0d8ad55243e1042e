//! A notation in which models write calls into their text.

use super::literal::Reader;
use super::written::Written;
use crate::scanner::Toolbook;

/// A reader of one notation whose form the table cannot express.
pub(super) trait Grammar: std::fmt::Debug + Sync {
    /// Reads the calls that begin where the reader is: at one of the notation's openers. On success the reader is behind the last
    /// closing mark.
    fn read(&self, reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>>;
}
