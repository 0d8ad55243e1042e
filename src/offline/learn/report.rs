//! What a run of the learner is reported to have done: `report.json`, and the page that is drawn from it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::offline::OfflineError;

/// The report's name in the folder of the representations.
pub(super) const REPORT_FILE: &str = "report.json";

/// A run of the learner. Times are not in it: the same run gives the same report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Report {
    /// The toolset; absent for tools that clients send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolset: Option<String>,
    /// Who proposed.
    pub proposer: String,
    /// Who chose among the tools that were found.
    pub selector: String,
    /// Whose vectors; absent where tools were found by words alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// What the samples were parted by.
    pub seed: u64,
    /// Points of macro-F1 that a change had to bring.
    pub threshold: f64,
    /// Samples that were learned from.
    pub training_samples: usize,
    /// Samples that changes were tried on.
    pub validation_samples: usize,
    /// Before the first change.
    pub before: Scores,
    /// After the last.
    pub after: Scores,
    /// After each iteration; the first point is the beginning.
    pub curve: Vec<CurvePoint>,
    /// Each tool that has validation samples, those that gained most first.
    pub tools: Vec<ToolScores>,
    /// Which tools are taken for which, most often first.
    pub confusions: Vec<Confusion>,
    /// Tools for which there was no proposal, and why.
    pub failures: Vec<Failure>,
    /// What asking models has cost.
    pub cost: Spent,
}

/// How well tools are found on the validation samples, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scores {
    /// Macro-F1 over the tools that have validation samples.
    pub macro_f1: f64,
    /// Samples whose best tool is a right one.
    pub accuracy: f64,
}

/// A point of the curve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CurvePoint {
    /// The iteration; 0 is the beginning.
    pub iteration: usize,
    /// Macro-F1 on the validation samples, in percent.
    pub macro_f1: f64,
    /// Patterns that were added in it.
    pub added: usize,
    /// Tools whose patterns were edited in it.
    pub edited: usize,
}

/// One tool, before and after.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolScores {
    /// Its name.
    pub tool: String,
    /// Its validation samples.
    pub samples: usize,
    /// F1 before, in percent.
    pub before: f64,
    /// F1 after, in percent.
    pub after: f64,
    /// Patterns that it has now.
    pub patterns: usize,
}

/// One tool that is taken for another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Confusion {
    /// The tool that was meant.
    pub wanted: String,
    /// The tool that was found.
    pub found: String,
    /// How often before.
    pub before: usize,
    /// How often after.
    pub after: usize,
}

/// A tool for which there was no proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// Its name.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// What asking models has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Requests.
    pub requests: u64,
    /// Tokens that were sent.
    pub prompt_tokens: u64,
    /// Tokens that were answered.
    pub completion_tokens: u64,
}

impl Report {
    /// Reads the report of a folder, or a report's file.
    ///
    /// # Errors
    /// [`OfflineError::Unreadable`]: there is none, or it is no report.
    pub fn read(place: &Path) -> Result<Self, OfflineError> {
        let path = if place.is_dir() { place.join(REPORT_FILE) } else { place.to_owned() };
        let unreadable = |source| OfflineError::Unreadable {
            file: path.display().to_string(),
            source,
            fix: "name the folder that `callwright learn representations` wrote to with --out",
        };
        let text = std::fs::read(&path).map_err(unreadable)?;
        serde_json::from_slice(&text).map_err(|error| unreadable(error.into()))
    }

    /// The text of `report.json`.
    pub fn to_text(&self) -> String {
        // Plain data with names for keys: it always has a text.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
