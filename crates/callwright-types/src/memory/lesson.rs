//! A lesson: a key and a value in the experience notebook (ExpNote, section 3).

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ClientFacts, Evidence, EvidenceKind, Scope, Tally};

/// What stands in composed lessons before the name of a tool, which may be another one than the lesson is about.
const BEFORE_A_TOOL: [&str; 3] = ["What worked instead: `", "For this, use `", "from the answer of `"];

/// What stands behind the name of another tool.
const BEHIND_ANOTHER_TOOL: &str = "` was what helped";

/// A lesson: what to remember (the value), and when (the key).
///
/// It is read back only where it says nothing that a client's request says of its own tools: it is about no tool (then it was learned from labelled
/// questions), has facts in place of texts, or quotes the documents of one toolset and speaks of no tool but those that it is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
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
    /// What it holds of a client's own tools, where it is about such. Key and value are then made of this, and of nothing else.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<ClientFacts>,
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

impl Serialize for Lesson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Lesson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let lesson = Self::deserialize(deserializer)?;
        let composed = lesson.composed.as_ref().map_or(&lesson.value, |wording| &wording.value);
        let about = LessonSubject { toolset: lesson.toolset.as_deref(), tools: &lesson.tools, client: &lesson.client };
        if lesson.author != Author::Person && !is_isolated(about, composed) || about.is_unknown_client_tool() {
            return Err(D::Error::custom(
                "this lesson may hold texts of a client's own tools, as earlier versions learned them; it cannot be used, and is learned \
                 again from use",
            ));
        }
        Ok(match lesson.client {
            // Whatever stands beside the facts is not looked at.
            Some(facts) => {
                let facts = facts.bounded();
                let (tools, key, value) = (facts.names(), facts.key(), facts.summary());
                let (toolset, composed) = (None, None);
                Self { toolset, tools, key, value, composed, author: Author::Composed, client: Some(facts), ..lesson }
            }
            None => lesson,
        })
    }
}

/// The tools that a lesson is about.
#[derive(Debug, Clone, Copy)]
struct LessonSubject<'a> {
    toolset: Option<&'a str>,
    tools: &'a [String],
    client: &'a Option<ClientFacts>,
}

impl LessonSubject<'_> {
    fn is_unknown_client_tool(self) -> bool {
        self.client.is_none() && self.toolset.is_none() && !self.tools.is_empty()
    }
}

/// Whether a lesson may be used, as [`Lesson`] says. Earlier versions let a lesson about an operator's tool quote the description of a client's tool that worked in its place.
fn is_isolated(about: LessonSubject<'_>, composed: &str) -> bool {
    match about.tools {
        [] => true,
        _ if about.client.is_some() => true,
        _ if about.toolset.is_none() => false,
        [tool] => !names_another(composed, tool),
        _ => true,
    }
}

/// Whether a composed lesson about a tool names another one.
fn names_another(composed: &str, tool: &str) -> bool {
    let is_own = |rest: &str| rest.strip_prefix(tool).is_some_and(|rest| rest.starts_with('`'));
    let mut named = BEFORE_A_TOOL.iter().flat_map(|phrase| composed.split(phrase).skip(1));
    composed.contains(BEHIND_ANOTHER_TOOL) || named.any(|rest| !is_own(rest))
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
/// the client, its user, the model or an API wrote, but names and values that an operator's documents have, and [`ClientFacts`] of a
/// client's own tools.
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
    /// See [`Lesson::client`].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<ClientFacts>,
    /// What verifies it.
    pub backing: super::Backing,
}

impl LessonDraft {
    /// Whether it may be learned, as [`Lesson`] says. Traces of earlier versions have drafts that may not.
    pub fn is_isolated(&self) -> bool {
        let about = LessonSubject { toolset: self.toolset.as_deref(), tools: &self.tools, client: &self.client };
        is_isolated(about, &self.value)
    }
}

/// A lesson for tests: of the key `a`, about no tool, that rests on nothing yet.
#[cfg(feature = "testing")]
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
        client: None,
        evidence: Vec::new(),
        tally: Tally::default(),
        retired: None,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}
