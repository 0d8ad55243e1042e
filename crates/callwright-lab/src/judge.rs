//! Judgement of one message of a file, as a server judges it.

use std::borrow::Cow;
use std::cell::{LazyCell, OnceCell};
use std::sync::Arc;

use super::tool_sets::{OfferedToolSet, OfferedToolSets, ToolSetKey};
use callwright_judge::repair::rescue::Situation;
use callwright_judge::repair::rescue::decision::Delivery;
use callwright_judge::repair::{JudgedMessage, Spoken, TextAnswer, is_call_of_function, judge_message};
use callwright_judge::scanner::{self, BudgetLimits, Context, Conversation, JudgementBudget, Relevance, Transcript};
use callwright_policy::Policy;
use callwright_search::retrieval::TextVectors;
use callwright_types::rules::Evidence;
use callwright_types::{Message, RequestPart, Similarity};
use callwright_wire::{AssistantMessage, RecordedAnswer, ToolChoice};

/// Policy and compiled tools. Shared by the threads.
pub(super) struct Judge<'a> {
    pub(super) policy: &'a Policy,
    evidence: Evidence,
    delivery: Delivery,
    tool_sets: OfferedToolSets,
    vectors: Option<TextVectors>,
}

impl<'a> Judge<'a> {
    /// Creates a judge. `native_tool_calls` is whether the answers come from an upstream with native tool calls.
    /// Without `vectors`, names and requests are compared by words only.
    pub(super) fn new(policy: &'a Policy, native_tool_calls: bool, vectors: Option<TextVectors>) -> Self {
        let rescue = policy.repair.rescue;
        let evidence = if native_tool_calls { rescue.native } else { rescue.text };
        let delivery = if native_tool_calls { Delivery::Native } else { Delivery::Text };
        Self { policy, evidence, delivery, tool_sets: OfferedToolSets::new(), vectors }
    }

    /// Returns the tools of `request` with the list of `key`; compiles the text that `read` returns if they are not cached.
    ///
    /// # Errors
    /// The error of `read`.
    pub(super) fn offered<E>(
        &self,
        key: ToolSetKey,
        request: &RecordedAnswer<'_>,
        read: impl FnOnce() -> Result<String, E>,
    ) -> Result<Arc<OfferedToolSet>, E> {
        self.tool_sets.get(key, request, read)
    }

    /// Judges an answer to `request`; `cut_off` is whether the token limit truncated it.
    pub(super) fn message(
        &self,
        message: &AssistantMessage,
        cut_off: bool,
        request: &RecordedAnswer<'_>,
        offered: &OfferedToolSet,
    ) -> JudgedMessage {
        let choice = request.tool_choice();
        let situation = Situation {
            evidence: if choice == ToolChoice::None { Evidence::Off } else { self.evidence },
            allowed: choice.allowed(),
            cut_off,
            json_wanted: request.requires_json(),
            sent: 0,
            delivery: self.delivery,
            expressions: self.policy.repair.rescue.expressions,
            budget: None,
            confirms: false,
        };
        let mut message = Cow::Borrowed(message);
        let mut adopted = Vec::new();
        if message.has_unjudged_calls() {
            adopted = message.to_mut().adopt_custom_calls(&|call| is_call_of_function(call, &offered.tool_set));
        }
        // Text next to calls that are not judged remains text.
        let text = if message.has_unjudged_calls() { None } else { message.text() };
        let spoken = Spoken { text: text.as_deref(), calls: message.calls(), situation };
        let (scan, repair) = (&self.policy.scan, &self.policy.repair);
        let namespaces = message.namespaces();
        self.in_context(Some(request), offered, |context| {
            let context = &Context { namespaces: Some(&namespaces), ..*context };
            let mut judged = judge_message(&spoken, &offered.tool_set, scan, repair, context);
            judged.note_functions(&adopted);
            if choice == ToolChoice::None || !message.is_only_text() {
                return judged;
            }
            let reasoning = message.reasoning();
            let answer = TextAnswer { text: text.as_deref(), reasoning: reasoning.as_deref(), situation };
            judged.or_no_answer(&answer, &offered.tool_set, scan, repair, context)
        })
    }

    /// Judges a message that answers `request`; `None` if the request is unknown.
    pub(super) fn spoken(
        &self,
        spoken: &Spoken<'_>,
        request: Option<&RecordedAnswer<'_>>,
        offered: &OfferedToolSet,
    ) -> JudgedMessage {
        self.in_context(request, offered, |context| {
            judge_message(spoken, &offered.tool_set, &self.policy.scan, &self.policy.repair, context)
        })
    }

    /// Judges in the context of `request`, whose conversation is parsed at most once, and only if a check requires it.
    fn in_context(
        &self,
        request: Option<&RecordedAnswer<'_>>,
        offered: &OfferedToolSet,
        judge: impl FnOnce(&Context<'_>) -> JudgedMessage,
    ) -> JudgedMessage {
        // Without the conversation, its mentions are unknown.
        let request = request.filter(|request| request.has_conversation());
        let conversation = request.map(|request| RecordedConversation { request, transcript: OnceCell::new() });
        let relevance = LazyCell::new(|| self.relevance(request?, offered));
        // No time limit: results must not depend on the clock.
        let limits = BudgetLimits { time: None, ..scanner::Settings::default().budget() };
        let budget = JudgementBudget::start(limits);
        judge(&Context {
            budget: Some(&budget),
            conversation: conversation.as_ref().map(|conversation| conversation as &dyn Conversation),
            relevance: Some(&relevance),
            similarity: self.vectors.as_ref().map(|vectors| vectors as &dyn Similarity),
            ..Context::default()
        })
    }

    /// Returns the relevance of each tool to the last user message; `None` if there is none.
    fn relevance(&self, request: &RecordedAnswer<'_>, offered: &OfferedToolSet) -> Option<Relevance> {
        let messages = request.messages();
        let last = messages.iter().rev().find(|message| message.role == "user")?;
        last.text.as_deref().map(|text| offered.relevance(text, self.vectors.as_ref()))
    }
}

/// Conversation before a recorded answer, parsed at first use.
#[derive(Debug)]
struct RecordedConversation<'a, 'r> {
    request: &'a RecordedAnswer<'r>,
    transcript: OnceCell<Transcript>,
}

impl Conversation for RecordedConversation<'_, '_> {
    fn transcript(&self) -> &Transcript {
        self.transcript.get_or_init(|| Transcript::read(self.request.messages().into_iter().map(Message::from)))
    }

    fn visit_request(&self, visit: &mut dyn FnMut(RequestPart<'_>)) {
        self.request.visit_parts(visit);
    }
}
