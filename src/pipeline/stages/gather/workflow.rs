//! Builds a draft of a procedure in general terms from the calls since the last user message.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::MAX_CALLS;
use super::mendings::worked;
use crate::pipeline::state::{ChatDraft, Turn};
use crate::pipeline::tools::Offer;
use callwright_judge::scanner::CompiledTool;
use callwright_memory::procedures::{CompletedCall, ProcedureTool, Workflow, draft_of_calls, names_only};
use callwright_openapi::Operation;
use callwright_types::memory::Backing;
use callwright_types::trace::Execution;
use callwright_types::{Call, Owner, ProcedureDraft, Trace};
use callwright_wire::ModelRequest;

/// Returns the procedure that led to the answer; `None` without several dependent calls. It is verified if the proxy
/// saw a mistake of this turn corrected; otherwise it needs a verdict from outside.
pub(super) fn draft(turn: &Turn, offer: &Offer, draft: &ChatDraft, is_mended: bool) -> Option<ProcedureDraft> {
    let conversation = &draft.committed;
    let made = made(conversation, &turn.record.trace, offer);
    if made.len() < 2 {
        return None;
    }
    let tools = used(&made, offer);
    let bare: Vec<Option<Value>> = tools.iter().map(|tool| bare(tool)).collect();
    let known: Vec<ProcedureTool<'_>> =
        tools.iter().zip(&bare).map(|(tool, bare)| known(turn, tool, bare.as_ref())).collect();
    let calls: Vec<CompletedCall<'_>> = made.iter().map(WorkflowCall::call).collect();
    let said = said(conversation);
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let workflow = Workflow { calls: &calls, tools: &known, user_messages: &said };
    let backing = if is_mended { Backing::Seen } else { Backing::Verdict };
    draft_of_calls(&workflow, backing, turn.learned.library.settings())
}

/// A call with its answer.
struct WorkflowCall {
    tool: String,
    arguments: Value,
    answer: Value,
    worked: bool,
}

impl WorkflowCall {
    fn call(&self) -> CompletedCall<'_> {
        CompletedCall { tool: &self.tool, arguments: &self.arguments, answer: &self.answer, succeeded: self.worked }
    }
}

/// Returns the answered calls since the last user message, in order.
fn made(conversation: &ModelRequest, trace: &Trace, offer: &Offer) -> Vec<WorkflowCall> {
    let failed: HashSet<&str> = trace.observed.iter().map(|observed| observed.call.id.as_str()).collect();
    let executed: HashMap<&str, &Execution> =
        trace.executions.iter().map(|execution| (execution.call.id.as_str(), execution)).collect();
    let mut calls: Vec<Call> = Vec::new();
    let mut answers: HashMap<String, String> = HashMap::new();
    for message in conversation.messages() {
        match message.role.as_ref() {
            "user" => {
                calls.clear();
                answers.clear();
            }
            "assistant" => calls.extend(message.calls.into_owned()),
            "tool" => {
                let id = message.tool_call_id.map(|id| id.into_owned()).unwrap_or_default();
                answers.insert(id, message.text.map(|text| text.into_owned()).unwrap_or_default());
            }
            _ => {}
        }
    }
    let answered = calls.into_iter().filter_map(|call| {
        let said = answers.remove(&call.id)?;
        let owner = &offer.tool_set.get(&call.name)?.tool.owner;
        let (worked, text) = match (owner, executed.get(call.id.as_str())) {
            (Owner::Client, _) => (!failed.contains(call.id.as_str()), said),
            (_, Some(execution)) => (worked(execution), execution.body.clone().unwrap_or(said)),
            // An execution of an earlier turn leaves only the text.
            (_, None) => (false, said),
        };
        let arguments = serde_json::from_str(&call.arguments).ok()?;
        let answer = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Some(WorkflowCall { tool: call.name, arguments, answer, worked })
    });
    let mut made: Vec<WorkflowCall> = answered.collect();
    let older = made.len().saturating_sub(MAX_CALLS);
    made.drain(..older);
    made
}

/// Returns the tools of these calls, without duplicates.
fn used<'a>(made: &[WorkflowCall], offer: &'a Offer) -> Vec<&'a CompiledTool> {
    let mut names: Vec<&str> = made.iter().map(|made| made.tool.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| offer.tool_set.get(name)).map(|tool| &**tool).collect()
}

/// Returns the parameter names of a client's own tool: nothing else of it may be learned.
fn bare(tool: &CompiledTool) -> Option<Value> {
    (tool.tool.owner == Owner::Client).then(|| names_only(&tool.tool.parameters))
}

/// Returns the documented facts of a tool; only names for a client's own tool.
fn known<'a>(turn: &'a Turn, compiled: &'a CompiledTool, bare: Option<&'a Value>) -> ProcedureTool<'a> {
    let tool = &compiled.tool;
    let operation: Option<&Operation> = match &tool.owner {
        Owner::Proxy(reference) => turn.tooling.catalog.operation(reference),
        Owner::Client | Owner::Search => None,
    };
    let toolset = match &tool.owner {
        Owner::Proxy(reference) => Some(reference.toolset.as_str()),
        Owner::Client | Owner::Search => None,
    };
    ProcedureTool {
        name: &tool.name,
        toolset,
        client: bare.and_then(|_| compiled.client()),
        description: if bare.is_some() { "" } else { &tool.description },
        parameters: bare.unwrap_or(&tool.parameters),
        outputs: operation.map(|operation| &*operation.outputs).unwrap_or_default(),
        links: operation.map(|operation| operation.links.as_slice()).unwrap_or_default(),
        changes_state: operation.is_some_and(|operation| !operation.method.is_safe()),
    }
}

/// Returns the user messages, oldest first.
fn said(conversation: &ModelRequest) -> Vec<String> {
    let messages = conversation.messages().into_iter().filter(|message| message.role == "user");
    messages.filter_map(|message| message.text.map(|text| text.into_owned())).collect()
}
