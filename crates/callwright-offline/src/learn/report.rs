//! What a run of the learner is reported to have done: `report.json`, and the page that is drawn from it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::OfflineError;
use callwright_types::Cost;

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
    /// Samples in all.
    pub samples: usize,
    /// Share of them that changes were tried on, and that nothing was copied from.
    pub validation_share: f64,
    /// Macro-F1 on those before the first change, in percent.
    pub before: f64,
    /// After the last.
    pub after: f64,
    /// After each iteration; the first point is the beginning.
    pub curve: Vec<CurvePoint>,
    /// Each tool, those that gained most first.
    pub tools: Vec<ToolScores>,
    /// Which tools are taken for which, most often first.
    pub confusions: Vec<Confusion>,
    /// Tools for which there was no proposal, and why.
    pub failures: Vec<Failure>,
    /// What asking models has cost.
    pub cost: Cost,
}

/// A point of the curve.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CurvePoint {
    /// The iteration; 0 is the beginning.
    pub iteration: usize,
    /// Macro-F1 on the validation samples, in percent.
    pub macro_f1: f64,
    /// Patterns of all tools after it.
    pub patterns: usize,
}

/// One tool, before and after.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolScores {
    /// Its name.
    pub tool: String,
    /// F1 before, in percent; absent where no sample that changes were tried on wants it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<f64>,
    /// F1 after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<f64>,
    /// Patterns that it has now.
    pub patterns: usize,
}

/// One tool that is taken for another.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Confusion {
    /// The tool that was meant.
    pub wanted: String,
    /// The tool that was taken instead.
    pub selected: String,
    /// For how many samples, after the last iteration.
    pub samples: usize,
}

/// A tool for which there was no proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// Its name.
    pub tool: String,
    /// Why.
    pub reason: String,
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
