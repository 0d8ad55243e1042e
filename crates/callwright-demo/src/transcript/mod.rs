//! The transcript of a demo: what happened, for a person at a terminal.
//!
//! [`turn`] makes lines of a trace, [`plan`] of the plan that it followed, [`metrics`] of what two scrapes differ in, [`page`] puts lines on paper: wrapped, in colour.

mod metrics;
mod page;
mod plan;
#[cfg(test)]
mod tests;
mod turn;

pub(super) use metrics::moved;
pub(super) use page::Page;
pub(super) use turn::{ending_lines, is_handed_over, turn_lines};

/// What a line of the transcript is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// What the user says.
    User,
    /// What the model says and calls.
    Model,
    /// What stands behind the question from earlier conversations.
    Recall,
    /// What the plan that is followed says in the model's place.
    Plan,
    /// What the scan found.
    Found,
    /// What was changed without asking the model.
    Repaired,
    /// What the model was told.
    SentBack,
    /// What a tool API was asked and answered.
    Api,
    /// What the documentation says about a failed outcome.
    Explained,
    /// What the client ran.
    Client,
    /// Which limit ended the turn.
    Limit,
    /// What was tried, for the person who takes over.
    Record,
    /// What the client got.
    Answer,
    /// How the turn was judged, and what it cost.
    Verdict,
    /// Something that is not as it should be.
    Trouble,
}

impl Label {
    const fn text(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
            Self::Recall => "recall",
            Self::Plan => "plan",
            Self::Found => "found",
            Self::Repaired => "repaired",
            Self::SentBack => "sent back",
            Self::Api => "api",
            Self::Explained => "explained",
            Self::Client => "client",
            Self::Limit => "limit",
            Self::Record => "record",
            Self::Answer => "answer",
            Self::Verdict => "verdict",
            Self::Trouble => "trouble",
        }
    }
}

/// One line of the transcript, before it is wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) label: Label,
    /// May hold line breaks.
    pub(super) text: String,
}

impl Line {
    pub(super) fn new(label: Label, text: impl Into<String>) -> Self {
        Self { label, text: text.into() }
    }
}
