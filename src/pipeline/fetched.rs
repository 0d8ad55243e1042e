//! Responses that the provider stored and a client fetches: those in the background, whose turn ended before they had an
//! output, and those of earlier turns.
//!
//! A response repeats the tools of its request, so its calls can be judged without that request. There is no model to
//! send feedback to, and the conversation is at the provider: calls are repaired, faults that need the model are reported,
//! and text is never a call.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

use crate::keys::Caller;
use callwright_common::json::RawObject;
use callwright_judge::repair::rescue::Situation;
use callwright_judge::repair::{JudgedCall, JudgedMessage, Spoken, is_call_of_function, judge_message};
use callwright_judge::scanner::{Context, JudgementBudget, ToolSet};
use callwright_policy::Policy;
use callwright_types::rules::{Evidence, Mode};
use callwright_types::{Call, Protocol, Verdict};
use callwright_wire::{Choice, Completion, ModelRequest};

use super::cpu::CpuWork;
use super::kept_key::tenant;
use super::services::Pipeline;
use super::stages::answer::make_custom;
use super::stages::open::facts;

/// Members of a response that repeat those of its request and concern its calls.
const REPEATED: [&str; 3] = ["model", "tools", "tool_choice"];

/// A fetched response for the client.
#[derive(Debug)]
pub struct FetchedResponse {
    /// Body: the received bytes, unless calls were repaired.
    pub body: Bytes,
    /// Verdict on its calls.
    pub verdict: Verdict,
}

impl Pipeline {
    /// Judges a fetched response of the Responses API. A body that is not judged, such as one
    /// without tools, is unchanged and `unguarded`.
    pub async fn judge_fetched(&self, caller: &Caller, headers: &HeaderMap, body: Bytes) -> FetchedResponse {
        let tenant = tenant(caller, headers);
        let judged = self.cpu.run(&tenant, CpuWork::Answer, body.len(), || self.judge_stored(caller, headers, &body));
        judged.await.unwrap_or(FetchedResponse { body, verdict: Verdict::Unguarded })
    }

    /// Returns `None` for a body that is not judged.
    fn judge_stored(&self, caller: &Caller, headers: &HeaderMap, body: &Bytes) -> Option<FetchedResponse> {
        let mut completion = Completion::parse(Protocol::Responses, body.clone()).ok()?;
        let request = request_of(body)?;
        let model = request.model();
        let facts = facts(model, self.aliases.get(model), caller.as_deref(), headers);
        let policy = self.switch.in_force(self.policies.load().resolve(&facts).ok()?);
        if policy.mode == Mode::Off {
            return None;
        }
        let tools = self.tools_of(&request);
        if tools.is_empty() {
            return None;
        }
        let choice = completion.choices_mut().first_mut()?;
        let judged = self.judge_calls(choice, &request, &tools, &policy);
        let verdict = match judged.verdict() {
            Verdict::Unguarded => return None,
            Verdict::Repaired if policy.mode != Mode::Guard || !repair(choice, &judged.calls, &tools) => Verdict::Clean,
            verdict => verdict,
        };
        if verdict == Verdict::Faulty {
            let codes: Vec<&str> = judged.diagnoses().map(|diagnosis| diagnosis.code.code()).collect();
            let reason = codes.join(", ");
            tracing::warn!(model, policy = policy.name, reason, "a fetched response has calls with faults");
        }
        Some(FetchedResponse { body: completion.to_bytes(), verdict })
    }

    /// Compiles the tools that a response repeats. Tools of its input are not known, so that any other name may be right.
    fn tools_of(&self, request: &ModelRequest) -> ToolSet {
        let elsewhere = request.tools_elsewhere();
        let tools = request.client_tools().into_iter().map(Arc::new).collect();
        ToolSet::compile(tools, &self.validators).beside(true, elsewhere.referenced(), elsewhere.qualified())
    }

    fn judge_calls(
        &self,
        choice: &mut Choice,
        request: &ModelRequest,
        tools: &ToolSet,
        policy: &Policy,
    ) -> JudgedMessage {
        let adopted = choice.message.adopt_custom_calls(&|call| is_call_of_function(call, tools));
        let budget = JudgementBudget::start(self.judgement);
        let namespaces = choice.message.namespaces();
        let context = Context { namespaces: Some(&namespaces), budget: Some(&budget), ..Context::default() };
        let tool_choice = request.tool_choice();
        let situation = Situation { allowed: tool_choice.allowed(), ..Situation::with(Evidence::Off) };
        let spoken = Spoken { text: None, calls: choice.message.calls(), situation };
        let mut judged = judge_message(&spoken, tools, &policy.scan, &policy.repair, &context);
        judged.note_functions(&adopted);
        judged
    }
}

/// Reads the members of a request that its response repeats.
fn request_of(response: &[u8]) -> Option<ModelRequest> {
    let response = RawObject::parse_bytes(response).ok()?;
    let mut request = RawObject::default();
    for key in REPEATED {
        request.set(key, response.get(key)?.to_owned());
    }
    ModelRequest::parse(Protocol::Responses, Bytes::from(request.to_raw().get().to_owned())).ok()
}

/// Writes the repaired calls into an answer; those with faults stay. Returns whether that is a change.
fn repair(choice: &mut Choice, judged: &[JudgedCall], tools: &ToolSet) -> bool {
    let accepted =
        |call: &JudgedCall| call.result.as_ref().map_or_else(|_| call.made.clone(), |checked| checked.call().clone());
    let calls: Vec<Call> = judged.iter().map(accepted).collect();
    if calls == choice.message.calls() && choice.message.is_well_formed() {
        return false;
    }
    choice.set_calls(&calls);
    make_custom(tools, choice, &calls);
    true
}
