//! Lessons: the key-value pairs of the experience lesson_store (ExpNote, section 3).

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::{IntoStaticStr, VariantArray};

use super::{Backing, ClientFacts, Evidence, EvidenceKind, Scope, UsageCounter};

/// Phrases in composed lessons that precede a tool name. The name may differ from the tool that the lesson is about.
const BEFORE_A_TOOL: [&str; 3] = ["What worked instead: `", "For this, use `", "from the answer of `"];

/// Phrase that follows the name of another tool.
const BEHIND_ANOTHER_TOOL: &str = "` was what helped";

/// A lesson: the text to remember (the value) and when to recall it (the key).
///
/// It is deserialised only if it cannot contain texts of a client's own tools. That holds in three cases: it is about
/// no tool (it was learned from labelled questions), it has facts instead of texts, or it quotes the documents of one
/// toolset and names no other tools than its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Lesson {
    /// Id of the lesson: `les_` and hexadecimal digits.
    pub id: String,
    /// Scope of the memory that the lesson belongs to.
    pub scope: Scope,
    /// Toolset of the tools that the lesson is about. `None` if they are the client's own, or if it is about no tool.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub toolset: Option<String>,
    /// Tools that the lesson is about. A lesson about no tool is recalled whichever tools are offered.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Whether it was learned from a success or a failure.
    pub polarity: Polarity,
    /// Text by which the lesson is found.
    pub key: String,
    /// Text that is recalled.
    pub value: String,
    /// Author of the current wording.
    pub author: Author,
    /// Original composed wording, if a model has rewritten it since. New drafts are compared with this wording.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub composed: Option<Wording>,
    /// Facts about a client's own tools, if the lesson is about those. Key and value are then derived from these facts
    /// only.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<ClientFacts>,
    /// The verified outcomes that support the lesson, oldest first.
    pub evidence: Vec<Evidence>,
    /// Results of turns with and without the lesson.
    #[serde(default)]
    pub tally: UsageCounter,
    /// Reason why the lesson is no longer used, if it is retired.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retired: Option<Retirement>,
    /// Time when it was learned.
    pub created_at: Timestamp,
    /// Time of the last change.
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
                "this lesson of an earlier version may contain texts of a client's own tools; it is not used, and is learned \
                 again from use",
            ));
        }
        Ok(match lesson.client {
            // Members besides the facts are ignored.
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

/// Whether a lesson may be used, by the rules of [`Lesson`]. Earlier versions let a lesson about an operator's tool
/// quote the description of a client's tool that succeeded in its place.
fn is_isolated(about: LessonSubject<'_>, composed: &str) -> bool {
    match about.tools {
        [] => true,
        _ if about.client.is_some() => true,
        _ if about.toolset.is_none() => false,
        [tool] => !names_another(composed, tool),
        _ => true,
    }
}

/// Whether a composed lesson about a tool names a different one.
fn names_another(composed: &str, tool: &str) -> bool {
    let mut named = BEFORE_A_TOOL.iter().flat_map(|phrase| composed.split(phrase).skip(1));
    composed.contains(BEHIND_ANOTHER_TOOL)
        || named.any(|rest| !rest.strip_prefix(tool).is_some_and(|rest| rest.starts_with('`')))
}

/// The text of a lesson.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    /// See [`Lesson::key`].
    pub key: String,
    /// See [`Lesson::value`].
    pub value: String,
}

/// Kind of outcome that a lesson was learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Polarity {
    /// Learned from a success.
    Positive,
    /// Learned from a failure.
    Negative,
}

crate::labels!(Polarity);

/// Author of a lesson's wording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// Composed from diagnosis, explanation and corrected call.
    Composed,
    Model,
    Person,
}

/// Retirement of a lesson or procedure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retirement {
    /// Time of retirement.
    pub at: Timestamp,
    /// Human-readable reason.
    pub reason: String,
}

/// A draft that may become a lesson once it is verified. It is made while the turn's texts are available, and in
/// general terms: it contains no text of the client, its user, the model or an API. It may contain names and values
/// from an operator's documents, and [`ClientFacts`] of a client's own tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LessonDraft {
    /// Method of verification.
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
    /// The verification that the draft requires.
    pub backing: Backing,
}

impl LessonDraft {
    /// Whether the draft may be learned, by the rules of [`Lesson`]. Traces of earlier versions contain drafts that may
    /// not.
    pub fn is_isolated(&self) -> bool {
        let about = LessonSubject { toolset: self.toolset.as_deref(), tools: &self.tools, client: &self.client };
        is_isolated(about, &self.value)
    }
}

/// Returns a lesson for tests: scope of key `a`, about no tool, without evidence.
#[doc(hidden)]
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
        tally: UsageCounter::default(),
        retired: None,
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}
