//! Runs of sentences that are too long for one passage, and how they are split.

use super::pieces::Piece;
use crate::explain::index::codes::mentioned;

/// Sentence with the codes that it defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sentence {
    text: String,
    chars: usize,
    defines: Vec<String>,
}

impl Sentence {
    pub(crate) fn new(text: &str, defines: &[String]) -> Self {
        Self { text: text.to_owned(), chars: text.chars().count(), defines: defines.to_vec() }
    }
}

/// Parsed text: a passage, or sentences that are too long for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PassagePart {
    Passage(Piece),
    /// Sentences that are still to be split.
    Run(SentenceRun),
}

/// Consecutive sentences that do not fit into one passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SentenceRun {
    sentences: Vec<Sentence>,
    /// Maximum number of characters of a passage.
    limit: usize,
}

impl SentenceRun {
    /// Converts sentences, none longer than `limit`, to one passage if they fit, otherwise to a run. Returns `None` if
    /// there are none.
    ///
    /// Sentences that fit are not split, even if their meanings differ. A similarity threshold would depend on the
    /// model, and the sentence that explains a failure is best read in context.
    pub(crate) fn new_part(sentences: Vec<Sentence>, limit: usize) -> Option<PassagePart> {
        match fitting(&sentences, limit) {
            _ if sentences.is_empty() => None,
            fitting if fitting < sentences.len() => Some(PassagePart::Run(Self { sentences, limit })),
            _ => joined(&sentences).map(PassagePart::Passage),
        }
    }

    /// Returns the texts of the sentences.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.sentences.iter().map(|sentence| sentence.text.as_str())
    }

    /// Splits the sentences at the gaps with the lowest closeness. `closeness(n)` compares the sentences before number
    /// `n` with those from it on.
    pub(crate) fn passages(&self, closeness: impl Fn(usize) -> f32) -> Vec<Piece> {
        let mut passages = Vec::new();
        let mut rest = self.sentences.as_slice();
        while !rest.is_empty() {
            let fitting = fitting(rest, self.limit);
            let taken = if fitting < rest.len() {
                let begin = self.sentences.len() - rest.len();
                let least = fitting_half(rest, fitting, self.limit);
                // Among equal gaps, choose the last for the longest passage.
                let gaps = (least..=fitting).rev().map(|taken| (closeness(begin + taken), taken));
                gaps.min_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, taken)| taken)
            } else {
                Some(fitting)
            };
            let (passage, behind) = rest.split_at(taken.unwrap_or(fitting).max(1));
            passages.extend(joined(passage));
            rest = behind;
        }
        passages
    }
}

/// Returns the number of sentences that fit into a passage; at least one.
fn fitting(sentences: &[Sentence], limit: usize) -> usize {
    let mut chars = 0;
    let fits = |sentence: &&Sentence| {
        chars += sentence.chars + usize::from(chars > 0);
        chars <= limit
    };
    sentences.iter().take_while(fits).count().max(1)
}

/// Returns the number of sentences, of those that fit, that fill half a passage. Splitting earlier would separate
/// related sentences.
fn fitting_half(sentences: &[Sentence], fitting: usize, limit: usize) -> usize {
    let mut chars = 0;
    let short = |sentence: &&Sentence| {
        chars += sentence.chars + 1;
        chars < limit / 2
    };
    (sentences.iter().take_while(short).count() + 1).min(fitting)
}

fn joined(sentences: &[Sentence]) -> Option<Piece> {
    let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    let text = texts.join(" ");
    let mentions = texts.iter().flat_map(|text| mentioned(text)).collect();
    let defines = sentences.iter().flat_map(|sentence| sentence.defines.iter().cloned()).collect();
    (!text.is_empty()).then_some(Piece { text, defines, mentions })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_sentence_is_lost_whatever_the_closeness(
            lengths in prop::collection::vec(1_usize..=40, 1..60),
            limit in 40_usize..160,
            closeness in prop::collection::vec(prop_oneof![3 => any::<f32>(), 1 => Just(f32::NAN), 1 => Just(-f32::NAN)], 1..60),
        ) {
            let texts: Vec<String> = lengths.iter().enumerate()
                .map(|(number, length)| format!("{number:0>2}{}", "x".repeat(length - 1)).chars().take(40).collect())
                .collect();
            let sentences: Vec<Sentence> = texts.iter().map(|text| Sentence::new(text, &[])).collect();
            let passages = match SentenceRun::new_part(sentences, limit) {
                Some(PassagePart::Run(run)) => run.passages(|gap| closeness[gap % closeness.len()]),
                Some(PassagePart::Passage(piece)) => vec![piece],
                None => Vec::new(),
            };
            let split: Vec<&str> = passages.iter().map(|piece| piece.text.as_str()).collect();
            prop_assert_eq!(split.join(" "), texts.join(" "));
            prop_assert!(split.iter().all(|text| text.chars().count() <= limit), "{:?}", split);
        }
    }
}
