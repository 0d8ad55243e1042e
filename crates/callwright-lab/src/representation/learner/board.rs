//! Selection of tools for some samples, updated incrementally while single tools change.

use super::samples::SampleSplit;

/// Scores of all tools for some samples, with the resulting selections and metrics. A change of one tool only
/// re-evaluates the samples whose selection it can affect.
#[derive(Debug, Clone)]
pub(super) struct ScoreBoard {
    /// Positions of the samples.
    pub(super) samples: Vec<usize>,
    /// Right tools per sample.
    right: Vec<Vec<usize>>,
    tools: usize,
    /// Scores, row by row; one row per sample.
    scores: Vec<f32>,
    /// Selected tools per sample, best first; as many as there are right ones.
    chosen: Vec<Vec<usize>>,
    counts: Vec<ConfusionCounts>,
    doubt: f64,
}

/// Selection counts of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ConfusionCounts {
    /// Number of samples with this tool as a right one.
    support: i32,
    /// Number of samples for which it is selected.
    selected: i32,
    /// Number of samples for which it is right and selected.
    true_positives: i32,
}

impl ConfusionCounts {
    /// Returns F1, 0 to 1.
    fn f1(self) -> f64 {
        let sum = self.support + self.selected;
        if sum == 0 { 0.0 } else { f64::from(2 * self.true_positives) / f64::from(sum) }
    }
}

impl ScoreBoard {
    /// Creates a board from `score`, which is called with the row of a sample and a tool.
    pub(super) fn new(
        samples: &SampleSplit,
        subset: &[usize],
        tools: usize,
        doubt: f64,
        score: impl Fn(usize, usize) -> f32,
    ) -> Self {
        let right: Vec<Vec<usize>> =
            subset.iter().map(|sample| samples.right.get(*sample).cloned().unwrap_or_default()).collect();
        let mut board = Self {
            samples: subset.to_vec(),
            tools,
            scores: Vec::with_capacity(subset.len() * tools),
            chosen: Vec::with_capacity(subset.len()),
            counts: vec![ConfusionCounts::default(); tools],
            right,
            doubt,
        };
        for row in 0..board.samples.len() {
            board.scores.extend((0..tools).map(|tool| score(row, tool)));
        }
        for row in 0..board.samples.len() {
            let chosen = best(board.row(row), board.right_count(row));
            board.chosen.push(chosen);
        }
        board.update_counts();
        board
    }

    /// Returns the selected tools of a row.
    pub(super) fn chosen(&self, row: usize) -> &[usize] {
        self.chosen.get(row).map_or(&[], Vec::as_slice)
    }

    /// Returns the best `count` tools of a row.
    pub(super) fn best(&self, row: usize, count: usize) -> Vec<usize> {
        best(self.row(row), count)
    }

    /// Overrides selections: the given tool of a row comes first, and the best of the others follow.
    pub(super) fn select(&mut self, picks: impl IntoIterator<Item = (usize, usize)>) {
        for (row, first) in picks {
            let count = self.right_count(row);
            let mut chosen = vec![first];
            chosen.extend(best(self.row(row), count + 1).into_iter().filter(|tool| *tool != first));
            chosen.truncate(count);
            if let Some(slot) = self.chosen.get_mut(row) {
                *slot = chosen;
            }
        }
        self.update_counts();
    }

    /// Returns macro-F1 in percent, over the tools with samples.
    pub(super) fn macro_f1(&self) -> f64 {
        macro_f1(&self.counts, self.doubt)
    }

    /// Returns macro-F1 in percent over the samples of several boards with the same tools.
    pub(super) fn macro_f1_of_all(boards: &[Self]) -> f64 {
        let tools = boards.iter().map(|board| board.tools).max().unwrap_or_default();
        let counts: Vec<ConfusionCounts> = (0..tools).map(|tool| Self::counts_of_all(boards, tool)).collect();
        macro_f1(&counts, boards.first().map_or(0.0, |board| board.doubt))
    }

    /// Returns a tool's part of [`ScoreBoard::macro_f1_of_all`], in points.
    pub(super) fn part_of_all(boards: &[Self], tool: usize) -> f64 {
        let Some(first) = boards.first() else { return 0.0 };
        let counts: Vec<ConfusionCounts> = (0..first.tools).map(|tool| Self::counts_of_all(boards, tool)).collect();
        let tool_only = counts.iter().enumerate().map(|(at, tool_counts)| {
            let true_positives = if at == tool { tool_counts.true_positives } else { 0 };
            ConfusionCounts { true_positives, ..*tool_counts }
        });
        macro_f1(&tool_only.collect::<Vec<_>>(), first.doubt)
    }

    /// Returns F1 of a tool in percent over the samples of several boards; `None` if it has no samples.
    pub(super) fn f1_of_all(boards: &[Self], tool: usize) -> Option<f64> {
        let counts = Self::counts_of_all(boards, tool);
        (counts.support > 0).then(|| 100.0 * counts.f1())
    }

    fn counts_of_all(boards: &[Self], tool: usize) -> ConfusionCounts {
        let mut sum = ConfusionCounts::default();
        for counts in boards.iter().filter_map(|board| board.counts.get(tool)) {
            sum.support += counts.support;
            sum.selected += counts.selected;
            sum.true_positives += counts.true_positives;
        }
        sum
    }

    /// Returns the rows for which a tool is selected wrongly.
    pub(super) fn wrong(&self, tool: usize) -> impl Iterator<Item = usize> {
        let rows = self.chosen.iter().zip(&self.right).enumerate();
        rows.filter(move |(_, (chosen, right))| chosen.contains(&tool) && right.binary_search(&tool).is_err())
            .map(|(row, _)| row)
    }

    /// Returns the rows for which a tool is right.
    pub(super) fn rows_with(&self, tool: usize) -> impl Iterator<Item = usize> {
        let rows = self.right.iter().enumerate();
        rows.filter(move |(_, right)| right.binary_search(&tool).is_ok()).map(|(row, _)| row)
    }

    /// Returns macro-F1 if a tool had these scores, one per row.
    pub(super) fn trial(&self, tool: usize, scores: &[f32]) -> f64 {
        let mut counts = self.counts.clone();
        self.change(tool, scores, |row, chosen| {
            let (old, right) = (self.chosen(row), self.right.get(row).map_or(&[][..], Vec::as_slice));
            add_selection(&mut counts, old, right, -1);
            add_selection(&mut counts, &chosen, right, 1);
        });
        macro_f1(&counts, self.doubt)
    }

    /// Sets the scores of a tool, one per row.
    pub(super) fn set_scores(&mut self, tool: usize, scores: &[f32]) {
        let mut changes = Vec::new();
        self.change(tool, scores, |row, chosen| changes.push((row, chosen)));
        for (row, score) in scores.iter().enumerate() {
            if let Some(slot) = self.scores.get_mut(row * self.tools + tool) {
                *slot = *score;
            }
        }
        for (row, chosen) in changes {
            if let Some(slot) = self.chosen.get_mut(row) {
                *slot = chosen;
            }
        }
        self.update_counts();
    }

    /// Calls `changed` with the rows whose selection changes with these scores of a tool.
    fn change(&self, tool: usize, scores: &[f32], mut changed: impl FnMut(usize, Vec<usize>)) {
        let mut copy = Vec::new();
        for (row, score) in scores.iter().enumerate().take(self.samples.len()) {
            let (scores, chosen) = (self.row(row), self.chosen(row));
            let is_chosen = chosen.contains(&tool);
            let last =
                chosen.iter().filter_map(|tool| scores.get(*tool)).fold(f32::INFINITY, |last, score| last.min(*score));
            if !is_chosen && *score < last {
                continue;
            }
            copy.clear();
            copy.extend_from_slice(scores);
            if let Some(slot) = copy.get_mut(tool) {
                *slot = *score;
            }
            let now = best(&copy, self.right_count(row));
            if now != chosen {
                changed(row, now);
            }
        }
    }

    /// Returns the scores of all tools for a row.
    pub(super) fn row(&self, row: usize) -> &[f32] {
        self.scores.get(row * self.tools..(row + 1) * self.tools).unwrap_or_default()
    }

    fn right_count(&self, row: usize) -> usize {
        self.right.get(row).map_or(1, Vec::len)
    }

    fn update_counts(&mut self) {
        let mut counts = vec![ConfusionCounts::default(); self.tools];
        for (chosen, right) in self.chosen.iter().zip(&self.right) {
            add_selection(&mut counts, chosen, right, 1);
            right.iter().filter_map(|tool| counts.get_mut(*tool).map(|counts| counts.support += 1)).count();
        }
        self.counts = counts;
    }
}

/// Adds a selection to the counts, multiplied by `times`.
fn add_selection(counts: &mut [ConfusionCounts], chosen: &[usize], right: &[usize], times: i32) {
    for tool in chosen {
        if let Some(counts) = counts.get_mut(*tool) {
            counts.selected += times;
            if right.binary_search(tool).is_ok() {
                counts.true_positives += times;
            }
        }
    }
}

/// Returns macro-F1 in percent. F1 of a tool with a single sample is 0 or 100 by chance, so a tool with `support`
/// samples has the weight `support / (support + doubt)`. With a doubt of 0, all tools with samples have equal weight.
fn macro_f1(counts: &[ConfusionCounts], doubt: f64) -> f64 {
    let with_samples = counts.iter().filter(|counts| counts.support > 0);
    let (sum, count) = with_samples.fold((0.0, 0.0), |(sum, count), counts| {
        let weight = f64::from(counts.support) / (f64::from(counts.support) + doubt);
        (sum + weight * counts.f1(), count + weight)
    });
    if count > 0.0 { 100.0 * sum / count } else { 0.0 }
}

/// Returns the positions of the `count` largest scores in descending order; ties keep the earlier position.
fn best(scores: &[f32], count: usize) -> Vec<usize> {
    let mut best: Vec<(usize, f32)> = Vec::with_capacity(count + 1);
    for (at, score) in scores.iter().enumerate() {
        if best.len() == count && best.last().is_some_and(|(_, last)| score <= last) {
            continue;
        }
        let slot = best.partition_point(|(_, other)| other >= score);
        best.insert(slot, (at, *score));
        best.truncate(count);
    }
    best.into_iter().map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn samples(right: &[&[usize]]) -> SampleSplit {
        SampleSplit {
            queries: right.iter().map(|_| String::new()).collect(),
            right: right.iter().map(|right| right.to_vec()).collect(),
            training: Vec::new(),
            validation: (0..right.len()).collect(),
            without_tool: Vec::new(),
        }
    }

    #[test]
    fn as_many_tools_are_selected_as_are_right() {
        let samples = samples(&[&[0], &[1, 2]]);
        let scores = [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]];
        let board = ScoreBoard::new(&samples, &[0, 1], 3, 0.0, |sample, tool| scores[sample][tool]);
        assert_eq!((board.chosen(0), board.chosen(1)), (&[0][..], &[0, 1][..]));
        // F1 of the tools: 2/3, 1, 0.
        assert!((board.macro_f1() - 100.0 * (2.0 / 3.0 + 1.0) / 3.0).abs() < 1e-9);
        assert_eq!(board.wrong(0).collect::<Vec<_>>(), [1]);
        assert_eq!(board.rows_with(2).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn boards_are_scored_together() {
        let samples = samples(&[&[0], &[1]]);
        let scores = [[1.0, 0.0], [1.0, 0.0]];
        let board = |subset: &[usize]| ScoreBoard::new(&samples, subset, 2, 0.0, |sample, tool| scores[sample][tool]);
        let whole = board(&[0, 1]).macro_f1();
        assert!((ScoreBoard::macro_f1_of_all(&[board(&[0]), board(&[1])]) - whole).abs() < 1e-9);
        assert!(ScoreBoard::macro_f1_of_all(&[]).abs() < 1e-9);
    }

    #[test]
    fn selections_can_be_overridden() {
        let samples = samples(&[&[1]]);
        let mut board = ScoreBoard::new(&samples, &[0], 2, 0.0, |_, tool| [1.0, 0.0][tool]);
        assert!(board.macro_f1() < 1.0);
        board.select([(0, 1)]);
        assert!((board.macro_f1() - 100.0).abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn trial_equals_a_new_board(
            scores in proptest::collection::vec(proptest::collection::vec(0_u8..6, 4), 1..8),
            right_tools in proptest::collection::vec(proptest::collection::btree_set(0_usize..4, 1..3), 8),
            column in proptest::collection::vec(0_u8..6, 8), tool in 0_usize..4,
        ) {
            let right: Vec<Vec<usize>> = right_tools.iter().take(scores.len()).map(|set| set.iter().copied().collect()).collect();
            let views: Vec<&[usize]> = right.iter().map(Vec::as_slice).collect();
            let samples = samples(&views);
            let subset: Vec<usize> = (0..scores.len()).collect();
            let old = |sample: usize, tool: usize| f32::from(scores[sample][tool]);
            let new = |sample: usize, at: usize| if at == tool { f32::from(column[sample]) } else { old(sample, at) };
            let mut board = ScoreBoard::new(&samples, &subset, 4, 0.0, old);
            let expected = ScoreBoard::new(&samples, &subset, 4, 0.0, new);
            let column: Vec<f32> = column.iter().take(scores.len()).map(|score| f32::from(*score)).collect();
            prop_assert!((board.trial(tool, &column) - expected.macro_f1()).abs() < 1e-9);
            board.set_scores(tool, &column);
            prop_assert_eq!(&board.chosen, &expected.chosen);
            prop_assert!((board.macro_f1() - expected.macro_f1()).abs() < 1e-9);
        }
    }
}
