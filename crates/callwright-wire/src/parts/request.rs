//! Requests.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::request::{Additions, RequestFields};
use crate::tools::WrittenToolFields;
use crate::words::CallWords;
use crate::{AssistantMessage, KeptPart, MessageView, ReasoningPart, RequestError, ToolChoice};
use callwright_common::json::raw;
use callwright_types::{Call, Tool};

/// Requests of a protocol. `fields` are the members of the client's body; `added` is what the proxy appended to it.
pub(crate) trait RequestForm: ConversationForm {
    /// Checks the types of the members that the proxy reads. The upstream validates all others.
    ///
    /// # Errors
    /// Fails if a member has another type; the error names it.
    fn check(&self, fields: &RequestFields) -> Result<(), RequestError>;

    /// Returns the limit of tokens of one choice of the answer.
    fn max_answer_tokens(&self, fields: &RequestFields) -> Option<u64>;

    /// Whether an answer may have several calls.
    fn parallel_tool_calls(&self, fields: &RequestFields) -> bool {
        fields.get_as("parallel_tool_calls").unwrap_or(true)
    }

    /// Whether the answer's text must be JSON.
    fn requires_json(&self, fields: &RequestFields) -> bool;

    /// Returns which tools the model may or must call.
    fn tool_choice(&self, fields: &RequestFields) -> ToolChoice;

    /// Returns the member of the tool choice with its value for another choice; `None` removes it. Settings in the same
    /// member that are not about the choice are kept.
    fn new_tool_choice(&self, fields: &RequestFields, choice: &ToolChoice) -> (&'static str, Option<Box<RawValue>>);

    /// Returns the tools that an element of the client's `tools` defines: one tool, those of a namespace or server as far
    /// as the element names them, or none.
    fn read_tools(&self, element: &RawValue) -> Vec<Tool>;

    /// Returns the element of `tools` for a tool of the catalog; `legacy` selects the form of `functions`.
    fn write_tool(&self, tool: WrittenToolFields<'_>, legacy: bool) -> Box<RawValue>;

    /// Appends an answer of the model, unmodified except for generated ids: every part, with reasoning in its place.
    fn push_assistant(&self, added: &mut Additions, message: &AssistantMessage);

    /// Appends the result of a call of the last pushed answer. `is_error` marks feedback on a call that was not executed
    /// or that failed. Messages: all results of an answer go into one user message, before any text.
    fn push_result(&self, added: &mut Additions, call: &Call, text: &str, is_error: bool);

    /// Appends text of the user; in Messages to the last pushed user message, if that is the last element.
    fn push_user(&self, added: &mut Additions, text: &str);

    /// Returns the members of an answer, objects with an `id`, that the next request must name.
    fn carried(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Conversations of the requests of a protocol.
pub(crate) trait ConversationForm: Debug + Sync {
    /// Member with the conversation: `input` or `messages`.
    fn conversation_key(&self) -> &'static str;

    /// Returns the JSON text of a conversation as a list: one that is a string becomes one element.
    fn as_list<'a>(&self, conversation: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(conversation)
    }

    /// Returns views of the conversation, in order: system text (`instructions`, `system`), then one view for each
    /// message, result of a call, and run of elements that the model wrote (reasoning, text, calls), which is one view
    /// with role `assistant` and all its calls. A result has role `tool` and the id of its call. Elements of other kinds
    /// have an empty role and no text. `position` of a view is its index in this list.
    fn views<'a>(&self, fields: &'a RequestFields, added: &'a [Arc<RawValue>]) -> Vec<MessageView<'a>>;

    /// Returns the client's conversation with a note after the texts of some views, by position: the text keeps its
    /// bytes and stays first. A note never goes before the last `cache_control` breakpoint: the text itself keeps its
    /// block and the note becomes a new block. Positions of views without text are ignored.
    fn with_notes(&self, fields: &RequestFields, notes: &BTreeMap<usize, String>) -> Box<RawValue>;

    /// Returns the client's conversation with kept parts put back, by position of the assistant's view: the elements
    /// before it, the calls of the proxy among the client's in the model's order, and the results of the proxy's calls
    /// where the protocol expects them. A missing result becomes `lost`.
    fn rejoined(&self, fields: &RequestFields, parts: &BTreeMap<usize, KeptPart>, lost: &str) -> Rejoined;

    /// Returns the reasoning in the client's conversation, in order. References to items count, because they may refer to
    /// reasoning.
    fn reasoning(&self, _fields: &RequestFields) -> Vec<ReasoningPart> {
        Vec::new()
    }

    /// Returns the client's conversation without some of its reasoning, by position in [`Self::reasoning`]. All other
    /// parts keep their bytes; an element of which nothing remains is left out.
    fn without_reasoning(&self, fields: &RequestFields, _positions: &BTreeSet<usize>) -> Box<RawValue> {
        fields.get_as(self.conversation_key()).unwrap_or_else(|| raw::<[(); 0]>(&[]))
    }

    /// Returns words of which the text of a conversation with calls has at least one.
    fn call_words(&self) -> CallWords;
}

/// A conversation into which kept parts were put back.
#[derive(Debug)]
pub(crate) struct Rejoined {
    /// The new value of the conversation member.
    pub(crate) conversation: Box<RawValue>,
    /// New position of each view of the old conversation that is still one view; `None` for a view that was rewritten.
    pub(crate) positions: Vec<Option<usize>>,
}
