//! Report of a run over labelled questions.

use serde::Serialize;

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
    pub lines: u64,
}

/// Notes that the test stage recalls (ExpNote, section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// All lessons.
    All,
    /// No notes.
    Disabled,
    /// The questions and answers that the lessons come from, instead of the lessons.
    Case,
    /// Lessons from right answers.
    Positive,
    /// Lessons from wrong answers.
    Negative,
}

impl Variant {
    /// Returns the name used on the command line.
    pub const fn label(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Disabled => "disabled",
            Self::Case => "case",
            Self::Positive => "positive",
            Self::Negative => "negative",
        }
    }

    pub(super) fn takes(self, lesson: &Lesson) -> bool {
        match self {
            Self::All | Self::Case => true,
            Self::Disabled => false,
            Self::Positive => lesson.polarity == Polarity::Positive,
            Self::Negative => lesson.polarity == Polarity::Negative,
        }
    }
}

/// Result of a variant compared with the variant without notes (ExpNote, section 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VariantReport {
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
        let (right, still_wrong, mended, still_right, broken) = Default::default();
        let mut report = Self { variant, notes, recalled, right, still_wrong, mended, still_right, broken };
        for (without, with) in without.iter().zip(with) {
            *match (without, with) {
                (false, false) => &mut report.still_wrong,
                (false, true) => &mut report.mended,
                (true, true) => &mut report.still_right,
                (true, false) => &mut report.broken,
            } += 1;
        }
        report.right = report.mended + report.still_right;
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_counted_by_the_effect_of_notes() {
        let report =
            VariantReport::of(Variant::All, 5, 4, &[false, false, true, true, true], &[false, true, true, true, false]);
        assert_eq!((report.still_wrong, report.mended, report.still_right, report.broken), (1, 1, 2, 1));
        assert_eq!((report.right, report.notes, report.recalled), (3, 5, 4));
    }
}
