//! What a notation is.

use std::ops::Range;

use crate::domain::rules::Evidence;
use crate::scanner::Toolbook;

/// A notation in which models write calls into their text.
pub(super) trait Grammar: Sync {
    /// Its name in traces and in the table of notations.
    fn name(&self) -> &'static str;

    /// The marks with which it begins, reserved for calls; a stream is held from the first of them on. Empty for a notation
    /// without marks: it may begin wherever a statement may.
    fn marks(&self) -> &'static [&'static str];

    /// Reads the calls that begin at byte `at` of `text`, where one of the marks stands or a statement may begin.
    fn read(&self, text: &str, at: usize, toolbook: &Toolbook) -> Option<Found>;
}

/// What a grammar read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// Tool names and arguments (the text of a JSON object), in order.
    pub(super) calls: Vec<(String, String)>,
    /// From the first byte of the opening mark to the last of the closing one.
    pub(super) span: Range<usize>,
    /// How sure the notation alone makes it that this is a call.
    pub(super) evidence: Evidence,
}
