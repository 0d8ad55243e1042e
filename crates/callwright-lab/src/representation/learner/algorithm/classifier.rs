//! Trains the classifier and chooses its weight by samples that neither it nor the patterns were made from.

use std::collections::{HashMap, HashSet};

use super::Learner;
use crate::representation::learner::board::ScoreBoard;
use crate::representation::learner::classifier::{HeldOutScores, LearnedClassifier, TrainingSet, choose, train};
use crate::representation::learner::{LearnError, similarities::SampleQueries};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::{ClassifierModel, ClassifierWeights, ToolClassifier, UNKNOWN_MARGIN};

/// Number of parts of the confirming samples, or of the requests without a tool if there is no cross-validation. Each is
/// scored by a classifier trained without it.
pub(super) const PARTS: usize = 5;

/// Weights with which only margins are computed.
const UNWEIGHTED: ClassifierWeights = ClassifierWeights { weight: 1.0, scale: 1.0, no_tool: None };

/// Samples and requests without a tool, by position.
struct TrainingPart {
    samples: Vec<usize>,
    without_tool: Vec<usize>,
}

impl Learner<'_> {
    /// Returns the classifier; `None` if it finds no more right tools on held-out samples. `boards` have the scores by
    /// patterns that were made without their samples.
    pub(super) fn classifier(&self, boards: &[ScoreBoard]) -> Result<Option<LearnedClassifier>, LearnError> {
        if !self.settings.classify {
            return Ok(None);
        }
        let mut rows = Vec::new();
        for (part, board) in boards.iter().enumerate() {
            let validation: HashSet<usize> = board.samples.iter().copied().collect();
            let samples = (0..self.samples.queries.len()).filter(|sample| !validation.contains(sample)).collect();
            let parts = if boards.len() > 1 { boards.len() } else { PARTS };
            let (held_out, without_tool): (Vec<usize>, Vec<usize>) =
                (0..self.without_tool.queries.len()).partition(|at| at % parts == part);
            if let Some(model) = self.trained(&TrainingPart { samples, without_tool })? {
                self.hold_out(&model, board, &held_out, &mut rows);
            }
        }
        let Some((weights, effect)) = choose(&rows) else { return Ok(None) };
        let all = TrainingPart {
            samples: (0..self.samples.queries.len()).collect(),
            without_tool: (0..self.without_tool.queries.len()).collect(),
        };
        Ok(self.trained(&all)?.map(|model| LearnedClassifier { model, weights, effect }))
    }

    /// Trains on a part of the samples.
    fn trained(&self, part: &TrainingPart) -> Result<Option<ClassifierModel>, LearnError> {
        let mut set = TrainingSet {
            embedder: self.components.embedder.as_ref().map(|embedder| embedder.id()),
            vectors_of_tools: self.own.iter().collect(),
            ..TrainingSet::default()
        };
        for sample in &part.samples {
            if let (Some(query), Some(right)) = (self.samples.queries.get(*sample), self.samples.right.get(*sample)) {
                set.samples.push((query, right));
                set.vectors.extend(self.sample_queries.vectors.get(*sample));
            }
        }
        for at in &part.without_tool {
            set.without_tool.extend(self.without_tool.queries.get(*at).map(String::as_str));
            set.vectors_without_tool.extend(self.without_tool.vectors.get(*at));
        }
        for text in (0..self.similarities.tools()).filter_map(|tool| self.similarities.text(tool)) {
            set.tools.push((&text.name, text.embedded()));
        }
        train(&set, self.settings.seed, self.settings.jobs).map_err(|error| LearnError::Thread(error.to_string()))
    }

    /// Appends the scores of a board's samples and of the requests without a tool at `without_tool`.
    fn hold_out(
        &self,
        model: &ClassifierModel,
        board: &ScoreBoard,
        without_tool: &[usize],
        rows: &mut Vec<HeldOutScores>,
    ) {
        let held_out = HeldOutMargins::new(self, model);
        for (row, sample) in board.samples.iter().enumerate() {
            let (margins, no_tool) = held_out.margins(&self.sample_queries, *sample);
            let right = self.samples.right.get(*sample).cloned().unwrap_or_default();
            rows.push(HeldOutScores { scores: board.row(row).to_vec(), margins, right, no_tool });
        }
        for at in without_tool {
            let (margins, no_tool) = held_out.margins(&self.without_tool, *at);
            rows.push(HeldOutScores { scores: Vec::new(), margins, right: Vec::new(), no_tool });
        }
    }
}

/// Margins of the tools by a classifier.
struct HeldOutMargins {
    classifier: ToolClassifier,
    tools: usize,
    /// Tool of each class; `None`: no tool.
    classes: Vec<Option<usize>>,
}

impl HeldOutMargins {
    fn new(learner: &Learner<'_>, model: &ClassifierModel) -> Self {
        let mut positions: HashMap<&str, usize> = HashMap::new();
        let tools = learner.similarities.tools();
        for tool in 0..tools {
            if let Some(text) = learner.similarities.text(tool) {
                positions.entry(text.name.as_str()).or_insert(tool);
            }
        }
        let classes = model.classes.iter().map(|class| positions.get(class.tool.as_deref()?).copied()).collect();
        Self { classifier: ToolClassifier::new(model, UNWEIGHTED), tools, classes }
    }

    /// Returns each tool's margin above that of a wrong one, and the lead of "no tool" if that class exists.
    fn margins(&self, queries: &SampleQueries, at: usize) -> (Vec<f32>, Option<f32>) {
        let text = queries.queries.get(at).map_or("", String::as_str);
        let vector: Option<&Vector> = queries.vectors.get(at);
        let mut by_tool = vec![0.0; self.tools];
        let (mut best, mut none) = (UNKNOWN_MARGIN, None);
        let margins = self.classifier.margins(text, vector).unwrap_or_default();
        for (class, margin) in self.classes.iter().zip(margins) {
            match class.and_then(|tool| by_tool.get_mut(tool)) {
                Some(slot) => {
                    *slot = margin - UNKNOWN_MARGIN;
                    best = best.max(margin);
                }
                None => none = Some(margin),
            }
        }
        (by_tool, none.map(|none| none - best))
    }
}
