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
#[derive(Debug, Clone, PartialEq)]
pub struct Reason {
    /// What it is.
    pub evidence: Evidence,
    /// What it adds to the score; below 0 where it speaks against.
    pub weight: f32,
}

/// What can speak for a candidate or against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Evidence {
    /// An operator's file says that it is so.
    Confirmed,
    /// The document links the answer to the argument.
    Link,
    /// Field and argument have the same name.
    SameName,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Confirmed => "the operator says so",
            Self::Link => "the document links them",
            Self::SameName => "the names are the same",
        })
    }
}
