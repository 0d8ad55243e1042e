//! What has been learned about when a tool is wanted.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Evidence;

/// The learned text of a tool: what requests for it are like. Kept apart from the tool's own description.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Representation {
    /// The tool's name: within its toolset, or as clients send it.
    pub tool: String,
    /// In the order in which they are shown to a model.
    pub patterns: Vec<Pattern>,
}

/// One way in which a tool is asked for ("Large Language Models Can Learn Representation in Natural Language", section 4.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// A general sentence.
    pub description: String,
    /// Two or three short phrases, as people use them.
    pub cases: Vec<String>,
    /// How much a likeness to this pattern says for the tool, above 0: 1 is as much as any other, 0.5 is half of that.
    pub weight: f32,
}

impl Pattern {
    /// Description and cases as one text.
    pub fn text(&self) -> String {
        let parts = std::iter::once(self.description.as_str()).chain(self.cases.iter().map(String::as_str));
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// What all replicas know of a tool: it stands over what a file says of the tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SharedRepresentation {
    /// The id of what is shared of this tool: `rep_` and hexadecimal digits.
    pub id: String,
    /// The toolset; `None` for tools that clients send.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub toolset: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// Its patterns, as a representation file has them; an empty list takes away what a file says.
    pub patterns: Value,
    /// How the tools of the toolset are ranked, where that was learned together with the patterns.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ranking: Option<SharedRanking>,
    /// The verified outcomes that it was learned from; none where people wrote it.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// How what is said in words and in meaning makes a rank.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SharedRanking {
    /// How much the best likeness counts beside the others.
    pub sharpness: f32,
    /// How much words count beside meaning.
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
