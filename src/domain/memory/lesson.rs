//! A lesson: a key and a value in the experience notebook (ExpNote, section 3).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Evidence, EvidenceKind, Scope, Tally};

/// A lesson: what to remember (the value), and when (the key).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lesson {
    /// Our id of it: `les_` and hexadecimal digits.
    pub id: String,
    /// Whose it is.
    pub scope: Scope,
    /// The toolset whose tools it is about; none where they are the client's own, or it is about no tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub toolset: Option<String>,
    /// The tools that it is about; empty where it is about none, and then it is recalled whatever tools are in play.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Was it learned from what failed or from what succeeded?
    pub polarity: Polarity,
    /// The words that it is found by.
    pub key: String,
    /// What is remembered.
    pub value: String,
    /// Who wrote it.
    pub author: Author,
    /// The words that it was composed in, where a model was asked for better ones since: further drafts are compared with these.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub composed: Option<Wording>,
    /// The verified outcomes that it rests on, oldest first.
    pub evidence: Vec<Evidence>,
    /// What became of turns with and without it.
    #[serde(default)]
    pub tally: Tally,
    /// Why it is not used any more, where it is not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retired: Option<Retirement>,
    /// When it was learned.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
}

/// What a lesson says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    /// See [`Lesson::key`].
    pub key: String,
    /// See [`Lesson::value`].
    pub value: String,
}

/// What a lesson was learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Polarity {
    /// From what succeeded.
    Positive,
    /// From what failed.
    Negative,
}

impl Polarity {
    /// Value in files and metrics.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Negative => "negative",
        }
    }
}

/// Who wrote a lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// It is composed of diagnosis, explanation and mended call.
    Composed,
    /// A model.
    Model,
    /// A person.
    Person,
}

/// Why something is not used any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retirement {
    /// Since when.
    pub at: Timestamp,
    /// Why, as people read it.
    pub reason: String,
}

/// What may become a lesson once it is verified. It is made while the turn's texts are at hand, in general terms: it holds nothing that
/// the client, its user, the model or an API wrote, but names and values that the tools' schemas and documentation have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LessonDraft {
    /// What will verify it.
    pub kind: EvidenceKind,
    /// See [`Lesson::toolset`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub toolset: Option<String>,
    /// See [`Lesson::tools`].
    pub tools: Vec<String>,
    /// See [`Lesson::polarity`].
    pub polarity: Polarity,
    /// See [`Lesson::key`].
    pub key: String,
    /// See [`Lesson::value`].
    pub value: String,
    /// What verifies it.
    pub backing: super::Backing,
}

/// A lesson for tests: of the key `a`, about no tool, that rests on nothing yet.
#[cfg(test)]
pub fn sample() -> Lesson {
    Lesson {
        id: "les_1".to_owned(),
        scope: Scope::of_key("a"),
        toolset: None,
        tools: Vec::new(),
        polarity: Polarity::Negative,
        key: String::new(),
        value: String::new(),
        author: Author::Composed,
        composed: None,
        evidence: Vec::new(),
        tally: Tally::default(),
        retired: None,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}
