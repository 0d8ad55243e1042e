//! Transcript of a demo for a person at a terminal. Owns its wording and layout. Must not send requests.
//!
//! [`turn`] renders a trace and the plan that it followed, [`metrics`] the difference of two scrapes. [`page`]
//! formats the lines: wrapped, with colours.

mod metrics;
mod page;
#[cfg(test)]
mod tests;
mod turn;

use callwright_common::text::{cut, one_line};
pub(super) use metrics::moved;
pub(super) use page::TranscriptPage;
pub(super) use turn::{ending_lines, is_handed_over, turn_lines};

/// Topic of a transcript line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TranscriptLabel {
    /// User message.
    User,
    /// Text and calls of the model.
    Model,
    /// Lessons from earlier conversations, added to the question.
    Recall,
    /// Calls of the plan instead of the model.
    Plan,
    /// The conversation without the proxy.
    Without,
    /// Faults found by the scan.
    Finding,
    /// Repairs without the model.
    Repaired,
    /// Feedback to the model.
    SentBack,
    /// Request to a tool API and its response.
    Api,
    /// Documentation of a failed outcome.
    Explained,
    /// Calls that the client ran.
    Client,
    /// Limit that ended the turn.
    Limit,
    /// Record of the attempts, for the person who takes over.
    Record,
    /// Answer to the client.
    Answer,
    /// Verdict and cost of the turn.
    Verdict,
    /// Unexpected problem.
    Problem,
}

impl TranscriptLabel {
    const fn text(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
            Self::Recall => "recall",
            Self::Plan => "plan",
            Self::Without => "no proxy",
            Self::Finding => "found",
            Self::Repaired => "repaired",
            Self::SentBack => "sent back",
            Self::Api => "api",
            Self::Explained => "explained",
            Self::Client => "client",
            Self::Limit => "limit",
            Self::Record => "record",
            Self::Answer => "answer",
            Self::Verdict => "verdict",
            Self::Problem => "trouble",
        }
    }
}

/// Transcript line before wrapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TranscriptLine {
    pub(super) label: TranscriptLabel,
    /// Text; may contain line breaks.
    pub(super) text: String,
}

impl TranscriptLine {
    pub(super) fn new(label: TranscriptLabel, text: impl Into<String>) -> Self {
        Self { label, text: text.into() }
    }
}

/// Maximum number of characters of a long line in a brief transcript, and of a conversation without the proxy: two
/// rows.
pub(super) const BRIEF_CHARS: usize = 168;

/// Shortens the lines of a turn: repairs without their faults, each message once, long texts cut, no record, no ids.
pub(super) fn brief(lines: Vec<TranscriptLine>) -> Vec<TranscriptLine> {
    let labels: Vec<TranscriptLabel> = lines.iter().map(|line| line.label).collect();
    let mut added: Vec<TranscriptLine> = Vec::new();
    for (number, TranscriptLine { label, text }) in lines.into_iter().enumerate() {
        let is_explained = number > 0 && labels.get(number - 1) == Some(&TranscriptLabel::Explained);
        let is_repaired = labels.get(number + 1) == Some(&TranscriptLabel::Repaired);
        let text = match label {
            TranscriptLabel::Record => continue,
            TranscriptLabel::Finding if is_repaired => continue,
            // The explanation is the part of the message that matters.
            TranscriptLabel::SentBack if is_explained => continue,
            TranscriptLabel::User | TranscriptLabel::Answer => text,
            TranscriptLabel::Verdict => text.lines().next().unwrap_or_default().to_owned(),
            _ => cut(&one_line(&text), BRIEF_CHARS).into_owned(),
        };
        let line = TranscriptLine { label, text };
        if !added.contains(&line) {
            added.push(line);
        }
    }
    added
}
