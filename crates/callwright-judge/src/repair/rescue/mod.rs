//! Rescue (E1): calls that a model wrote into its text become calls.
//!
//! `layout.rs` separates calls, prose, code and reasoning; notations with marks are in the table `notations.toml`, or one file
//! each under `grammars/` where they need a reader of their own; those without are read by `statement.rs`; `program.rs` finds program text. `verdict.rs` reads all calls of a text or none, with the evidence
//! for them, and `decision.rs` decides by that evidence whether they are calls, text, or unsure.
//!
//! All reading is paid for from a budget in proportion to the text (`literal::Reader`), so any text takes linear time.

mod body;
pub mod decision;
mod effect;
mod element;
mod extent;
mod grammar;
mod grammars;
pub mod hold;
mod invented;
mod layout;
pub(in crate::repair) mod literal;
mod no_call;
pub mod notations;
mod pairs;
mod plain;
mod program;
mod prose;
mod python;
mod quotation;
pub mod reasoning;
pub(in crate::repair) mod shape;
mod statement;
mod tag;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verdict;
mod written;

use std::ops::Range;

use notations::Notations;

use crate::scanner::{Budget, Conversation, Toolbook};
use callwright_types::rules::{Evidence, Expressions};
use callwright_types::{Call, Diagnosis};
use decision::{Case, Delivery, Doubt, Effect, Form, Surroundings};

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
    /// How the upstream delivers calls.
    pub delivery: Delivery,
    /// Handling of arguments that are names or expressions.
    pub expressions: Expressions,
    /// The notations that are read; `None`: the built-in ones.
    pub notations: Option<&'a Notations>,
    /// The work that reading the text may take. Where it is spent, the reading means nothing.
    pub budget: Option<&'a Budget>,
}

impl Situation<'_> {
    /// Nothing is restricted but the evidence.
    pub const fn with(evidence: Evidence) -> Self {
        Self {
            evidence,
            allowed: None,
            cut_off: false,
            json_wanted: false,
            sent: 0,
            delivery: Delivery::Text,
            expressions: Expressions::Refuse,
            notations: None,
            budget: None,
        }
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
    /// The weakest evidence that must be accepted for them.
    pub evidence: Evidence,
    /// How they are marked.
    pub form: Form,
    /// What surrounds them.
    pub surroundings: Surroundings,
    /// Where the calls are written, with their marks but without a fence around them.
    pub written: Vec<Range<usize>>,
    /// The parts of the text that do not remain: calls with marks and fences, and what was invented behind them.
    pub spans: Vec<Range<usize>>,
    /// The remaining text; empty where nothing is.
    pub text: String,
}

impl Rescued {
    /// What the decision about these calls of `text` rests on; `conversation` is the one before the answer, where it is known.
    pub(crate) fn case(
        &self,
        text: &str,
        toolbook: &Toolbook,
        conversation: Option<&dyn Conversation>,
        delivery: Delivery,
    ) -> Case {
        let tools = || self.calls.iter().filter_map(|call| toolbook.get(&call.name));
        let effect = tools().map(|tool| effect::of(&tool.tool)).max().unwrap_or(Effect::Changes);
        let doubt = conversation.map_or(Doubt::None, |conversation| self.doubt(text, conversation));
        Case { form: self.form, surroundings: self.surroundings, doubt, effect, delivery }
    }

    fn doubt(&self, text: &str, conversation: &dyn Conversation) -> Doubt {
        let transcript = conversation.transcript();
        let quotes = self.written.iter().filter_map(|written| text.get(written.clone()));
        let is_named = || {
            let asked = transcript.last_asked().unwrap_or_default();
            self.calls.iter().any(|call| quotation::names(asked, &call.name))
        };
        if quotation::any_in(quotes, transcript.texts().iter().map(String::as_str)) {
            Doubt::Quoted
        } else if is_named() {
            Doubt::Named
        } else {
            Doubt::None
        }
    }
}

/// The one call that `code` is, as the name of its tool and the text of its arguments: `print(default_api.f(x=1))`.
pub(super) fn call_in_code(code: &str, toolbook: &Toolbook) -> Option<(String, String)> {
    let nesting = literal::Reader::new(code, false).nesting_within();
    let calls = python::whole(code, toolbook, false, &nesting)?;
    let [call] = calls.as_slice() else { return None };
    let resolved = call.resolve(toolbook, Expressions::Refuse).ok()?;
    <[(String, String); 1]>::try_from(resolved).ok().map(|[call]| call)
}

/// Looks for calls in the text of an answer.
pub fn rescue(text: &str, toolbook: &Toolbook, situation: &Situation<'_>) -> Reading {
    let holds_brackets = || text.bytes().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<' | b'=' | b'>'));
    // Agents write an input without brackets as well.
    let holds_input = || memchr::memmem::find(text.as_bytes(), b"Input:").is_some();
    if situation.evidence == Evidence::Off || toolbook.is_empty() || !(holds_brackets() || holds_input()) {
        return Reading::Text;
    }
    let notations = situation.notations.unwrap_or(Notations::built_in());
    let layout = layout::read(text, toolbook, notations, !situation.cut_off, situation.budget);
    verdict::weigh(text, &layout, toolbook, situation)
}

/// The diagnosis of calls in `text` that may be calls and may be quoted, explained or declined.
pub(crate) fn unsure(text: &str, rescued: &Rescued) -> Diagnosis {
    let name = rescued.calls.first().map(|call| call.name.clone()).unwrap_or_default();
    let near = rescued.written.first().and_then(|written| text.get(written.clone())).unwrap_or_default();
    no_call::diagnose(rescued.notation, &no_call::Reason::Unsure { name }, near, &Toolbook::default())
}
