//! Content of a representation file.

use std::fmt;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::form::{ClassifierReferenceForm, PatternForm, read_macro_f1, write_macro_f1};
use super::limits;
use callwright_common::text::{one_line, shortened};
use callwright_search::retrieval::ClassifierWeights;
use callwright_types::representation::{Pattern, Representation};

/// Representation file: learned and edited patterns of the tools of one toolset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepresentationFile {
    /// Toolset; `None` for tools that clients send, which are matched by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolset: Option<String>,
    /// Last run of the learner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnerRun>,
    /// Ranking parameters of the tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
    /// Classifier beside the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classifier: Option<StoredClassifier>,
    /// Tools in the order of the file.
    pub tools: Vec<StoredRepresentation>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnerRun {
    pub date: Date,
    /// Name of the proposer: `Proposer::name` of the lab.
    pub proposer: String,
    /// Embedder of the vectors in the run; `None`: words only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub embedder: Option<String>,
    /// Seed of the split of the samples.
    pub seed: u64,
    /// Macro-F1 on the validation samples before and after, in percent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[serde(serialize_with = "write_macro_f1", deserialize_with = "read_macro_f1")]
    pub macro_f1: Option<(f64, f64)>,
}

/// Parameters that combine word and semantic similarity to a score. Learned together with the patterns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    /// Weight of the best similarity relative to the others.
    pub sharpness: f32,
    /// Weight of words relative to meaning.
    pub words: f32,
}

/// Reference of a representation file to its classifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "ClassifierReferenceForm", into = "ClassifierReferenceForm")]
pub struct StoredClassifier {
    /// Weights of its contribution.
    pub weights: ClassifierWeights,
    /// Digest of the file of the classifier.
    pub digest: String,
}

/// Tool of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredRepresentation {
    /// Name of the tool.
    pub tool: String,
    /// Patterns in the order of the file.
    #[serde(default)]
    pub patterns: Vec<StoredPattern>,
}

/// Pattern with its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "PatternForm", into = "PatternForm")]
pub struct StoredPattern {
    pub pattern: Pattern,
    pub source: PatternSource,
    /// Gain in macro-F1 on the validation samples, in percentage points.
    pub gain: Option<f64>,
    /// Date on which it was learned or written.
    pub date: Option<Date>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PatternSource {
    /// Proposed by this proposer and not edited since.
    Learned(String),
    /// Learned, then edited by a person.
    Edited,
    /// Written by a person.
    #[default]
    Written,
}

impl PatternSource {
    /// Whether the pattern belongs to a person, so that the learner neither changes nor removes it.
    pub fn is_kept(&self) -> bool {
        !matches!(self, Self::Learned(_))
    }
}

/// Prefix of the proposer's name.
const LEARNED: &str = "learned ";

impl fmt::Display for PatternSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Learned(proposer) => write!(f, "{LEARNED}{proposer}"),
            Self::Edited => f.write_str("edited"),
            Self::Written => f.write_str("written"),
        }
    }
}

impl From<PatternSource> for String {
    fn from(source: PatternSource) -> Self {
        source.to_string()
    }
}

impl TryFrom<String> for PatternSource {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "edited" => Ok(Self::Edited),
            "written" => Ok(Self::Written),
            _ => match text.strip_prefix(LEARNED).map(str::trim).filter(|proposer| !proposer.is_empty()) {
                Some(proposer) => Ok(Self::Learned(proposer.to_owned())),
                None => Err(format!("unknown source `{text}`; there are `learned NAME`, `edited` and `written`")),
            },
        }
    }
}

impl StoredPattern {
    /// Returns a pattern of `proposer` that the validation samples confirmed. Its texts are normalised for a file: one
    /// line, no control characters, within the limits.
    pub fn learned(pattern: &Pattern, proposer: &str, gain: f64, date: Date) -> Self {
        let cases = pattern.cases.iter().map(|case| shortened(&one_line(case), limits::CASE_CHARS).to_owned());
        let mut cases: Vec<String> = cases.filter(|case| !case.is_empty()).take(limits::CASES).collect();
        let mut description = shortened(&one_line(&pattern.description), limits::DESCRIPTION_CHARS).to_owned();
        // Without a general sentence, the first case becomes the description. The set of texts stays as it was
        // validated.
        if description.is_empty() && !cases.is_empty() {
            description = cases.remove(0);
        }
        let weight = pattern.weight.clamp(limits::LEAST_WEIGHT, limits::WEIGHT);
        Self {
            pattern: Pattern { description, cases, weight },
            source: PatternSource::Learned(one_line(proposer)),
            gain: Some(gain),
            date: Some(date),
        }
    }
}

impl StoredRepresentation {
    /// Returns the patterns that belong to people.
    pub fn kept(&self) -> impl Iterator<Item = &StoredPattern> {
        self.patterns.iter().filter(|stored| stored.source.is_kept())
    }

    /// Returns the patterns, best first: those of people, then by descending gain, then by descending weight.
    pub fn representation(&self) -> Representation {
        let mut order: Vec<&StoredPattern> = self.patterns.iter().collect();
        order.sort_by(|one, other| {
            let kept = other.source.is_kept().cmp(&one.source.is_kept());
            let (gain, other_gain) = (one.gain.unwrap_or(f64::NEG_INFINITY), other.gain.unwrap_or(f64::NEG_INFINITY));
            let by_weight = other.pattern.weight.total_cmp(&one.pattern.weight);
            kept.then(other_gain.total_cmp(&gain)).then(by_weight)
        });
        let patterns = order.into_iter().map(|stored| stored.pattern.clone()).collect();
        Representation { tool: self.tool.clone(), patterns }
    }
}

impl RepresentationFile {
    /// Returns the tool of this name.
    pub fn tool(&self, name: &str) -> Option<&StoredRepresentation> {
        self.tools.iter().find(|stored| stored.tool == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(description: &str, source: PatternSource, gain: Option<f64>, weight: f32) -> StoredPattern {
        let pattern = Pattern { description: description.to_owned(), cases: Vec::new(), weight };
        StoredPattern { pattern, source, gain, date: None }
    }

    #[test]
    fn sources_are_parsed_as_written() {
        for source in [PatternSource::Learned("gpt 4".to_owned()), PatternSource::Edited, PatternSource::Written] {
            assert_eq!(PatternSource::try_from(source.to_string()), Ok(source));
        }
        for wrong in ["", "learned", "learned ", "Edited", "extractive"] {
            assert!(PatternSource::try_from(wrong.to_owned()).unwrap_err().contains("`learned NAME`"), "{wrong}");
        }
    }

    #[test]
    fn handwritten_patterns_come_first_then_those_with_most_gain() {
        let learned = || PatternSource::Learned("extractive".to_owned());
        let patterns = vec![
            stored("light", learned(), Some(1.0), 0.5),
            stored("heavy", learned(), Some(1.0), 2.0),
            stored("most", learned(), Some(3.0), 0.1),
            stored("edited", PatternSource::Edited, None, 1.0),
            stored("written", PatternSource::Written, None, 1.0),
        ];
        let representation = StoredRepresentation { tool: "t".to_owned(), patterns }.representation();
        let order: Vec<&str> = representation.patterns.iter().map(|pattern| pattern.description.as_str()).collect();
        assert_eq!(order, ["edited", "written", "most", "heavy", "light"]);
    }

    #[test]
    fn learned_patterns_are_normalized_for_a_file() {
        let case = "word ".repeat(limits::CASE_CHARS);
        let pattern = Pattern {
            description: " Lost\u{0} or\n stolen\u{202e} ".to_owned(),
            cases: [" \n".to_owned(), case].into_iter().chain((0..20).map(|number| number.to_string())).collect(),
            weight: 1.0,
        };
        let stored = StoredPattern::learned(&pattern, "a\nb", 0.5, Date::default());
        assert_eq!(stored.pattern.description, "Lost or stolen");
        assert_eq!(stored.pattern.cases.len(), limits::CASES);
        assert!(stored.pattern.cases[0].chars().count() <= limits::CASE_CHARS);
        assert!(stored.pattern.cases[0].ends_with("word"), "cut between words");
        assert_eq!(stored.source, PatternSource::Learned("a b".to_owned()));
        let nameless =
            Pattern { description: "\u{0}".to_owned(), cases: vec!["a".to_owned(), "b".to_owned()], weight: 0.0 };
        let stored = StoredPattern::learned(&nameless, "x", 0.5, Date::default()).pattern;
        assert_eq!((stored.description.as_str(), stored.cases.as_slice()), ("a", &["b".to_owned()][..]));
        assert!(stored.weight > 0.0);
    }
}
