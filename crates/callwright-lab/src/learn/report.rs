//! Report of a run of the learner: `report.json`.

use serde::Serialize;

use crate::representation::{ClassifierEffect, Confusion, LearningPoint, ProposeError};
use callwright_types::Cost;

/// File name of the report in the folder of the representations.
pub(super) const REPORT_FILE: &str = "report.json";

/// Report of a run of the learner. It contains no times: an equal run gives an equal report.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// Toolset; absent for tools defined by clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolset: Option<String>,
    /// Name of the proposer.
    pub proposer: String,
    /// Name of the selector among the found tools.
    pub selector: String,
    /// Id of the embedding model; absent if tools are searched by words only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// Seed of the split into training and validation samples.
    pub seed: u64,
    /// Minimum gain of a change in points of macro-F1.
    pub threshold: f64,
    /// Number of samples.
    pub samples: usize,
    /// Share of validation samples; no pattern is derived from them.
    pub validation_share: f64,
    /// Macro-F1 on the validation samples before the first change, in percent.
    pub before: f64,
    /// Macro-F1 after the last change, in percent.
    pub after: f64,
    /// Scores after each iteration; the first point is the start.
    pub curve: Vec<LearningPoint>,
    /// Tools by descending gain.
    pub tools: Vec<ToolScores>,
    /// Number of learned patterns.
    pub patterns: usize,
    /// Scores on the samples of `--test`; absent without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<TestReport>,
    /// Effect of the classifier; absent if it does not improve the ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classifier: Option<ClassifierEffect>,
    /// Confused tools, most frequent first.
    pub confusions: Vec<Confusion>,
    /// Tools without a proposal, and the reasons.
    pub failures: Vec<ProposeError>,
    /// Cost of the model requests.
    pub cost: Cost,
}

/// Scores on the samples of `--test`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TestReport {
    /// Number of samples; those with a query that was learned from are left out.
    pub samples: usize,
    /// Number of samples with a query that was learned from.
    pub seen: usize,
    /// Plain descriptions, with the patterns of people.
    pub plain: TestScores,
    /// Learned patterns.
    pub patterns: TestScores,
    /// Learned patterns and the classifier; equal to `patterns` without one.
    pub learned: TestScores,
}

/// Scores of a ranking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TestScores {
    /// Percentage of requests whose first tool is right.
    pub first_right: f64,
    /// Macro-F1 in percent, with as many first tools as are right.
    pub macro_f1: f64,
    /// Percentage of the requests without a tool for which none is found; absent without such samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_tool: Option<f64>,
}

/// Scores of a tool before and after the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ToolScores {
    /// Tool name.
    pub tool: String,
    /// F1 before the run, in percent; absent if no validation sample expects the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// F1 after the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
    /// Number of patterns after the run.
    pub patterns: usize,
}

impl ToolScores {
    /// Returns the gain of the run in points.
    pub(super) fn gain(&self) -> f64 {
        self.after.unwrap_or(0.0) - self.before.unwrap_or(0.0)
    }
}

impl Report {
    /// Whether the run found nothing that improves the ranking: no pattern, no classifier, no weights.
    pub fn has_learned_nothing(&self) -> bool {
        self.patterns == 0 && self.classifier.is_none() && self.after <= self.before
    }

    /// Returns the text of `report.json`.
    pub fn to_text(&self) -> String {
        // Serialisation cannot fail: plain data with string keys.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
