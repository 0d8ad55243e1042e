//! Rescue (E1): converts calls that a model wrote into its text to tool calls.
//!
//! `layout.rs` separates calls, prose, code and reasoning. Notations with markers are in the table `notations.toml`;
//! those that need their own reader have one file each under `grammars/`. Calls without markers are parsed by
//! `statement.rs`, and `program.rs` finds program text. `verdict.rs` parses either all calls of a text or none, and
//! collects the evidence for them. `decision.rs` decides by that evidence whether they are calls, text or unsure.
//!
//! All parsing consumes fuel in proportion to the text (`literal::LiteralReader`), which makes the time linear in any
//! text.

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

use crate::scanner::{Budget, Conversation, ToolSet};
use callwright_types::rules::{Evidence, Expressions};
use callwright_types::{Call, Diagnosis};
use decision::{Case, Delivery, Doubt, Effect, Form, Surroundings};

/// Restrictions from the request and the answer on how a text may be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Situation<'a> {
    /// The weakest evidence that is accepted; [`Evidence::Off`] if no call is allowed (`tool_choice: none`).
    pub evidence: Evidence,
    /// The tools that may be called, if the request allows only some of the offered tools.
    pub allowed: Option<&'a [String]>,
    /// Whether the answer ended because of its token limit. A truncated call is never completed.
    pub cut_off: bool,
    /// Whether the request requires a JSON answer (`response_format`). If set, bare JSON is that answer.
    pub json_wanted: bool,
    /// Number of bytes of the text that the client already received. No call begins within them.
    pub sent: usize,
    /// Manner in which the upstream delivers calls.
    pub delivery: Delivery,
    /// Handling of arguments that are names or expressions.
    pub expressions: Expressions,
    /// The notations to parse; `None` selects the built-in ones.
    pub notations: Option<&'a Notations>,
    /// Limit on the work of parsing the text. If it is spent, the result is invalid.
    pub budget: Option<&'a Budget>,
}

impl Situation<'_> {
    /// Creates a situation without restrictions other than the evidence.
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

/// Result of searching a text for calls.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// A text without calls.
    Text,
    /// Calls of offered tools.
    Calls(Rescued),
    /// A call was meant, but none can be recovered (E1).
    NoCall(Diagnosis),
}

/// Calls found in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Rescued {
    /// The calls in the order of the text, with generated ids. Arguments are the text of a JSON object.
    pub calls: Vec<Call>,
    /// Notation of the first call, as named in the table of notations.
    pub notation: &'static str,
    /// The weakest evidence that must be accepted for these calls.
    pub evidence: Evidence,
    /// Markers of the calls.
    pub form: Form,
    /// Position of the calls in the answer.
    pub surroundings: Surroundings,
    /// Ranges of the calls, including their markers but without an enclosing code fence.
    pub written: Vec<Range<usize>>,
    /// Ranges of the text that are removed: calls with markers and code fences, and content that the model invented
    /// after them.
    pub spans: Vec<Range<usize>>,
    /// The remaining text; empty if only white space remains.
    pub text: String,
}

impl Rescued {
    /// Collects the inputs of the decision about these calls of `text`; `conversation` is the one before the answer, if
    /// it is known.
    pub(crate) fn case(
        &self,
        text: &str,
        tool_set: &ToolSet,
        conversation: Option<&dyn Conversation>,
        delivery: Delivery,
    ) -> Case {
        let tools = || self.calls.iter().filter_map(|call| tool_set.get(&call.name));
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

/// Parses the single call in `code`, such as `print(default_api.f(x=1))`. Returns the name of its tool and the text of
/// its arguments.
pub(super) fn call_in_code(code: &str, tool_set: &ToolSet) -> Option<(String, String)> {
    let nesting = literal::LiteralReader::new(code, false).nesting_within();
    let calls = python::whole(code, tool_set, false, &nesting)?;
    let [call] = calls.as_slice() else { return None };
    let resolved = call.resolve(tool_set, Expressions::Refuse).ok()?;
    <[(String, String); 1]>::try_from(resolved).ok().map(|[call]| call)
}

/// Searches the text of an answer for calls.
pub fn rescue(text: &str, tool_set: &ToolSet, situation: &Situation<'_>) -> Reading {
    let holds_brackets = || text.bytes().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<' | b'=' | b'>'));
    // ReAct agents also write an input without brackets.
    let holds_input = || memchr::memmem::find(text.as_bytes(), b"Input:").is_some();
    if situation.evidence == Evidence::Off || tool_set.is_empty() || !(holds_brackets() || holds_input()) {
        return Reading::Text;
    }
    let notations = situation.notations.unwrap_or(Notations::built_in());
    let layout = layout::read(text, tool_set, notations, !situation.cut_off, situation.budget);
    verdict::weigh(text, &layout, tool_set, situation)
}

/// Creates the diagnosis of calls in `text` that may also be quoted, explained or declined.
pub(crate) fn unsure(text: &str, rescued: &Rescued) -> Diagnosis {
    let name = rescued.calls.first().map(|call| call.name.clone()).unwrap_or_default();
    let near = rescued.written.first().and_then(|written| text.get(written.clone())).unwrap_or_default();
    no_call::diagnose(rescued.notation, &no_call::NoCallReason::Unsure { name }, near, &ToolSet::default())
}
