//! What a search for producers finds, and why.

use std::fmt;

/// A tool whose answer can supply an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The tool's position, in the order in which the tools were given.
    pub tool: usize,
    /// Where the value stands in the tool's answer: a JSON Pointer (RFC 6901), empty for the answer itself. Of lists on the way the first
    /// item stands for every item.
    pub output: String,
    /// Is a list on that way, so that one of several values has to be chosen?
    pub in_list: bool,
    /// The sum of what the reasons weigh; comparable only among the candidates of one argument.
    pub score: f32,
    /// What speaks for it, and against it, the weightiest first.
    pub reasons: Vec<Reason>,
}

/// One thing that speaks for a candidate, or against it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reason {
    /// What it is.
    pub evidence: Evidence,
    /// What it adds to the score; below 0 where it speaks against.
    pub weight: f32,
}

/// What can speak for a candidate or against it. Each is between -1 and 1 where nothing else is said, and all are added up as they are:
/// sums of plain evidence judge what they were not made from about as well as fitted weights do, and better where samples are few (Dawes,
/// "The robust beauty of improper linear models in decision making", American Psychologist 34, 1979).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Evidence {
    /// An operator's file says that it is so. It outweighs everything else.
    Confirmed,
    /// The document links the answer to the argument (a Link Object): 3.
    Linked,
    /// Field and argument have the same name: 1, and up to 1 more the fewer tools have such a field.
    SameName,
    /// They have words in common: the share of the field's name. Nothing for a bare `id`.
    SharedWords,
    /// The field identifies the thing that the argument names, as the `id` of a person does for `person_id`: up to 2, by the share of the
    /// argument's name.
    Key,
    /// The tool answers the collection that the argument's path picks one of: `GET /users` for `/users/{id}`.
    Collection,
    /// Both are of the same named schema.
    SameSchema,
    /// What is said about the argument is what is said about the field: the share of its words.
    Description,
    /// What is said about the argument names the tool: the share of the tool's name.
    Named,
    /// The types fit, or do not.
    Type,
    /// The formats are the same, or differ.
    Format,
    /// The values that both may have are the same in part, or not at all.
    Values,
    /// The same example is given for both.
    Example,
    /// Both stand for a thing, or only one of them does.
    Identifies,
    /// The value is one of a list, so that it has to be chosen first: -0.5.
    InList,
    /// The value is deep in the answer: -0.5 a level, at most -2.
    Nested,
    /// The tool asks for the value itself: -1.
    Echo,
    /// The tool is about the same things as the one that takes the argument: the share of words of that one's name.
    SameSubject,
    /// The tool changes something, and what only tells comes first: -1.
    Writes,
    /// The tool needs nothing that has to be looked up before: 1.
    Ready,
    /// It is the tool itself that the value is for: -2.
    Itself,
    /// It is a tool of another toolset: -1.
    Elsewhere,
    /// The request asks for what the tool does: up to 3.
    Asked,
    /// The request asks for it before, or behind, what the argument is for: up to 2.
    Order,
    /// The request names the field: up to 2.
    FieldAsked,
    /// What is asked for with the argument names the field: up to 2 ("encrypt that password").
    TakenUp,
    /// The tool is one of those that the caller says are used: 3.
    Used,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Confirmed => "the operator says so",
            Self::Linked => "the document links them",
            Self::SameName => "the names are the same",
            Self::SharedWords => "the names share words",
            Self::Key => "it identifies what the argument names",
            Self::Collection => "it lists what the path picks one of",
            Self::SameSchema => "the schemas are the same",
            Self::Description => "the descriptions share words",
            Self::Named => "the argument's description names the tool",
            Self::Type => "types",
            Self::Format => "formats",
            Self::Values => "allowed values",
            Self::Example => "the examples are the same",
            Self::Identifies => "what stands for a thing",
            Self::InList => "it has to be chosen from a list",
            Self::Nested => "it is deep in the answer",
            Self::Echo => "the tool asks for it itself",
            Self::SameSubject => "the tools are about the same things",
            Self::Writes => "the tool changes something",
            Self::Ready => "the tool needs nothing to be looked up",
            Self::Itself => "it is the tool itself",
            Self::Elsewhere => "it is of another toolset",
            Self::Asked => "the request asks for the tool",
            Self::Order => "the order in the request",
            Self::FieldAsked => "the request names the field",
            Self::TakenUp => "the request takes the field up",
            Self::Used => "the tool is said to be used",
        })
    }
}

/// A sum of evidence; what it is made of is kept where somebody asks for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub(super) score: f32,
    reasons: Option<Vec<Reason>>,
}

impl Tally {
    /// One that keeps the reasons.
    pub(super) fn explained() -> Self {
        Self { score: 0.0, reasons: Some(Vec::new()) }
    }

    pub(super) fn add(&mut self, evidence: Evidence, weight: f32) {
        if weight == 0.0 {
            return;
        }
        self.score += weight;
        if let Some(reasons) = &mut self.reasons {
            reasons.push(Reason { evidence, weight });
        }
    }

    /// The weightiest first.
    pub(super) fn into_reasons(self) -> Vec<Reason> {
        let mut reasons = self.reasons.unwrap_or_default();
        reasons.sort_by(|left, right| right.weight.abs().total_cmp(&left.weight.abs()));
        reasons
    }
}
