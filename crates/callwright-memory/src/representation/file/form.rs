//! Written form of a pattern, with the digest that detects edits, and of the reference to a classifier.

use jiff::civil::Date;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::stored::{PatternSource, StoredClassifier, StoredPattern};
use callwright_common::digest::{add_part, hex};
use callwright_search::retrieval::ClassifierWeights;
use callwright_types::representation::Pattern;

/// Number of hexadecimal digits of a pattern's digest: collisions of accidental edits are unlikely, and the text stays
/// short.
const DIGEST_DIGITS: usize = 16;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MacroF1Form {
    before: f64,
    after: f64,
}

pub(super) fn write_macro_f1<S: Serializer>(points: &Option<(f64, f64)>, serializer: S) -> Result<S::Ok, S::Error> {
    let form = points.map(|(before, after)| MacroF1Form { before: rounded(before), after: rounded(after) });
    form.serialize(serializer)
}

pub(super) fn read_macro_f1<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<(f64, f64)>, D::Error> {
    let form = Option::<MacroF1Form>::deserialize(deserializer)?;
    Ok(form.map(|MacroF1Form { before, after }| (before, after)))
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClassifierReferenceForm {
    weight: f32,
    #[serde(default = "default_weight")]
    scale: f32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    no_tool: Option<f32>,
    digest: String,
}

impl From<StoredClassifier> for ClassifierReferenceForm {
    fn from(stored: StoredClassifier) -> Self {
        let StoredClassifier { weights: ClassifierWeights { weight, scale, no_tool }, digest } = stored;
        Self { weight, scale, no_tool, digest }
    }
}

impl From<ClassifierReferenceForm> for StoredClassifier {
    fn from(form: ClassifierReferenceForm) -> Self {
        let ClassifierReferenceForm { weight, scale, no_tool, digest } = form;
        Self { weights: ClassifierWeights { weight, scale, no_tool }, digest }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatternForm {
    description: String,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    cases: Vec<String>,
    #[serde(default = "default_weight")]
    weight: f32,
    #[serde(default)]
    source: PatternSource,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    gain: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    date: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    digest: Option<String>,
}

fn default_weight() -> f32 {
    1.0
}

/// Rounds points of F1 to two decimals; differences below that are noise.
fn rounded(points: f64) -> f64 {
    (points * 100.0).round() / 100.0
}

impl From<StoredPattern> for PatternForm {
    fn from(stored: StoredPattern) -> Self {
        let digest = (!stored.source.is_kept()).then(|| digest(&stored.pattern));
        let StoredPattern { pattern: Pattern { description, cases, weight }, source, gain, date } = stored;
        Self { description, cases, weight, source, gain: gain.map(rounded), date, digest }
    }
}

impl From<PatternForm> for StoredPattern {
    /// Converts the form. A learned pattern whose digest does not match was edited by a person, so its gain is dropped.
    fn from(form: PatternForm) -> Self {
        let cases = form.cases.iter().map(|case| joined(case)).collect();
        let pattern = Pattern { description: joined(&form.description), cases, weight: form.weight };
        let is_edited = !form.source.is_kept() && form.digest.as_deref() != Some(digest(&pattern).as_str());
        let (source, gain) = if is_edited { (PatternSource::Edited, None) } else { (form.source, form.gain) };
        Self { pattern, source, gain, date: form.date }
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

/// Returns the words of a text separated by one space, so that line breaks do not matter.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
