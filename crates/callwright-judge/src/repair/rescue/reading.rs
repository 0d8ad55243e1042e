//! Inputs and result of the search for calls in a text.

use std::ops::Range;

use super::decision::{Case, Delivery, Doubt, Effect, Form, Surroundings};
use super::notations::Notations;
use super::{effect, quotation};
use crate::scanner::{Conversation, JudgementBudget, ToolSet};
use callwright_types::rules::{Evidence, Expressions};
use callwright_types::{Call, Diagnosis};

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
    pub budget: Option<&'a JudgementBudget>,
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
    /// A part of the calls was found before the permitted work was spent (E1). None of them becomes a call.
    Unfinished(Diagnosis),
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
    /// Whether the answer ends with calls in reserved markers, outside a code fence.
    pub ends_in_marks: bool,
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
        let tools = self.calls.iter().filter_map(|call| tool_set.get(&call.name));
        let effect = tools.map(|tool| effect::of(&tool.tool)).max().unwrap_or(Effect::Changes);
        let doubt = conversation.map_or(Doubt::None, |conversation| self.doubt(text, conversation));
        Case { form: self.form, surroundings: self.surroundings, doubt, effect, delivery }
    }

    fn doubt(&self, text: &str, conversation: &dyn Conversation) -> Doubt {
        let transcript = conversation.transcript();
        let quotes = self.written.iter().filter_map(|written| text.get(written.clone()));
        let request = transcript.last_user_text().unwrap_or_default();
        if quotation::any_in(quotes, transcript.texts().iter().map(String::as_str)) {
            Doubt::Quoted
        } else if self.calls.iter().any(|call| quotation::names(request, &call.name)) {
            Doubt::Named
        } else {
            Doubt::None
        }
    }
}
