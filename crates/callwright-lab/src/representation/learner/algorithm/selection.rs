//! Selects tools for samples with the retriever and the selector.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Learner;
use crate::representation::Candidate;
use crate::representation::learner::Confusion;
use crate::representation::learner::board::ScoreBoard;
use callwright_search::retrieval::ToolText;
use callwright_types::representation::Pattern;

impl Learner<'_> {
    pub(super) async fn training(&mut self) -> ScoreBoard {
        let subset = self.samples.training.clone();
        self.board(&subset).await
    }

    pub(super) async fn validation(&mut self) -> ScoreBoard {
        let subset = self.confirming.clone();
        self.board(&subset).await
    }

    /// Returns the selections of the retriever and the selector for some samples.
    pub(super) async fn board(&mut self, subset: &[usize]) -> ScoreBoard {
        let columns: Vec<Vec<f32>> =
            (0..self.similarities.tools()).map(|tool| self.similarities.scores(tool, subset)).collect();
        let tools = self.similarities.tools();
        let mut board = ScoreBoard::new(&self.samples, subset, tools, self.settings.doubt, |row, tool| {
            columns.get(tool).and_then(|column| column.get(row)).copied().unwrap_or(f32::NEG_INFINITY)
        });
        self.select(&mut board).await;
        board
    }

    /// Lets the selector choose among the best tools of each sample. Results are cached by input.
    pub(super) async fn select(&mut self, board: &mut ScoreBoard) {
        let Some(selector) = self.components.selector.clone().filter(|selector| selector.candidates() > 1) else {
            return;
        };
        let mut picks = Vec::new();
        for (row, sample) in board.samples.clone().into_iter().enumerate() {
            let best = board.best(row, selector.candidates());
            let described: Vec<(String, String)> = best
                .iter()
                .filter_map(|tool| self.similarities.text(*tool))
                .map(|text| (text.name.clone(), description(text)))
                .collect();
            let candidates: Vec<Candidate<'_>> =
                described.iter().map(|(name, description)| Candidate { name, description }).collect();
            let Some(query) = self.samples.queries.get(sample) else { continue };
            let key = key(query, &described);
            let picked = match self.selections.get(&key) {
                Some(picked) => *picked,
                None => match selector.select(query, &candidates).await {
                    Ok(picked) => picked,
                    Err(error) => {
                        self.fail(error);
                        0
                    }
                },
            };
            self.selections.insert(key, picked);
            if let Some(tool) = best.get(picked) {
                picks.push((row, *tool));
            }
        }
        board.select(picks);
    }

    /// Returns the confusions of tools on the validation samples, most frequent first.
    pub(super) fn confusions(&self, boards: &[ScoreBoard]) -> Vec<Confusion> {
        let mut counts: HashMap<(usize, usize), usize> = HashMap::new();
        let rows = boards
            .iter()
            .flat_map(|board| board.samples.iter().enumerate().map(move |(row, sample)| (board, row, sample)));
        for (board, row, sample) in rows {
            let right = self.samples.right.get(*sample).map_or(&[][..], Vec::as_slice);
            let wrong = board.chosen(row).iter().filter(|tool| !self.samples.is_right(*sample, **tool));
            for (wrong, missing) in wrong.zip(right.iter().filter(|tool| !board.chosen(row).contains(tool))) {
                *counts.entry((*missing, *wrong)).or_default() += 1;
            }
        }
        let mut counts: Vec<((usize, usize), usize)> = counts.into_iter().collect();
        counts.sort_unstable_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(&right.0)));
        let confusions = counts.into_iter().map(|((expected, selected), samples)| Confusion {
            expected: self.name(expected),
            selected: self.name(selected),
            samples,
        });
        confusions.collect()
    }

    fn name(&self, tool: usize) -> String {
        self.similarities.text(tool).map_or_else(String::new, |text| text.name.clone())
    }
}

/// Returns the description of a tool for a selector, patterns included.
fn description(text: &ToolText) -> String {
    let patterns = text.patterns.iter().map(Pattern::text);
    std::iter::once(text.description.clone()).chain(patterns).collect::<Vec<_>>().join("\n")
}

fn key(query: &str, described: &[(String, String)]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (query, described).hash(&mut hasher);
    hasher.finish()
}
