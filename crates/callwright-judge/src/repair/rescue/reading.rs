//! Inputs and result of the search for calls in a text.

use std::ops::Range;

use super::decision::{Case, Delivery, Doubt, Effect, Form, Surroundings};
use super::{effect, repetition};
use callwright_scanner::names::words;
use callwright_scanner::{Conversation, JudgementBudget, ToolSet};
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
    /// Limit on the work of parsing the text. If it is spent, the result is invalid.
    pub budget: Option<&'a JudgementBudget>,
    /// Whether the answer replies to a request to confirm a call.
    pub confirms: bool,
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
            budget: None,
            confirms: false,
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
        situation: &Situation<'_>,
    ) -> Case {
        let tools = self.calls.iter().filter_map(|call| tool_set.get(&call.name));
        let effect = tools.map(|tool| effect::of(&tool.tool)).max().unwrap_or(Effect::Changes);
        let mut case = Case {
            form: self.form,
            surroundings: self.surroundings,
            doubt: Doubt::None,
            effect,
            delivery: situation.delivery,
        };
        if let Some(conversation) = conversation {
            case.doubt = self.doubt(text, case, conversation, situation);
        }
        case
    }

    fn doubt(&self, text: &str, case: Case, conversation: &dyn Conversation, situation: &Situation<'_>) -> Doubt {
        let written = self.written.iter().filter_map(|written| text.get(written.clone()));
        match repetition::doubt(&self.calls, written, case.effect, conversation, situation.budget) {
            Doubt::Quoted => Doubt::Quoted,
            // The model was requested to answer with nothing but the call.
            _ if situation.confirms && case.surroundings == Surroundings::Alone => Doubt::None,
            Doubt::None if self.is_named(conversation) => Doubt::Named,
            doubt => doubt,
        }
    }

    /// Whether the user's last message names a called tool.
    fn is_named(&self, conversation: &dyn Conversation) -> bool {
        let request = conversation.transcript().last_user_text().unwrap_or_default();
        self.calls.iter().any(|call| names(request, &call.name))
    }
}

/// Whether a user's message names a tool. A name of one word does not count, because it may be a word of the request.
fn names(message: &str, tool: &str) -> bool {
    words(tool).len() > 1
        && message.match_indices(tool).any(|(at, _)| {
            let (before, after) = (message.get(..at), message.get(at + tool.len()..));
            !before.is_some_and(|text| text.ends_with(is_name_part))
                && !after.is_some_and(|text| text.starts_with(is_name_part))
        })
}

/// Whether a letter next to a name extends it. Only ASCII letters do, because scripts without spaces join a name to the
/// words around it.
pub(super) fn is_name_part(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_name_of_several_words_must_appear_whole() {
        assert!(names("How is delete_order called?", "delete_order") && names("使用delete-order。", "delete-order"));
        assert!(!names("Search for delete_orders", "delete_order") && !names("Please search for it", "search"));
    }
}
