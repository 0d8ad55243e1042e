//! Report of a run over labelled questions.

use serde::Serialize;

use super::run::Variant;
use callwright_types::{Cost, Lesson, Polarity};

/// Report of a run over labelled questions. It contains no times: equal answers give an equal report.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NotesReport {
    /// Questions of the training stage.
    pub trained: usize,
    /// Training questions that the model answered right before it saw the answer.
    pub trained_right: usize,
    /// Lessons from right answers.
    pub positive: usize,
    /// Lessons from wrong answers.
    pub negative: usize,
    /// Questions of the test stage.
    pub tested: usize,
    /// Results of the variants; the variant without notes is first.
    pub variants: Vec<VariantReport>,
    /// Cost of the model requests.
    pub cost: Cost,
    /// Unusable lines.
    pub problems: u64,
    /// All lines.
    pub lines: u64,
}

/// Result of a variant compared with the variant without notes (ExpNote, section 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VariantReport {
    /// Variant.
    pub variant: Variant,
    /// Available lessons or cases.
    pub notes: usize,
    /// Questions with at least one recalled note.
    pub recalled: usize,
    /// Right answers.
    pub right: usize,
    /// Wrong without notes and with notes.
    pub still_wrong: usize,
    /// Wrong without notes, right with notes.
    pub mended: usize,
    /// Right without notes and with notes.
    pub still_right: usize,
    /// Right without notes, wrong with notes.
    pub broken: usize,
}

impl NotesReport {
    /// Counts lessons by polarity.
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
    /// Compares the answers without notes and with notes, question by question.
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
