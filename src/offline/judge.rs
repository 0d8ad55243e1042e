//! One message of a file, judged as a server would judge it.

use std::cell::LazyCell;
use std::sync::Arc;

use super::toolbooks::{Key, Toolbooks};
use crate::domain::Message;
use crate::domain::rules::Evidence;
use crate::openai::{AssistantMessage, RecordedAnswer, ToolChoice};
use crate::policy::Policy;
use crate::repair::rescue::Situation;
use crate::repair::{JudgedMessage, Spoken, judge_message};
use crate::scanner::{Context, Conversation, Toolbook, Transcript};

/// The rules, and the tools that were compiled so far. Shared by the threads.
pub(super) struct Judge<'a> {
    /// The rules.
    pub(super) policy: &'a Policy,
    evidence: Evidence,
    toolbooks: Toolbooks,
}

impl<'a> Judge<'a> {
    /// `native_tool_calls` says whether the answers come from an upstream that delivers native calls.
    pub(super) fn new(policy: &'a Policy, native_tool_calls: bool) -> Self {
        let rescue = policy.repair.rescue;
        let evidence = if native_tool_calls { rescue.native } else { rescue.text };
        Self { policy, evidence, toolbooks: Toolbooks::new() }
    }

    /// The toolbook of `key`; where it is not kept, the text that `read` gives is compiled.
    ///
    /// # Errors
    /// That of `read`.
    pub(super) fn toolbook<E>(&self, key: Key, read: impl FnOnce() -> Result<String, E>) -> Result<Arc<Toolbook>, E> {
        self.toolbooks.get(key, read)
    }

    /// Judges an answer to `request`; `cut_off` where its tokens ran out.
    pub(super) fn message(
        &self,
        message: &AssistantMessage,
        cut_off: bool,
        request: &RecordedAnswer<'_>,
        toolbook: &Toolbook,
    ) -> JudgedMessage {
        let choice = request.tool_choice();
        let allowed = allowed(&choice);
        let situation = Situation {
            evidence: if choice == ToolChoice::None { Evidence::Off } else { self.evidence },
            allowed: allowed.as_deref(),
            cut_off,
            json_wanted: request.wants_json(),
            sent: 0,
        };
        // Beside calls that are not judged, text is only text.
        let said = if message.has_unjudged_calls() { None } else { message.text() };
        let transcript = LazyCell::new(|| Transcript::read(request.messages().into_iter().map(Message::from)));
        // Without the conversation nobody knows what it does not mention.
        let is_known = request.member("messages").is_some();
        let conversation: Option<&dyn Conversation> = if is_known { Some(&transcript) } else { None };
        let spoken = Spoken { text: said.as_deref(), calls: message.calls(), situation };
        self.spoken(&spoken, toolbook, &Context { conversation, ..Context::default() })
    }

    /// Judges what was said.
    pub(super) fn spoken(&self, spoken: &Spoken<'_>, toolbook: &Toolbook, context: &Context<'_>) -> JudgedMessage {
        judge_message(spoken, toolbook, &self.policy.scan, &self.policy.repair, context)
    }
}

/// The tools that may be called, where the choice names some.
fn allowed(choice: &ToolChoice) -> Option<Vec<String>> {
    match choice {
        ToolChoice::Allowed { names, .. } => Some(names.clone()),
        ToolChoice::Named(name) => Some(vec![name.clone()]),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => None,
    }
}
