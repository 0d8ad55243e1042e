//! Rescue (E1): calls that a model wrote into its text become calls.
//!
//! Text only turns into calls when every one of them names an offered tool and the text evidently *is* a call, not a text about
//! one ([`Evidence`]). `layout.rs` tells calls, prose, code and reasoning apart; notations with marks are one file each under
//! `grammars/`, those without are read by `statement.rs`; `verdict.rs` weighs what was found.
//!
//! All reading is paid for from a budget in proportion to the text (`literal::Reader`), so any text takes linear time.

mod body;
mod element;
mod grammar;
mod grammars;
pub mod hold;
mod layout;
mod literal;
mod no_call;
mod prose;
mod python;
mod shape;
mod statement;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verdict;
mod written;

use std::ops::Range;

use crate::domain::rules::Evidence;
use crate::domain::{Call, Diagnosis};
use crate::scanner::Toolbook;

/// What the request and the answer say about how a text may be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation<'a> {
    /// The weakest evidence that is accepted; [`Evidence::Off`] where no call may be made (`tool_choice: none`).
    pub evidence: Evidence,
    /// The tools that may be called, where the request allows only some of those offered.
    pub allowed: Option<&'a [String]>,
    /// Did the answer end because its tokens ran out? What was cut off is never completed.
    pub cut_off: bool,
    /// Does the request ask for a JSON answer (`response_format`)? Then bare JSON is that answer.
    pub json_wanted: bool,
    /// Bytes of the text that the client has already got; no call begins in there.
    pub sent: usize,
}

impl Situation<'_> {
    /// Nothing is restricted but the evidence.
    pub const fn with(evidence: Evidence) -> Self {
        Self { evidence, allowed: None, cut_off: false, json_wanted: false, sent: 0 }
    }
}

/// What a text turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// A text.
    Text,
    /// Calls of offered tools.
    Calls(Rescued),
    /// A call was meant, and none can be recovered (E1).
    NoCall(Diagnosis),
}

/// Calls found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Rescued {
    /// The calls, in the order of the text, with ids that we minted; arguments are the text of a JSON object.
    pub calls: Vec<Call>,
    /// The notation of the first one, as the table of notations names it.
    pub notation: &'static str,
    /// How sure it is that this is a call.
    pub evidence: Evidence,
    /// Where in the text the calls, with their marks, stood.
    pub spans: Vec<Range<usize>>,
    /// What is left of the text without them; empty where nothing is.
    pub text: String,
}

/// Looks for calls in the text of an answer.
pub fn rescue(text: &str, toolbook: &Toolbook, situation: &Situation<'_>) -> Reading {
    let holds_brackets = || text.bytes().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<'));
    // Agents write an input without brackets as well.
    let holds_input = || memchr::memmem::find(text.as_bytes(), b"Input:").is_some();
    if situation.evidence == Evidence::Off || toolbook.is_empty() || !(holds_brackets() || holds_input()) {
        return Reading::Text;
    }
    let layout = layout::read(text, toolbook, !situation.cut_off);
    verdict::weigh(text, &layout, toolbook, situation)
}
