//! Interface of readers for notations in which models write calls into their text.

use super::literal::LiteralReader;
use super::written::WrittenCall;
use crate::scanner::ToolSet;

/// A reader of one notation whose form the table cannot express.
pub(super) trait Grammar: std::fmt::Debug + Sync {
    /// Parses the calls at the reader's position, which is at one of the notation's openers. On success, the reader is
    /// positioned after the last closing marker.
    fn read(&self, reader: &mut LiteralReader<'_>, tool_set: &ToolSet) -> Option<Vec<WrittenCall>>;
}
