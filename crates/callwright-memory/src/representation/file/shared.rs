//! Representations shared by replicas through the store. They override the files' entries for the same tool.

use std::path::Path;

use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::classifier::{parse_verified, read_text};
use super::validate::{InvalidValue, validate};
use super::{Ranking, RepresentationError, RepresentationFile, StoredClassifier, StoredRepresentation};
use callwright_common::digest::{add_part, hex};
use callwright_search::retrieval::ToolClassifier;
use callwright_types::Evidence;
use callwright_types::representation::{SharedClassifier, SharedRanking, SharedRepresentation};

/// Number of hexadecimal digits of an id, as in a trace id.
const ID_DIGITS: usize = 32;

/// Path of shared representations in error messages.
const STORE: &str = "the store";

/// Returns the id of a tool's shared representation; it is the same in all processes.
pub fn shared_id(toolset: Option<&str>, tool: &str) -> String {
    let mut hash = Sha256::new();
    for part in toolset.into_iter().chain([tool]) {
        add_part(&mut hash, part.as_bytes());
    }
    let mut digits = hex(&hash.finalize());
    digits.truncate(ID_DIGITS);
    format!("rep_{digits}")
}

/// Returns the id of a toolset's shared classifier; it is the same in all processes.
pub fn shared_classifier_id(toolset: Option<&str>) -> String {
    // No tool has this name.
    shared_id(toolset, "")
}

/// Reads a shared classifier. Returns `None` if the entry is the representation of a tool.
///
/// # Errors
/// [`RepresentationError::InvalidContent`]: the content is invalid beside a file.
pub(in crate::representation) fn shared_classifier(
    shared: &SharedRepresentation,
) -> Option<Result<ToolClassifier, RepresentationError>> {
    let SharedClassifier { reference, text } = shared.classifier.as_ref()?;
    Some(
        reference_of(shared, reference)
            .and_then(|stored| parse_verified(text, &stored).map_err(|message| invalid_content(&shared.id, &message))),
    )
}

fn reference_of(shared: &SharedRepresentation, reference: &Value) -> Result<StoredClassifier, RepresentationError> {
    let stored: StoredClassifier =
        serde_json::from_value(reference.clone()).map_err(|error| invalid_content(&shared.id, &error))?;
    check(&RepresentationFile { classifier: Some(stored.clone()), ..RepresentationFile::default() })?;
    Ok(stored)
}

impl RepresentationFile {
    /// Converts the classifier beside this file, which is at `path`, to its shared form; `None` without one.
    ///
    /// # Errors
    /// [`RepresentationError`]: the classifier cannot be read, or is not that of the file.
    pub fn classifier_to_shared(
        &self,
        path: &Path,
        evidence: Vec<Evidence>,
        now: Timestamp,
    ) -> Result<Option<SharedRepresentation>, RepresentationError> {
        let Some(stored) = &self.classifier else { return Ok(None) };
        let (path, text) = read_text(path, stored)?;
        let unusable = |message| RepresentationError::InvalidContent { path, location: "/".to_owned(), message };
        parse_verified(&text, stored).map_err(unusable)?;
        let reference = serde_json::to_value(stored).map_err(|error| invalid_content("/classifier", &error))?;
        Ok(Some(SharedRepresentation {
            id: shared_classifier_id(self.toolset.as_deref()),
            toolset: self.toolset.clone(),
            tool: String::new(),
            patterns: Value::Array(Vec::new()),
            ranking: None,
            classifier: Some(SharedClassifier { reference, text }),
            evidence,
            updated_at: now,
        }))
    }

    /// Converts each tool to its shared form. `evidence_of` returns the evidence for a tool's patterns.
    ///
    /// # Errors
    /// [`RepresentationError::InvalidContent`]: the content is invalid.
    pub fn to_shared(
        &self,
        evidence_of: impl Fn(&str) -> Vec<Evidence>,
        now: Timestamp,
    ) -> Result<Vec<SharedRepresentation>, RepresentationError> {
        check(self)?;
        let ranking = self.ranking.map(|ranking| SharedRanking { sharpness: ranking.sharpness, words: ranking.words });
        let shared = self.tools.iter().map(|tool| {
            Ok(SharedRepresentation {
                id: shared_id(self.toolset.as_deref(), &tool.tool),
                toolset: self.toolset.clone(),
                tool: tool.tool.clone(),
                patterns: serde_json::to_value(&tool.patterns).map_err(|error| invalid_content("/patterns", &error))?,
                ranking,
                classifier: None,
                evidence: evidence_of(&tool.tool),
                updated_at: now,
            })
        });
        shared.collect()
    }

    /// Converts the shared representation of one tool to a file.
    ///
    /// # Errors
    /// [`RepresentationError::InvalidContent`]: the content is invalid in a file.
    pub fn from_shared(shared: &SharedRepresentation) -> Result<Self, RepresentationError> {
        let patterns =
            serde_json::from_value(shared.patterns.clone()).map_err(|error| invalid_content(&shared.id, &error))?;
        let file = Self {
            toolset: shared.toolset.clone(),
            ranking: shared.ranking.map(|SharedRanking { sharpness, words }| Ranking { sharpness, words }),
            tools: vec![StoredRepresentation { tool: shared.tool.clone(), patterns }],
            ..Self::default()
        };
        check(&file)?;
        Ok(file)
    }

    /// Overrides the tools of this file with the shared representations of its toolset. Invalid ones are skipped.
    #[must_use]
    pub fn with_shared(mut self, shared: &[SharedRepresentation]) -> Self {
        let tools = shared.iter().filter(|shared| shared.classifier.is_none());
        for shared_tool in tools.filter(|shared| shared.toolset == self.toolset) {
            let Ok(Self { tools, .. }) = Self::from_shared(shared_tool) else { continue };
            for tool in tools {
                match self.tools.iter_mut().find(|stored| stored.tool == tool.tool) {
                    Some(stored) => *stored = tool,
                    None => self.tools.push(tool),
                }
            }
        }
        self.tools.retain(|StoredRepresentation { patterns, .. }| !patterns.is_empty());
        self
    }
}

fn check(file: &RepresentationFile) -> Result<(), RepresentationError> {
    validate(file).map_err(|InvalidValue { location, message }| invalid_content(&location.to_string(), &message))
}

fn invalid_content(location: &str, message: &impl ToString) -> RepresentationError {
    let path = Path::new(STORE).to_owned();
    RepresentationError::InvalidContent { path, location: location.to_owned(), message: message.to_string() }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::representation::PatternSource;
    use callwright_common::watch::FolderFile;

    fn file(text: &str) -> RepresentationFile {
        RepresentationFile::parse(&FolderFile { path: PathBuf::from("a.yaml"), text: text.to_owned() }).unwrap()
    }

    const BANK: &str = "toolset: bank\nranking: {sharpness: 8, words: 0.1}\ntools:\n- tool: pay\n  patterns:\n  \
        - {description: Paying., cases: [pay it], weight: 1.1}\n- tool: refund\n  patterns:\n  - description: Refunds.\n";

    #[test]
    fn shared_representation_equals_that_of_the_file() {
        let bank = file(BANK);
        let shared = bank.to_shared(|_| Vec::new(), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(shared.len(), 2);
        let text = serde_json::to_string(&shared[0]).unwrap();
        let again = RepresentationFile::from_shared(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!((&again.tools[0], again.ranking), (&bank.tools[0], bank.ranking));
    }

    #[test]
    fn shared_patterns_keep_their_source_and_store_edits_are_found() {
        let mut bank = file(BANK);
        bank.tools[0].patterns[0].source = PatternSource::Learned("extractive".to_owned());
        let mut shared = bank.to_shared(|_| Vec::new(), Timestamp::UNIX_EPOCH).unwrap().remove(0);
        let source = |shared: &SharedRepresentation| {
            RepresentationFile::from_shared(shared).unwrap().tools[0].patterns[0].source.clone()
        };
        assert_eq!(source(&shared), PatternSource::Learned("extractive".to_owned()));
        shared.patterns[0]["description"] = "Paying at once.".into();
        assert_eq!(source(&shared), PatternSource::Edited);
    }

    #[test]
    fn shared_representations_override_only_their_tool() {
        let shared_tool = file("toolset: bank\ntools:\n- tool: pay\n  patterns:\n  - description: Buying.\n");
        let other = file("tools:\n- tool: refund\n  patterns:\n  - description: By the client.\n");
        let mut shared = shared_tool.to_shared(|_| Vec::new(), Timestamp::UNIX_EPOCH).unwrap();
        shared.extend(other.to_shared(|_| Vec::new(), Timestamp::UNIX_EPOCH).unwrap());
        let text = |file: &RepresentationFile| -> Vec<String> {
            file.tools.iter().map(|tool| tool.patterns[0].pattern.description.clone()).collect()
        };
        assert_eq!(text(&file(BANK).with_shared(&shared)), ["Buying.", "Refunds."]);
        shared[0].patterns = serde_json::json!([]);
        assert_eq!(text(&file(BANK).with_shared(&shared)), ["Refunds."], "an empty list removes a tool's patterns");
        shared[0].patterns = serde_json::json!([{"description": ""}]);
        assert!(
            RepresentationFile::from_shared(&shared[0]).unwrap_err().to_string().contains("the description is empty")
        );
        assert_eq!(text(&file(BANK).with_shared(&shared)), ["Paying.", "Refunds."], "invalid entries are skipped");
    }

    #[test]
    fn client_tools_have_their_own_ids() {
        assert_ne!(shared_id(None, "pay"), shared_id(Some("bank"), "pay"));
        assert_ne!(shared_id(Some("a"), "bc"), shared_id(Some("ab"), "c"));
        assert_eq!(shared_id(None, "pay").len(), 4 + ID_DIGITS);
    }
}
