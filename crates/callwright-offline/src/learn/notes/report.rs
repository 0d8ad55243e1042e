//! What a run over labelled questions came to.

use serde::Serialize;

use super::run::Variant;
use callwright_types::{Cost, Lesson, Polarity};

/// A run over labelled questions. Times are not in it: the same answers give the same report.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NotesReport {
    /// Questions of the training stage.
    pub trained: usize,
    /// Of these, those that the model answered right before it was told the truth.
    pub trained_right: usize,
    /// Lessons from questions that were answered right.
    pub positive: usize,
    /// Lessons from questions that were answered wrong.
    pub negative: usize,
    /// Questions of the test stage.
    pub tested: usize,
    /// The variants, the one without any notes first.
    pub variants: Vec<VariantReport>,
    /// What asking the model has cost.
    pub cost: Cost,
    /// Lines that could not be used.
    pub problems: u64,
    /// Lines in all.
    pub lines: u64,
}

/// How one variant did, beside the one without notes (paper, section 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VariantReport {
    /// Which.
    pub variant: Variant,
    /// Lessons or cases that it could recall.
    pub notes: usize,
    /// Questions for which it recalled any.
    pub recalled: usize,
    /// Questions that it answered right.
    pub right: usize,
    /// Wrong without notes, and wrong with them.
    pub still_wrong: usize,
    /// Wrong without notes, right with them.
    pub mended: usize,
    /// Right without notes, and right with them.
    pub still_right: usize,
    /// Right without notes, wrong with them.
    pub broken: usize,
}

impl NotesReport {
    /// Counts lessons by what they were learned from.
    pub(super) fn count<'a>(&mut self, lessons: impl IntoIterator<Item = &'a Lesson>) {
        for lesson in lessons {
            match lesson.polarity {
                Polarity::Positive => self.positive += 1,
                Polarity::Negative => self.negative += 1,
            }
        }
    }
}

impl VariantReport {
    /// Of what was right without notes and with them, question by question.
    pub(super) fn of(variant: Variant, notes: usize, recalled: usize, without: &[bool], with: &[bool]) -> Self {
        let count = |before: bool, after: bool| {
            without.iter().zip(with).filter(|(without, with)| (**without, **with) == (before, after)).count()
        };
        Self {
            variant,
            notes,
            recalled,
            right: with.iter().filter(|right| **right).count(),
            still_wrong: count(false, false),
            mended: count(false, true),
            still_right: count(true, true),
            broken: count(true, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_by_what_notes_changed() {
        let report =
            VariantReport::of(Variant::All, 5, 4, &[false, false, true, true, true], &[false, true, true, true, false]);
        assert_eq!((report.still_wrong, report.mended, report.still_right, report.broken), (1, 1, 2, 1));
        assert_eq!((report.right, report.notes, report.recalled), (3, 5, 4));
    }
}
