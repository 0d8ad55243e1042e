//! Samples that confirm the proposals of a model.
//!
//! Cross-validation would multiply the requests to the model. A fifth of few samples, however, confirms by chance.
//! Therefore all samples confirm that no pattern quotes.

use super::Learner;
use super::classifier::PARTS;
use crate::representation::learner::board::ScoreBoard;
use crate::representation::learner::similarities::EmbeddedPattern;
use callwright_search::retrieval::tokens;
use callwright_types::representation::Pattern;

impl Learner<'_> {
    /// Whether all samples confirm that no pattern quotes: a model proposes, and there are few samples.
    pub(super) fn confirms_by_unquoted(&self) -> bool {
        self.components.proposer.uses_model() && self.samples.queries.len() < self.settings.cross_below
    }

    /// Selects the samples that confirm these proposals, and returns macro-F1 on them before the change. `best` is that
    /// of the former selection.
    pub(super) async fn confirm(&mut self, proposals: &[(usize, Vec<EmbeddedPattern>)], best: f64) -> f64 {
        if !self.confirms_by_unquoted() {
            return best;
        }
        let mut is_quoted = vec![false; self.samples.queries.len()];
        for tool in 0..self.similarities.tools() {
            let learned = self.similarities.patterns(tool).get(self.kept(tool)..).unwrap_or_default();
            self.mark_quoted(tool, learned.iter(), &mut is_quoted);
        }
        for (tool, added) in proposals {
            self.mark_quoted(*tool, added.iter().map(|added| &added.pattern), &mut is_quoted);
        }
        for sample in &self.samples.validation {
            if let Some(slot) = is_quoted.get_mut(*sample) {
                *slot = false;
            }
        }
        self.confirming = (0..is_quoted.len()).filter(|sample| is_quoted.get(*sample) == Some(&false)).collect();
        self.validation().await.macro_f1()
    }

    /// Marks the samples of a tool from which a case was copied.
    fn mark_quoted<'p>(&self, tool: usize, patterns: impl Iterator<Item = &'p Pattern>, is_quoted: &mut [bool]) {
        let mut cases = Vec::new();
        for case in patterns.flat_map(|pattern| &pattern.cases) {
            cases.push(spaced(case));
        }
        for (sample, slot) in
            is_quoted.iter_mut().enumerate().filter(|(sample, _)| self.samples.is_right(*sample, tool))
        {
            let query = self.samples.queries.get(sample).map(|query| spaced(query)).unwrap_or_default();
            *slot |= cases.iter().any(|case| query.contains(case.as_str()));
        }
    }

    /// Updates the scores before the run to the samples that confirmed its result.
    pub(super) async fn update_start(&mut self) {
        let Some(initial) = self.initial.take() else { return };
        let now = std::mem::replace(&mut self.similarities, *initial);
        let board = self.validation().await;
        self.similarities = now;
        self.before = (0..self.similarities.tools())
            .map(|tool| ScoreBoard::f1_of_all(std::slice::from_ref(&board), tool))
            .collect();
        if let Some(point) = self.curve.first_mut() {
            point.macro_f1 = board.macro_f1();
        }
    }

    /// Returns boards of parts of the confirming samples.
    pub(super) async fn parts_of_confirming(&mut self) -> Vec<ScoreBoard> {
        let confirming = self.confirming.clone();
        let mut boards = Vec::with_capacity(PARTS);
        for part in 0..PARTS {
            let subset: Vec<usize> = confirming.iter().copied().skip(part).step_by(PARTS).collect();
            if !subset.is_empty() {
                boards.push(self.board(&subset).await);
            }
        }
        boards
    }
}

/// Returns the words of a text between spaces, so that only whole words are found in it.
fn spaced(text: &str) -> String {
    format!(" {} ", tokens(text).join(" "))
}
