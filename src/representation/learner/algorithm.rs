//! Algorithm 1 of the paper.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;

use super::board::Board;
use super::closeness::{Asked, Closeness, Grown};
use super::fit::Problem;
use super::learned::{Confusion, Learned, LearnedPattern, LearnedTool, Point};
use super::rivals::Rivals;
use super::samples::{Sample, Samples};
use super::{Addition, Candidate, Edition, LearnError, LearnSettings, ProposeError, Proposer, Selector};
use crate::domain::representation::Pattern;
use crate::embedding::{Embedder, Vector};
use crate::retrieval::{Fusion, ToolText, pattern_texts, pattern_vector};

/// Sharpnesses that are tried.
const SHARPNESS: [f32; 6] = [8.0, 10.0, 12.5, 16.0, 20.0, 25.0];

/// Worths of words that are tried.
const WORDS: [f32; 11] = [0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5];

/// The share of the ridge that holds weights where there are no vectors.
const WORDS_ONLY_RIDGE: f32 = 0.02;

/// Who takes part in learning.
#[derive(Debug, Clone)]
pub struct Means {
    /// What vectors come from; without it, words alone are learned for.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Who proposes patterns.
    pub proposer: Arc<dyn Proposer>,
    /// Who chooses among what is found.
    pub selector: Arc<dyn Selector>,
}

/// Is told how learning goes.
pub trait LearnWatcher: Sync {
    /// Proposals are about to be asked for: for so many tools in this iteration.
    fn begins(&self, iteration: usize, tools: usize);

    /// One more tool has its proposal.
    fn advances(&self);

    /// A proposer or selector could not do its part.
    fn problem(&self, problem: &ProposeError);
}

/// A run of the learner, between iterations.
#[derive(Debug)]
pub struct Learner<'a> {
    settings: LearnSettings,
    means: Means,
    watcher: &'a dyn LearnWatcher,
    samples: Samples,
    asked: Asked,
    tools: Vec<Tool>,
    closeness: Closeness,
    /// Selections that a model made, by what it was shown.
    selections: HashMap<u64, usize>,
    /// F1 of each tool at the start.
    before: Vec<Option<f64>>,
    curve: Vec<Point>,
    stale: usize,
}

/// What is learned for a tool, beside its patterns.
#[derive(Debug, Clone, Default)]
struct Tool {
    /// Patterns of people, which come first and stay as they are.
    kept: usize,
    /// What each pattern brought, in points of macro-F1.
    gains: Vec<f64>,
}

impl std::fmt::Debug for dyn LearnWatcher + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LearnWatcher")
    }
}

/// What is put back where a change does not help.
struct Before {
    closeness: Closeness,
    tools: Vec<Tool>,
}

impl<'a> Learner<'a> {
    /// Reads tools and samples and asks for all their vectors. The patterns that tools have already belong to people.
    ///
    /// # Errors
    /// [`LearnError`]: samples are too few or too many, or there are no vectors.
    pub async fn new(
        tools: &[ToolText],
        samples: &[Sample],
        means: Means,
        settings: LearnSettings,
        watcher: &'a dyn LearnWatcher,
    ) -> Result<Self, LearnError> {
        let samples = Samples::new(samples, tools, settings.validation_share, settings.seed)?;
        let columns = tools.len().saturating_mul(2 + settings.max_patterns);
        let cells = samples.queries.len().saturating_mul(columns);
        if cells > settings.max_cells {
            return Err(LearnError::TooMany {
                samples: samples.queries.len(),
                tools: tools.len(),
                cells,
                most: settings.max_cells,
            });
        }
        let mut asked = Asked { queries: samples.queries.clone(), vectors: Vec::new() };
        let mut own = Vec::new();
        let mut fusion = Fusion { sharpness: 0.0, ..Fusion::default() };
        if let Some(embedder) = &means.embedder {
            asked.vectors = embedder.embed(samples.queries.clone()).await?;
            own = embedder.embed(tools.iter().map(ToolText::embedded).collect()).await?;
            fusion = Fusion::default();
        }
        let closeness = Closeness::new(tools, &own, &asked, fusion);
        let mut learner = Self {
            tools: vec![Tool::default(); tools.len()],
            selections: HashMap::new(),
            before: Vec::new(),
            curve: Vec::new(),
            stale: 0,
            settings,
            means,
            watcher,
            samples,
            asked,
            closeness,
        };
        for (at, tool) in tools.iter().enumerate().filter(|(_, tool)| !tool.patterns.is_empty()) {
            let grown = learner.grown(&tool.patterns).await?;
            learner.put(at, &grown, 0.0);
            if let Some(tool) = learner.tools.get_mut(at) {
                tool.kept = grown.len();
            }
        }
        learner.closeness.look_up_words(&learner.asked);
        let board = learner.validation().await;
        learner.before = (0..tools.len()).map(|tool| board.f1(tool)).collect();
        learner.note(board.macro_f1(), 0);
        Ok(learner)
    }

    /// One round over all tools: patterns are added, then edited, and what does not help is taken back. `false` where learning has ended.
    ///
    /// # Errors
    /// [`LearnError::Embed`]: there are no vectors any more.
    pub async fn step(&mut self) -> Result<bool, LearnError> {
        let iteration = self.curve.len();
        if iteration > self.settings.iterations || self.stale >= self.settings.patience {
            return Ok(false);
        }
        let start = self.best();
        let mut best = start;
        if self.settings.add {
            best = self.add(iteration, best).await?;
        }
        if self.settings.edit {
            best = self.edit(iteration == 1, best).await?;
        }
        self.stale = if best > start + self.settings.threshold { 0 } else { self.stale + 1 };
        self.note(best, iteration);
        Ok(true)
    }

    /// What is learned so far.
    pub async fn learned(&mut self) -> Learned {
        let board = self.validation().await;
        let tools = (0..self.closeness.tools()).map(|at| {
            let tool = self.tools.get(at).cloned().unwrap_or_default();
            let gains = tool.gains.into_iter().chain(std::iter::repeat(0.0));
            let patterns = self.closeness.patterns(at).iter().zip(gains).skip(tool.kept);
            LearnedTool {
                tool: self.closeness.text(at).map_or_else(String::new, |text| text.name.clone()),
                patterns: patterns.map(|(pattern, gain)| LearnedPattern { pattern: pattern.clone(), gain }).collect(),
                f1_before: self.before.get(at).copied().flatten(),
                f1_after: board.f1(at),
            }
        });
        Learned {
            tools: tools.collect(),
            fusion: self.closeness.fusion,
            curve: self.curve.clone(),
            confusions: self.confusions(&board),
        }
    }

    /// The points of the curve so far: macro-F1 on the validation samples before the first round, and after each.
    pub fn curve(&self) -> &[Point] {
        &self.curve
    }

    /// Which tool is selected in place of which, on the validation samples, the most frequent first.
    fn confusions(&self, board: &Board) -> Vec<Confusion> {
        let mut counts: HashMap<(usize, usize), usize> = HashMap::new();
        for (row, sample) in board.samples().iter().enumerate() {
            let right = self.samples.right.get(*sample).map_or(&[][..], Vec::as_slice);
            let wrong = board.chosen(row).iter().filter(|tool| !self.samples.wants(*sample, **tool));
            for (wrong, missing) in wrong.zip(right.iter().filter(|tool| !board.chosen(row).contains(tool))) {
                *counts.entry((*missing, *wrong)).or_default() += 1;
            }
        }
        let mut counts: Vec<((usize, usize), usize)> = counts.into_iter().collect();
        counts.sort_unstable_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(&right.0)));
        let name = |at: usize| self.closeness.text(at).map_or_else(String::new, |text| text.name.clone());
        let confusion =
            |((wanted, selected), samples)| Confusion { wanted: name(wanted), selected: name(selected), samples };
        counts.into_iter().map(confusion).collect()
    }

    fn best(&self) -> f64 {
        self.curve.last().map_or(0.0, |point| point.macro_f1)
    }

    fn note(&mut self, macro_f1: f64, iteration: usize) {
        let patterns = self.closeness.weights().count();
        self.curve.push(Point { iteration, macro_f1, patterns });
    }

    /// The paper's addition: proposals of all tools together, and where those do not help, one tool's after the other's.
    async fn add(&mut self, iteration: usize, best: f64) -> Result<f64, LearnError> {
        let proposals = self.additions(iteration).await?;
        if proposals.is_empty() {
            return Ok(best);
        }
        let before = self.before_change();
        for (tool, grown) in &proposals {
            self.put(*tool, grown, 0.0);
        }
        self.closeness.look_up_words(&self.asked);
        if self.settings.edit {
            self.tune(iteration == 1);
        }
        let together = self.validation().await;
        if together.macro_f1() > best + self.settings.threshold {
            self.note_gains(&proposals, &together);
            return Ok(together.macro_f1());
        }
        self.put_back(before);
        self.add_single(&proposals, best).await
    }

    /// Notes what each tool's part of a kept addition brought.
    fn note_gains(&mut self, proposals: &[(usize, Vec<Grown>)], board: &Board) {
        let (statistics, queries) = self.closeness.statistics(&self.asked);
        for (tool, grown) in proposals {
            let held = self.closeness.patterns(*tool).len();
            let mut without = self.closeness.clone_of(*tool);
            without.shorten(0, held.saturating_sub(grown.len()));
            without.look_up_words_of(0, &queries, &statistics);
            let scores = without.scores(0, board.samples());
            let gain = board.macro_f1() - board.trial(*tool, &scores);
            if let Some(tool) = self.tools.get_mut(*tool) {
                tool.gains.iter_mut().rev().take(grown.len()).for_each(|place| *place = gain);
            }
        }
    }

    async fn add_single(&mut self, proposals: &[(usize, Vec<Grown>)], mut best: f64) -> Result<f64, LearnError> {
        let (statistics, queries) = self.closeness.statistics(&self.asked);
        let mut board = self.validation().await;
        let mut rivals = Rivals::new(&self.closeness, &self.samples.training);
        for (tool, grown) in proposals {
            let mut with = self.closeness.clone_of(*tool);
            with.add(0, grown, &self.asked);
            with.look_up_words_of(0, &queries, &statistics);
            if self.settings.edit {
                self.fit_one(*tool, &mut with, &rivals);
            }
            let f1 = self.trial(*tool, &with, &mut board).await;
            if f1 > best + self.settings.threshold {
                rivals.put(*tool, with.scores(0, &self.samples.training));
                self.closeness.put_from(*tool, with);
                self.grow(*tool, grown, f1 - best);
                best = f1;
            }
        }
        self.closeness.look_up_words(&self.asked);
        Ok(self.validation().await.macro_f1())
    }

    /// The paper's edition, one tool after the other; then the weights of all patterns.
    async fn edit(&mut self, is_first: bool, mut best: f64) -> Result<f64, LearnError> {
        let training = self.training().await;
        let (statistics, queries) = self.closeness.statistics(&self.asked);
        let mut board = self.validation().await;
        for tool in 0..self.closeness.tools() {
            let wrong: Vec<&str> = training
                .wrong(tool)
                .filter_map(|row| training.samples().get(row))
                .filter_map(|at| self.samples.queries.get(*at))
                .map(String::as_str)
                .collect();
            let Some(grown) = self.edition(tool, &wrong).await? else { continue };
            let kept = self.tools.get(tool).map_or(0, |tool| tool.kept);
            let mut with = self.closeness.clone_of(tool);
            with.shorten(0, kept);
            with.add(0, &grown, &self.asked);
            with.look_up_words_of(0, &queries, &statistics);
            let f1 = self.trial(tool, &with, &mut board).await;
            if f1 > best + self.settings.threshold {
                self.closeness.put_from(tool, with);
                if let Some(tool) = self.tools.get_mut(tool) {
                    tool.gains.iter_mut().skip(kept).for_each(|gain| *gain += f1 - best);
                }
                best = f1;
            }
        }
        self.closeness.look_up_words(&self.asked);
        best = self.validation().await.macro_f1();
        let before = self.before_change();
        self.tune(is_first);
        let tuned = self.validation().await.macro_f1();
        if tuned > best + self.settings.threshold {
            return Ok(tuned);
        }
        self.put_back(before);
        Ok(best)
    }

    /// Macro-F1 with one tool changed; the board holds the change where it is the best so far.
    async fn trial(&mut self, tool: usize, with: &Closeness, board: &mut Board) -> f64 {
        let scores = with.scores(0, board.samples());
        if self.means.selector.candidates() <= 1 {
            let f1 = board.trial(tool, &scores);
            if f1 > board.macro_f1() + self.settings.threshold {
                board.put(tool, &scores);
            }
            return f1;
        }
        let mut changed = board.clone();
        changed.put(tool, &scores);
        self.select(&mut changed).await;
        let f1 = changed.macro_f1();
        if f1 > board.macro_f1() + self.settings.threshold {
            *board = changed;
        }
        f1
    }

    /// The proposals for all tools that miss samples.
    async fn additions(&mut self, iteration: usize) -> Result<Vec<(usize, Vec<Grown>)>, LearnError> {
        let training = self.training().await;
        let mut asks = Vec::new();
        for tool in 0..self.closeness.tools() {
            let held = self.closeness.patterns(tool).len();
            // A tool without patterns has none that its samples could be like: they are all missed.
            let is_missed = |row: &usize| held == 0 || !training.chosen(*row).contains(&tool);
            let missed: Vec<&str> = training
                .wanting(tool)
                .filter(is_missed)
                .filter_map(|row| training.samples().get(row))
                .filter_map(|at| self.samples.queries.get(*at))
                .map(String::as_str)
                .collect();
            let room = self.settings.max_patterns.saturating_sub(held);
            if room > 0 && !missed.is_empty() {
                asks.push((tool, missed, room));
            }
        }
        self.watcher.begins(iteration, asks.len());
        let (closeness, proposer, watcher) = (&self.closeness, &self.means.proposer, self.watcher);
        let proposals = stream::iter(&asks).map(async |(tool, missed, room)| {
            let text = closeness.text(*tool).cloned().unwrap_or_default();
            let addition = Addition {
                tool: &text.name,
                description: &text.description,
                patterns: &text.patterns,
                missed,
                room: *room,
            };
            let proposed = proposer.add(addition).await;
            watcher.advances();
            match proposed {
                Ok(mut patterns) => {
                    patterns.truncate(*room);
                    Some((*tool, patterns))
                }
                Err(error) => {
                    watcher.problem(&error);
                    None
                }
            }
        });
        let proposals: Vec<Option<(usize, Vec<Pattern>)>> =
            proposals.buffered(self.settings.parallel.max(1)).collect().await;
        let mut all = Vec::new();
        for (tool, patterns) in proposals.into_iter().flatten().filter(|(_, patterns)| !patterns.is_empty()) {
            all.push((tool, self.grown(&patterns).await?));
        }
        Ok(all)
    }

    /// The learned patterns of a tool as they are proposed to be instead; `None` where there is nothing to edit or nothing changes.
    async fn edition(&self, tool: usize, wrong: &[&str]) -> Result<Option<Vec<Grown>>, LearnError> {
        let kept = self.tools.get(tool).map_or(0, |tool| tool.kept);
        let (Some(text), Some(patterns)) = (self.closeness.text(tool), self.closeness.patterns(tool).get(kept..))
        else {
            return Ok(None);
        };
        if wrong.is_empty() || patterns.is_empty() {
            return Ok(None);
        }
        let edition = Edition { tool: &text.name, description: &text.description, patterns, wrong };
        match self.means.proposer.edit(edition).await {
            Ok(edited) if edited.len() == patterns.len() && edited != patterns => Ok(Some(self.grown(&edited).await?)),
            Ok(_) => Ok(None),
            Err(error) => {
                self.watcher.problem(&error);
                Ok(None)
            }
        }
    }

    async fn grown(&self, patterns: &[Pattern]) -> Result<Vec<Grown>, LearnError> {
        let Some(embedder) = &self.means.embedder else {
            return Ok(patterns.iter().map(|pattern| Grown { pattern: pattern.clone(), vector: None }).collect());
        };
        let texts = patterns.iter().flat_map(pattern_texts).map(str::to_owned).collect();
        let vectors = embedder.embed(texts).await?;
        let mut rest = vectors.iter();
        let vector = |pattern: &Pattern| {
            pattern_vector(rest.by_ref().take(pattern_texts(pattern).count()), embedder.dimensions())
        };
        let vectors: Vec<Vector> = patterns.iter().map(vector).collect();
        Ok(patterns
            .iter()
            .zip(vectors)
            .map(|(pattern, vector)| Grown { pattern: pattern.clone(), vector: Some(vector) })
            .collect())
    }

    fn put(&mut self, tool: usize, grown: &[Grown], gain: f64) {
        self.closeness.add(tool, grown, &self.asked);
        self.grow(tool, grown, gain);
    }

    fn grow(&mut self, tool: usize, grown: &[Grown], gain: f64) {
        if let Some(tool) = self.tools.get_mut(tool) {
            tool.gains.extend(grown.iter().map(|_| gain));
        }
    }

    fn before_change(&self) -> Before {
        Before { closeness: self.closeness.clone(), tools: self.tools.clone() }
    }

    fn put_back(&mut self, before: Before) {
        self.closeness = before.closeness;
        self.tools = before.tools;
    }

    async fn training(&mut self) -> Board {
        let among = self.samples.training.clone();
        self.board(&among).await
    }

    async fn validation(&mut self) -> Board {
        let among = self.samples.validation.clone();
        self.board(&among).await
    }

    /// What is selected for some samples, by the retriever and whoever chooses behind it.
    async fn board(&mut self, among: &[usize]) -> Board {
        let columns: Vec<Vec<f32>> =
            (0..self.closeness.tools()).map(|tool| self.closeness.scores(tool, among)).collect();
        let rows: HashMap<usize, usize> = among.iter().enumerate().map(|(row, sample)| (*sample, row)).collect();
        let score = |sample: usize, tool: usize| {
            let row = rows.get(&sample).copied().unwrap_or_default();
            columns.get(tool).and_then(|column| column.get(row)).copied().unwrap_or(f32::NEG_INFINITY)
        };
        let mut board = Board::new(&self.samples, among, self.closeness.tools(), self.settings.doubt, score);
        self.select(&mut board).await;
        board
    }

    /// Has the selector choose among the best tools of each sample. What it was shown once, it is not asked again.
    async fn select(&mut self, board: &mut Board) {
        let count = self.means.selector.candidates();
        if count <= 1 {
            return;
        }
        let mut picks = Vec::new();
        for (row, sample) in board.samples().to_vec().into_iter().enumerate() {
            let best = board.best(row, count);
            let shown: Vec<(String, String)> = best
                .iter()
                .filter_map(|tool| self.closeness.text(*tool))
                .map(|text| (text.name.clone(), shown(text)))
                .collect();
            let candidates: Vec<Candidate<'_>> =
                shown.iter().map(|(name, description)| Candidate { name, description }).collect();
            let Some(query) = self.samples.queries.get(sample) else { continue };
            let key = key(query, &shown);
            let picked = match self.selections.get(&key) {
                Some(picked) => *picked,
                None => match self.means.selector.select(query, &candidates).await {
                    Ok(picked) => picked,
                    Err(error) => {
                        self.watcher.problem(&error);
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

    /// Fits the weights of all patterns to the samples that are learned from, and how words and meaning are weighed to those that confirm: patterns are
    /// made of words of the former.
    fn tune(&mut self, sharpness_too: bool) {
        let sharpnesses: &[f32] = if sharpness_too && self.means.embedder.is_some() { &SHARPNESS } else { &[] };
        let start: Vec<f32> = self.closeness.weights().collect();
        let among = self.samples.validation.clone();
        let mut best: Option<(f64, Vec<f32>, Fusion)> = None;
        for sharpness in
            sharpnesses.iter().copied().chain(sharpnesses.is_empty().then_some(self.closeness.fusion.sharpness))
        {
            self.closeness.weigh(start.iter().copied());
            self.closeness.fusion.sharpness = sharpness;
            self.fit_weights();
            let likelihood = self.tune_words(&among);
            if best.as_ref().is_none_or(|(most, ..)| likelihood > *most) {
                best = Some((likelihood, self.closeness.weights().collect(), self.closeness.fusion));
            }
        }
        if let Some((_, weights, fusion)) = best {
            self.closeness.weigh(weights);
            self.closeness.fusion = fusion;
        }
    }

    /// Takes the worth of words under which the right tools of some samples are most likely; gives that likelihood's logarithm.
    fn tune_words(&mut self, among: &[usize]) -> f64 {
        let mut best = (f64::NEG_INFINITY, self.closeness.fusion.words);
        for words in WORDS {
            self.closeness.fusion.words = words;
            let likelihood = self.likelihood(among);
            if likelihood > best.0 {
                best = (likelihood, words);
            }
        }
        self.closeness.fusion.words = best.1;
        best.0
    }

    /// The mean logarithm of the right tools' likelihood.
    fn likelihood(&self, among: &[usize]) -> f64 {
        let columns: Vec<Vec<f32>> =
            (0..self.closeness.tools()).map(|tool| self.closeness.scores(tool, among)).collect();
        let mut sum = 0.0;
        for (row, sample) in among.iter().enumerate() {
            let scores = || columns.iter().filter_map(|column| column.get(row)).copied();
            let largest = scores().fold(f32::NEG_INFINITY, f32::max);
            let total: f32 = scores().map(|score| (score - largest).exp()).sum();
            let right = self.samples.right.get(*sample).map_or(&[][..], Vec::as_slice);
            let told =
                right.iter().filter_map(|tool| columns.get(*tool)?.get(row)).map(|score| score - largest - total.ln());
            sum += f64::from(told.sum::<f32>()) / right.len().max(1) as f64;
        }
        sum / among.len().max(1) as f64
    }

    /// Without vectors the patterns of a tool cannot be told apart: their weights say no more than how often it is wanted, and need less to hold them.
    fn ridge(&self) -> f32 {
        self.settings.ridge * if self.means.embedder.is_some() { 1.0 } else { WORDS_ONLY_RIDGE }
    }

    /// Fits the weights of one tool's patterns, with all others as they are.
    fn fit_one(&self, tool: usize, one: &mut Closeness, rivals: &Rivals) {
        let among = &self.samples.training;
        let right = |sample: &usize| if self.samples.wants(*sample, tool) { &[0][..] } else { &[1][..] };
        let problem = Problem {
            own: vec![one.own_likeness(0, among), rivals.of(tool)],
            words: vec![one.words(0, among), vec![0.0; among.len()]],
            patterns: one.pattern_likeness(among),
            right: among.iter().map(right).collect(),
        };
        let start: Vec<f32> = one.weights().map(f32::ln).collect();
        one.weigh(problem.fit(&start, self.ridge()).into_iter().map(f32::exp));
    }

    fn fit_weights(&mut self) {
        let among = &self.samples.training;
        let tools = 0..self.closeness.tools();
        let problem = Problem {
            own: tools.clone().map(|tool| self.closeness.own_likeness(tool, among)).collect(),
            words: tools.map(|tool| self.closeness.words(tool, among)).collect(),
            patterns: self.closeness.pattern_likeness(among),
            right: among.iter().filter_map(|sample| self.samples.right.get(*sample)).map(Vec::as_slice).collect(),
        };
        let start: Vec<f32> = self.closeness.weights().map(f32::ln).collect();
        let logs = problem.fit(&start, self.ridge());
        self.closeness.weigh(logs.into_iter().map(f32::exp));
    }
}

/// A tool as a selector sees it: patterns included.
fn shown(text: &ToolText) -> String {
    let patterns = text.patterns.iter().map(Pattern::text);
    std::iter::once(text.description.clone()).chain(patterns).collect::<Vec<_>>().join("\n")
}

fn key(query: &str, shown: &[(String, String)]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (query, shown).hash(&mut hasher);
    hasher.finish()
}
