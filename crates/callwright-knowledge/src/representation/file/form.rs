//! Serialized form of a representation file.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::stored::{
    LearnerRun, PatternSource, Ranking, RepresentationFile, StoredClassifier, StoredPattern, StoredRepresentation,
};
use super::tidy::joined;
use callwright_common::digest::{add_part, hex};
use callwright_search::retrieval::ClassifierWeights;
use callwright_types::representation::Pattern;

/// Number of hexadecimal digits of a pattern's digest: collisions of accidental edits are unlikely, and the text stays
/// short.
const DIGEST_DIGITS: usize = 16;

/// Content of a file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RepresentationFileForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) toolset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) learned: Option<LearnedForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ranking: Option<RankingForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) classifier: Option<ClassifierReferenceForm>,
    pub(super) tools: Vec<RepresentationToolForm>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LearnedForm {
    pub(super) date: Date,
    pub(super) proposer: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) embedder: Option<String>,
    pub(super) seed: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) macro_f1: Option<MacroF1Form>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MacroF1Form {
    pub(super) before: f64,
    pub(super) after: f64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RankingForm {
    pub(super) sharpness: f32,
    pub(super) words: f32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassifierReferenceForm {
    pub(super) weight: f32,
    #[serde(default = "default_weight")]
    pub(super) scale: f32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) no_tool: Option<f32>,
    pub(super) digest: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RepresentationToolForm {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) patterns: Vec<PatternForm>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatternForm {
    pub(super) description: String,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub(super) cases: Vec<String>,
    #[serde(default = "default_weight")]
    pub(super) weight: f32,
    #[serde(default)]
    pub(super) source: SourceForm,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) gain: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) date: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) digest: Option<String>,
}

/// PatternSource in its text form.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct SourceForm(PatternSource);

impl TryFrom<String> for SourceForm {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

impl From<SourceForm> for String {
    fn from(form: SourceForm) -> Self {
        form.0.to_string()
    }
}

fn default_weight() -> f32 {
    1.0
}

/// Rounds points of F1 to two decimals; differences below that are noise.
fn rounded(points: f64) -> f64 {
    (points * 100.0).round() / 100.0
}

impl RepresentationFileForm {
    pub(super) fn new(file: &RepresentationFile) -> Self {
        let RepresentationFile { toolset, learned, ranking, classifier, tools } = file;
        Self {
            toolset: toolset.clone(),
            learned: learned.as_ref().map(|learned| LearnedForm {
                date: learned.date,
                proposer: learned.proposer.clone(),
                embedder: learned.embedder.clone(),
                seed: learned.seed,
                macro_f1: learned
                    .macro_f1
                    .map(|(before, after)| MacroF1Form { before: rounded(before), after: rounded(after) }),
            }),
            ranking: ranking.map(|Ranking { sharpness, words }| RankingForm { sharpness, words }),
            classifier: classifier.as_ref().map(ClassifierReferenceForm::new),
            tools: tools.iter().map(RepresentationToolForm::new).collect(),
        }
    }

    pub(super) fn into_file(self) -> RepresentationFile {
        RepresentationFile {
            toolset: self.toolset,
            learned: self.learned.map(|learned| LearnerRun {
                date: learned.date,
                proposer: learned.proposer,
                embedder: learned.embedder,
                seed: learned.seed,
                macro_f1: learned.macro_f1.map(|f1| (f1.before, f1.after)),
            }),
            ranking: self.ranking.map(|ranking| Ranking { sharpness: ranking.sharpness, words: ranking.words }),
            classifier: self.classifier.map(ClassifierReferenceForm::into_stored),
            tools: self.tools.into_iter().map(RepresentationToolForm::into_stored).collect(),
        }
    }
}

impl ClassifierReferenceForm {
    pub(super) fn new(stored: &StoredClassifier) -> Self {
        let StoredClassifier { weights: ClassifierWeights { weight, scale, no_tool }, digest } = stored;
        Self { weight: *weight, scale: *scale, no_tool: *no_tool, digest: digest.clone() }
    }

    fn into_stored(self) -> StoredClassifier {
        let weights = ClassifierWeights { weight: self.weight, scale: self.scale, no_tool: self.no_tool };
        StoredClassifier { weights, digest: self.digest }
    }
}

impl RepresentationToolForm {
    fn new(stored: &StoredRepresentation) -> Self {
        Self { tool: stored.tool.clone(), patterns: stored.patterns.iter().map(PatternForm::new).collect() }
    }

    fn into_stored(self) -> StoredRepresentation {
        let patterns = self.patterns.into_iter().map(PatternForm::into_stored).collect();
        StoredRepresentation { tool: self.tool, patterns }
    }
}

impl PatternForm {
    fn new(stored: &StoredPattern) -> Self {
        let StoredPattern { pattern, source, gain, date } = stored;
        Self {
            description: pattern.description.clone(),
            cases: pattern.cases.clone(),
            weight: pattern.weight,
            source: SourceForm(source.clone()),
            gain: gain.map(rounded),
            date: *date,
            digest: (!source.is_kept()).then(|| digest(pattern)),
        }
    }

    /// Converts the form. A learned pattern whose digest does not match was edited by a person, so its gain is dropped.
    fn into_stored(self) -> StoredPattern {
        let cases = self.cases.iter().map(|case| joined(case)).collect();
        let pattern = Pattern { description: joined(&self.description), cases, weight: self.weight };
        let is_edited = !self.source.0.is_kept() && self.digest.as_deref() != Some(digest(&pattern).as_str());
        let (source, gain) = if is_edited { (PatternSource::Edited, None) } else { (self.source.0, self.gain) };
        StoredPattern { pattern, source, gain, date: self.date }
    }
}

/// Returns the digest of the parts of a pattern that a person may edit: its texts and its weight.
fn digest(pattern: &Pattern) -> String {
    let mut hash = Sha256::new();
    add_part(&mut hash, &pattern.weight.to_bits().to_be_bytes());
    for text in std::iter::once(&pattern.description).chain(&pattern.cases) {
        add_part(&mut hash, text.as_bytes());
    }
    let mut digits = hex(&hash.finalize());
    digits.truncate(DIGEST_DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_changes_the_digest() {
        let pattern = Pattern { description: "a".to_owned(), cases: vec!["b".to_owned(), "c".to_owned()], weight: 1.0 };
        let mut changed = vec![pattern.clone(); 4];
        changed[0].description.push('!');
        changed[1].cases.pop();
        changed[2].cases.swap(0, 1);
        changed[3].weight = 0.5;
        let own = digest(&pattern);
        assert_eq!(own.len(), DIGEST_DIGITS);
        assert!(changed.iter().all(|other| digest(other) != own));
        assert_eq!(digest(&pattern.clone()), own);
    }
}
