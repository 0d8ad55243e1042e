//! The classifier beside a representation file: JSON with one line per class.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::RepresentationError;
use super::limits;
use super::stored::StoredClassifier;
use super::write::replace;
use callwright_common::digest::hex;
use callwright_common::json::raw;
use callwright_common::limits::LINE_CHARS;
use callwright_common::text::shortened;
use callwright_common::watch::FolderFile;
use callwright_search::retrieval::{ClassifierModel, ClassifierWeights, ToolClass, ToolClassifier};

/// Version of the format.
const FORMAT: u32 = 1;

/// Maximum number of components of a vector.
const MAX_DIMENSIONS: usize = 8_192;

/// Maximum magnitude of a number, far above any that is learned.
const MAX_NUMBER: f32 = 10_000.0;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassifierForm {
    format: u32,
    embedder: Option<String>,
    dimensions: usize,
    terms: BTreeMap<String, f32>,
    classes: Vec<ClassForm>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassForm {
    tool: Option<String>,
    bias: f32,
    unit: f32,
    terms: BTreeMap<String, f32>,
    meaning: Vec<i8>,
}

/// Returns the path of the classifier of a representation file.
pub(super) fn classifier_path(file: &Path) -> PathBuf {
    file.with_extension("classifier.json")
}

/// Writes a classifier beside a representation file, and returns its reference. Equal content produces equal bytes.
pub(super) fn write_classifier(
    file: &Path,
    model: &ClassifierModel,
    weights: ClassifierWeights,
) -> Result<StoredClassifier, RepresentationError> {
    let (path, text) = (classifier_path(file), text(model));
    replace(&path, &text).map_err(|source| RepresentationError::Unwritable { path, source })?;
    Ok(StoredClassifier { weights, digest: digest(&text) })
}

/// Removes the classifier beside a representation file, if there is one.
pub(super) fn remove_classifier(file: &Path) -> Result<(), RepresentationError> {
    let path = classifier_path(file);
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(RepresentationError::Unwritable { path, source })
        }
        _ => Ok(()),
    }
}

/// Reads the classifier to which a representation file refers.
///
/// # Errors
/// [`RepresentationError`]: the file is missing, was changed or exchanged, or is invalid.
pub(in crate::representation) fn read_classifier(
    file: &Path,
    stored: &StoredClassifier,
) -> Result<ToolClassifier, RepresentationError> {
    let (path, text) = read_text(file, stored)?;
    parse_verified(&text, stored).map_err(|message| RepresentationError::InvalidContent {
        path,
        location: "/".to_owned(),
        message,
    })
}

/// Reads the text of the classifier to which a representation file refers. Also returns its path.
///
/// # Errors
/// [`RepresentationError`]: the file is missing, or was changed or exchanged.
pub(super) fn read_text(file: &Path, stored: &StoredClassifier) -> Result<(PathBuf, String), RepresentationError> {
    let path = classifier_path(file);
    let FolderFile { text, .. } = FolderFile::read(path.clone(), limits::FILE_BYTES)?;
    if digest(&text) == stored.digest {
        return Ok((path, text));
    }
    let name = file.display();
    let message =
        format!("the classifier is not that of {name}; copy both files together, or remove `classifier` from {name}");
    Err(RepresentationError::InvalidContent { path, location: "/".to_owned(), message })
}

/// Parses the text of a classifier.
///
/// # Errors
/// A message with the reason: it is another classifier's text, or invalid.
pub(super) fn parse_verified(text: &str, stored: &StoredClassifier) -> Result<ToolClassifier, String> {
    if digest(text) != stored.digest {
        return Err("the classifier was changed; share it again".to_owned());
    }
    parse(text).map(|model| ToolClassifier::new(&model, stored.weights))
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Returns the content of the file.
fn text(model: &ClassifierModel) -> String {
    let classes = model.classes.iter().map(|class| {
        let terms = class.terms.iter().filter_map(|(position, weight)| {
            let (term, _) = model.terms.get(*position)?;
            Some((term.clone(), *weight))
        });
        let (tool, meaning) = (class.tool.clone(), class.meaning.clone());
        ClassForm { tool, bias: class.bias, unit: class.unit, terms: terms.collect(), meaning }
    });
    let form = ClassifierForm {
        format: FORMAT,
        embedder: model.embedder.clone(),
        dimensions: model.dimensions,
        terms: model.terms.iter().cloned().collect(),
        classes: classes.collect(),
    };
    format!("{}\n", raw(&form))
}

/// Parses and validates a classifier.
fn parse(text: &str) -> Result<ClassifierModel, String> {
    let form: ClassifierForm = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        format!("invalid classifier: {}; learn it again", shortened(&message, LINE_CHARS))
    })?;
    check(&form)?;
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(form.terms.len());
    for (at, term) in form.terms.keys().enumerate() {
        positions.insert(term, at);
    }
    let mut classes = Vec::with_capacity(form.classes.len());
    for class in &form.classes {
        let mut terms = Vec::with_capacity(class.terms.len());
        for (term, weight) in &class.terms {
            let position = positions.get(term.as_str());
            terms.push((*position.ok_or_else(|| unknown_term(class, term))?, *weight));
        }
        terms.sort_by(|one, other| other.1.abs().total_cmp(&one.1.abs()).then(one.0.cmp(&other.0)));
        let (tool, meaning) = (class.tool.clone(), class.meaning.clone());
        classes.push(ToolClass { tool, bias: class.bias, terms, meaning, unit: class.unit });
    }
    let terms = form.terms.into_iter().collect();
    Ok(ClassifierModel { embedder: form.embedder, dimensions: form.dimensions, terms, classes })
}

fn unknown_term(class: &ClassForm, term: &str) -> String {
    format!("{} has the term `{}`, which is not among `terms`", class_phrase(class), shortened(term, LINE_CHARS))
}

fn class_phrase(class: &ClassForm) -> String {
    let tool = class.tool.as_deref().map(|tool| format!("the class of `{}`", shortened(tool, LINE_CHARS)));
    tool.unwrap_or_else(|| "the class of no tool".to_owned())
}

fn check(form: &ClassifierForm) -> Result<(), String> {
    if form.format != FORMAT {
        return Err(format!("`format` is {}; this version reads {FORMAT}: learn it again", form.format));
    }
    if form.dimensions > MAX_DIMENSIONS || form.classes.len() > limits::TOOLS + 1 {
        return Err("too many dimensions or classes; learn it again".to_owned());
    }
    if form.embedder.is_none() != (form.dimensions == 0) {
        return Err("`dimensions` is 0 exactly if there is no `embedder`".to_owned());
    }
    if let Some((term, _)) = form.terms.iter().find(|(_, rarity)| !is_number(**rarity)) {
        return Err(format!("the term `{}` has no usable weight", shortened(term, LINE_CHARS)));
    }
    let mut seen = HashSet::new();
    for class in &form.classes {
        if !seen.insert(class.tool.as_deref()) {
            return Err(format!("{} occurs twice", class_phrase(class)));
        }
        let numbers = class.terms.values().chain([&class.bias, &class.unit]);
        if !numbers.copied().all(is_number) || class.meaning.len() != form.dimensions {
            return Err(format!(
                "{} has an unusable number, or not {} components",
                class_phrase(class),
                form.dimensions
            ));
        }
    }
    Ok(())
}

fn is_number(number: f32) -> bool {
    number.is_finite() && number.abs() <= MAX_NUMBER
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: ClassifierWeights = ClassifierWeights { weight: 2.0, scale: 0.5, no_tool: Some(0.25) };

    fn model() -> ClassifierModel {
        let class = |tool: Option<&str>, terms: &[(usize, f32)]| ToolClass {
            tool: tool.map(str::to_owned),
            bias: -0.5,
            terms: terms.to_vec(),
            meaning: vec![127, -3],
            unit: 0.01,
        };
        ClassifierModel {
            embedder: Some("static@1".to_owned()),
            dimensions: 2,
            terms: vec![("card".to_owned(), 1.5), ("lost \"card\"".to_owned(), 2.25)],
            classes: vec![class(Some("block"), &[(1, -0.75), (0, 0.5)]), class(None, &[])],
        }
    }

    #[test]
    fn classifiers_are_read_back_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bank.yaml");
        let stored = write_classifier(&file, &model(), WEIGHTS).unwrap();
        let text = std::fs::read_to_string(folder.path().join("bank.classifier.json")).unwrap();
        assert_eq!(parse(&text).unwrap(), model());
        assert!(text.contains("{\"card\":0.5,\"lost \\\"card\\\"\":-0.75}"), "{text}");
        assert_eq!(read_classifier(&file, &stored).unwrap().weights(), WEIGHTS);
        remove_classifier(&file).unwrap();
        remove_classifier(&file).unwrap();
        assert!(read_classifier(&file, &stored).unwrap_err().to_string().starts_with("cannot read "));
    }

    #[test]
    fn classifier_of_another_file_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bank.yaml");
        let stored = write_classifier(&file, &model(), WEIGHTS).unwrap();
        std::fs::write(classifier_path(&file), text(&ClassifierModel::default())).unwrap();
        let error = read_classifier(&file, &stored).unwrap_err().to_string();
        assert!(error.contains("is not that of") && error.contains("remove `classifier`"), "{error}");
    }

    #[test]
    fn invalid_classifiers_are_rejected_with_the_reason() {
        let valid = text(&model());
        for (from, to, reason) in [
            ("\"format\":1", "\"format\":2", "`format` is 2"),
            ("\"dimensions\":2", "\"dimensions\":3", "not 3 components"),
            ("\"dimensions\":2", "\"dimensions\":0", "exactly if"),
            ("\"bias\":-0.5", "\"bias\":1e30", "unusable number"),
            ("\"card\":1.5", "\"card\":1e30", "no usable weight"),
            ("\"card\":0.5", "\"cart\":0.5", "the term `cart`"),
            ("\"tool\":null", "\"tool\":\"block\"", "occurs twice"),
            ("127", "128", "invalid classifier"),
            ("\"unit\"", "\"unity\"", "invalid classifier"),
        ] {
            let error = parse(&valid.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(reason), "{from}: {error}");
        }
        assert!(parse("{").is_err() && parse("").is_err());
    }
}
