//! What a notation is.

use super::literal::Reader;
use super::written::Written;
use crate::scanner::Toolbook;

/// A notation in which models write calls into their text.
pub(super) trait Grammar: Sync {
    /// Its name in traces and in the table of notations.
    fn name(&self) -> &'static str;

    /// The marks with which it begins, reserved for calls; a stream is held from the first of them on. Empty for a notation
    /// without marks: it may begin wherever a statement may.
    fn marks(&self) -> &'static [&'static str];

    /// Are the marks reserved for calls, so that one without a readable call is a fault (E1)? Otherwise it is only text then.
    fn is_reserved(&self) -> bool {
        true
    }

    /// Must a mark stand at the start of its line?
    fn begins_line(&self) -> bool {
        false
    }

    /// Reads the calls that begin where the reader stands: at one of the marks, or where a statement may begin. On success the
    /// reader stands behind the last closing mark.
    fn read(&self, reader: &mut Reader<'_>, toolbook: &Toolbook) -> Option<Vec<Written>>;
}
