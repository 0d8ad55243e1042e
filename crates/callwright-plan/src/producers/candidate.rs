//! Result of a producer search: candidates and their evidence.

use std::fmt;

/// Tool whose answer can supply an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Position of the tool in the order of registration.
    pub tool: usize,
    /// Location of the value in the tool's answer: a JSON Pointer (RFC 6901), empty for the whole answer. In lists on
    /// the path, index 0 represents every item.
    pub output: String,
    /// Whether the path contains a list, so that one of several values has to be chosen.
    pub in_list: bool,
    /// Sum of the weights of the reasons. Only comparable among the candidates of one argument.
    pub score: f32,
    /// Evidence for and against the candidate, by descending absolute weight.
    pub reasons: Vec<Reason>,
}

/// One piece of evidence for or against a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reason {
    /// Kind of evidence.
    pub evidence: Evidence,
    /// Contribution to the score; negative for evidence against.
    pub weight: f32,
}

/// Evidence for or against a candidate. Weights are between -1 and 1 unless documented otherwise, and are summed
/// without fitting. On unseen data, unit weights perform about as well as fitted ones, and better with few samples
/// (Dawes, "The robust beauty of improper linear models in decision making", American Psychologist 34, 1979).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Evidence {
    /// The operator's file confirms the candidate. It outweighs all other evidence.
    Confirmed,
    /// An OpenAPI Link Object connects the answer to the argument: 3.
    Linked,
    /// Field and argument have the same name: 1, and up to 1 more the fewer tools have such a field.
    SameName,
    /// Both names share words: the share of the field's name. A bare `id` does not count.
    SharedWords,
    /// The field is the key of the thing that the argument's name contains, like the `id` of a person for `person_id`:
    /// up to 2, by the share of the argument's name.
    Key,
    /// The tool returns the collection that contains the argument's resource: `GET /users` for `/users/{id}`.
    Collection,
    /// Both use the same named schema.
    SameSchema,
    /// The descriptions share words: the share of the argument's description.
    Description,
    /// The argument's description names the tool: the share of the tool's name.
    Named,
    /// Type compatibility.
    Type,
    /// The formats are equal or different.
    Format,
    /// The allowed values overlap or are disjoint.
    Values,
    /// Both have the same example.
    Example,
    /// Both identify a thing, or only one of them does, or they identify different things.
    Identifies,
    /// The value has to be selected from a list first: -0.5.
    InList,
    /// The value is nested: -0.5 per level, at most -2.
    Nested,
    /// The tool requires the value itself as an argument: -1.
    Echo,
    /// The tool requires the value that it would supply as an argument, so something else has to supply it first: -5.
    Needs,
    /// Both tools are about the same things: the share of words of the consumer's name.
    SameSubject,
    /// The tool changes state; reads are preferred: -1.
    Writes,
    /// The tool has no required argument that needs a lookup: 1.
    Ready,
    /// The tool is the consumer itself: -2.
    Itself,
    /// The tool belongs to another toolset: -1.
    Elsewhere,
    /// The request matches the tool: up to 3.
    RequestMatch,
    /// The position in the request relative to the consumer, before or after it: up to 2.
    Order,
    /// The request names the field: up to 2.
    FieldInRequest,
    /// The consumer's clause names the field: up to 2 ("encrypt that password").
    FieldInConsumerClause,
    /// The caller declares the tool as used: 3.
    Used,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Confirmed => "the operator confirms it",
            Self::Linked => "the document links them",
            Self::SameName => "the names are the same",
            Self::SharedWords => "the names share words",
            Self::Key => "it is the key of the thing that the argument names",
            Self::Collection => "it lists the collection of the argument's path",
            Self::SameSchema => "the schemas are the same",
            Self::Description => "the descriptions share words",
            Self::Named => "the argument's description names the tool",
            Self::Type => "types",
            Self::Format => "formats",
            Self::Values => "allowed values",
            Self::Example => "the examples are the same",
            Self::Identifies => "identifiers",
            Self::InList => "it has to be selected from a list",
            Self::Nested => "it is nested in the answer",
            Self::Echo => "the tool requires it as an argument",
            Self::Needs => "the tool needs the value itself",
            Self::SameSubject => "the tools are about the same things",
            Self::Writes => "the tool changes state",
            Self::Ready => "the tool needs no lookup",
            Self::Itself => "it is the tool itself",
            Self::Elsewhere => "it belongs to another toolset",
            Self::RequestMatch => "the request matches the tool",
            Self::Order => "the order in the request",
            Self::FieldInRequest => "the request names the field",
            Self::FieldInConsumerClause => "the same step of the request names the field",
            Self::Used => "the caller declares the tool as used",
        })
    }
}

/// Sum of evidence; the individual reasons are kept on demand.
#[derive(Debug, Clone, Default)]
pub(super) struct EvidenceScore {
    pub(super) score: f32,
    reasons: Option<Vec<Reason>>,
}

impl EvidenceScore {
    /// Creates a score that keeps the reasons.
    pub(super) fn explained() -> Self {
        Self { score: 0.0, reasons: Some(Vec::new()) }
    }

    /// Creates a score without reasons that begins with a computed sum.
    pub(super) fn from_sum(score: f32) -> Self {
        Self { score, reasons: None }
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

    /// Returns the reasons by descending absolute weight.
    pub(super) fn into_reasons(self) -> Vec<Reason> {
        let mut reasons = self.reasons.unwrap_or_default();
        reasons.sort_by(|left, right| right.weight.abs().total_cmp(&left.weight.abs()));
        reasons
    }
}
