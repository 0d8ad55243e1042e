//! Comparison of the conversations with and without the proxy: counted from the run, never assumed.

use std::io::{self, Write};
use std::time::Duration;

use super::transcript::TranscriptPage;
use callwright_common::text::cut;

/// Result of one way to hold a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The answer is right.
    Right,
    /// The request cannot be fulfilled, and a person gets a record of the attempts.
    HandedOver,
    /// There is no answer, or a wrong one.
    Wrong,
}

impl Ending {
    const fn label(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::HandedOver => "handed over",
            Self::Wrong => "wrong",
        }
    }
}

/// Result and cost of one way to hold a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Result.
    pub ending: Ending,
    /// Number of requests to the model.
    pub requests: u64,
    /// Time until the last answer.
    pub duration: Duration,
}

/// A conversation with and without the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparison {
    /// Title of the conversation.
    pub title: &'static str,
    /// Without the proxy.
    pub without: Outcome,
    /// With the proxy.
    pub with: Outcome,
}

/// Width of the titles in the table.
const TITLE: usize = 37;

/// Prints the table and its sum.
pub(super) fn print<W: Write>(page: &mut TranscriptPage<'_, W>, comparisons: &[Comparison]) -> io::Result<()> {
    page.heading("The same model and the same APIs")?;
    page.command_line(&format!("    {:TITLE$}  {:<28}with the proxy", "", "without the proxy"))?;
    for comparison in comparisons {
        let is_long = comparison.title.chars().nth(TITLE).is_some();
        let title = cut(comparison.title, if is_long { TITLE - 1 } else { TITLE });
        let [without, with] = [comparison.without, comparison.with].map(cell);
        page.command_line(&format!("    {title:TITLE$}  {without:<28}{with}"))?;
    }
    page.command_line("")?;
    let all = comparisons.len();
    let (without, with) =
        (OutcomeCounts::count(comparisons, |one| one.without), OutcomeCounts::count(comparisons, |one| one.with));
    page.command_line(&format!("    without the proxy: {}", without.in_words(all)))?;
    page.command_line(&format!("    with the proxy:    {}", with.in_words(all)))
}

fn cell(outcome: Outcome) -> String {
    let Outcome { ending, requests, duration } = outcome;
    format!("{:<11} {requests} req. {:>4} ms", ending.label(), duration.as_millis())
}

/// Counts of several outcomes.
struct OutcomeCounts {
    right: usize,
    handed_over: usize,
    requests: u64,
    duration: Duration,
}

impl OutcomeCounts {
    fn count(comparisons: &[Comparison], outcome: fn(&Comparison) -> Outcome) -> Self {
        let mut sum = Self { right: 0, handed_over: 0, requests: 0, duration: Duration::ZERO };
        for Outcome { ending, requests, duration } in comparisons.iter().map(outcome) {
            sum.right += usize::from(ending == Ending::Right);
            sum.handed_over += usize::from(ending == Ending::HandedOver);
            sum.requests += requests;
            sum.duration += duration;
        }
        sum
    }

    fn in_words(&self, all: usize) -> String {
        let Self { right, handed_over, requests, duration } = self;
        let handed_over = if *handed_over > 0 { format!(", {handed_over} handed over") } else { String::new() };
        format!("{right} of {all} right{handed_over}; {requests} model requests, {} ms", duration.as_millis())
    }
}
