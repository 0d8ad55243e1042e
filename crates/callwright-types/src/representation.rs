//! Representations: learned descriptions of the requests that a tool serves.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Evidence;

/// The learned text of a tool: typical requests for it. Stored apart from the tool's own description.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Representation {
    /// Name of the tool: within its toolset, or as sent by clients.
    pub tool: String,
    /// Patterns, in the order in which they are shown to a model.
    pub patterns: Vec<Pattern>,
}

/// One kind of request for a tool ("Large Language Models Can Learn Representation in Natural Language", section 4.2).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pattern {
    /// A general sentence.
    pub description: String,
    /// Two or three short phrases in the words of users.
    pub cases: Vec<String>,
    /// Weight of a similarity to this pattern, above 0; 1 is neutral, 0.5 is half.
    pub weight: f32,
}

impl Pattern {
    /// Returns description and cases as one text.
    pub fn text(&self) -> String {
        let parts = std::iter::once(self.description.as_str()).chain(self.cases.iter().map(String::as_str));
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// A representation shared by all replicas. It takes precedence over a representation file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedRepresentation {
    /// Id: `rep_` and hexadecimal digits.
    pub id: String,
    /// Toolset; `None` for tools sent by clients.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub toolset: Option<String>,
    /// Name of the tool.
    pub tool: String,
    /// Patterns in the form of a representation file; an empty list removes those of a file.
    pub patterns: Value,
    /// Ranking parameters of the toolset, if they were learned together with the patterns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranking: Option<SharedRanking>,
    /// Classifier of the toolset's requests. Such an entry is about no tool: it has neither a name nor patterns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub classifier: Option<SharedClassifier>,
    /// The verified outcomes that it was learned from; empty if people wrote it.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// A classifier shared by all replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedClassifier {
    /// Weights and digest, in the form of a representation file.
    pub reference: Value,
    /// Content of the classifier's file.
    pub text: String,
}

/// Parameters that combine lexical and semantic scores into a rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SharedRanking {
    /// Weight of the highest similarity relative to the others.
    pub sharpness: f32,
    /// Weight of the lexical score relative to the semantic one.
    pub words: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_pattern_is_all_that_it_says() {
        let pattern = |description: &str, cases: &[&str]| Pattern {
            description: description.to_owned(),
            cases: cases.iter().map(|case| (*case).to_owned()).collect(),
            weight: 1.0,
        };
        assert_eq!(
            pattern("Lost cards.", &["lost my card", "", "card is gone"]).text(),
            "Lost cards. lost my card card is gone"
        );
        assert_eq!(pattern("", &[]).text(), "");
    }
}
