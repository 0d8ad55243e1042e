//! The stored record of a turn.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{IntoStaticStr, VariantArray};

use super::is_default;
use super::limits::TurnLimit;
use super::outcome::CredentialFault;
use super::rules::Mode;
use super::{
    ApprovalNote, Call, Diagnosis, Evidence, EvidenceKind, Explanation, KeyNote, MemoryNote, OfferNote, PlanNote,
    RefusalReason, RepairNote, TurnActions, TurnOutcome, TurnResult, UnjudgedReason, Usage, Verdict,
};

/// Record of one turn. Bodies are present only if policy requires it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Trace {
    /// Id of the turn: the response's `x-callwright-trace` header.
    pub id: String,
    /// Session of the turn, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// Client: the id of the virtual key, otherwise the hash of the client's own key, which is the same for all clients
    /// without a key.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub tenant: String,
    /// Virtual key of the request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<KeyNote>,
    /// Time of arrival of the request.
    pub started_at: Timestamp,
    /// Route template, such as `/v1/chat/completions`.
    pub endpoint: String,
    /// Model name as sent by the client (an alias or an upstream's own name).
    pub model: String,
    /// Name of the upstream that received the request.
    pub upstream: String,
    /// Name of the policy in force.
    pub policy: String,
    /// Mode of the policy.
    pub mode: Mode,
    /// Whether the client requested a stream.
    pub stream: bool,
    /// Status of the response to the client.
    pub status: u16,
    /// Verdict, derived from outcome and actions.
    pub verdict: Verdict,
    /// Kind of answer that the client got; absent in traces of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<TurnOutcome>,
    /// Actions of the proxy on the model's answer.
    #[serde(skip_serializing_if = "is_default", default)]
    pub actions: TurnActions,
    /// Reason why the answer, or a part of it, was not validated.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unjudged: Option<UnjudgedReason>,
    /// The verdict on the model's answer alone, in shadow mode: `repaired` if guard mode would repair it, `faulty` if guard
    /// mode would send it back.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shadow_verdict: Option<Verdict>,
    /// Names of the tools offered to the model.
    pub tools_offered: Arc<[String]>,
    /// Selection of the tools, if there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offer: Option<OfferNote>,
    /// The plan that was drawn or followed, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<PlanNote>,
    /// Recalled memory and drafts of the turn; `None` if policy disables memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory: Option<MemoryNote>,
    /// Number of earlier answers of the conversation into which the proxy's part was restored.
    #[serde(skip_serializing_if = "is_default", default)]
    pub rejoined: u32,
    /// Failures reported by the client's tool messages, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub observed: Vec<Observation>,
    /// Number of older failures reported by the client's tool messages that are neither listed nor explained any more.
    #[serde(skip_serializing_if = "is_default", default)]
    pub observed_left_out: u32,
    /// Upstream requests, in order.
    pub attempts: Vec<Attempt>,
    /// Calls executed by the proxy, in order.
    pub executions: Vec<Execution>,
    /// Record of the feedback loop (AutoFeedback algorithm 1): the information a person needs to take over.
    pub record: Vec<Round>,
    /// The limit that ended the turn, if one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exhausted: Option<TurnLimit>,
    /// The error sent to the client, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// Tokens over all attempts.
    pub usage: Usage,
    /// Cost of these tokens in the currency of the price table, if a model of the turn has a price.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<f64>,
    /// Total time from arrival to the last byte, in milliseconds.
    pub duration_ms: f64,
    /// Overhead: the part of that time spent neither in the upstream nor in a tool API, in milliseconds.
    pub overhead_ms: f64,
    /// Request body, if policy records bodies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request: Option<Value>,
    /// Response body (for a stream: the assembled message), if policy records bodies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<Value>,
}

impl Trace {
    /// Returns evidence from this turn, found at time `at`.
    pub fn evidence(&self, kind: EvidenceKind, at: Timestamp) -> Evidence {
        Evidence { kind, trace: Some(self.id.clone()), session: self.session.clone(), source: None, at }
    }

    /// Sets outcome and actions, and the verdict that follows. `is_declined` is whether the last feedback requested the
    /// confirmation of a call, and the model intended none.
    pub fn conclude(&mut self, outcome: TurnOutcome, actions: TurnActions, is_declined: bool) {
        (self.outcome, self.actions) = (Some(outcome), actions);
        let (limit_reached, has_executions) = (self.exhausted.is_some(), !self.executions.is_empty());
        self.verdict = TurnResult { outcome, actions, limit_reached, has_executions, is_declined }.verdict();
    }
}

/// A failure reported by a client's tool message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The call whose result the message is; with arguments only if policy records bodies.
    pub call: Call,
    /// The rule that recognised the failure.
    pub rule: String,
    /// Whether an earlier turn of the conversation had it. Its explanation is in that turn's trace.
    #[serde(skip_serializing_if = "is_default", default)]
    pub again: bool,
    /// Explanation from the documentation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explanation: Option<Explanation>,
    /// Handling of the failure.
    pub done: Enrichment,
}

/// Handling of a failure reported by a tool message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enrichment {
    /// The explanation was appended to the message's text.
    Added,
    /// The failure was recorded; policy requires the message to stay unchanged.
    Noted,
    /// The documentation has no explanation.
    Unexplained,
    /// The time limit for explanations was reached.
    LeftOut,
}

/// Purpose of an upstream request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The client's own request.
    #[default]
    First,
    /// The scan found faults; the request reports them to the model.
    StaticFeedback,
    /// The answer may be a call, or may only describe one. The model is requested to call if it intended to.
    Confirmation,
    /// The proxy executed calls, and all of them succeeded.
    ToolResults,
    /// The proxy executed calls, and some failed; the request explains the failures to the model.
    DynamicFeedback,
    /// A limit is reached; the model is requested to give a final answer without calls.
    Closing,
    /// A plan is drawn.
    Plan,
    /// An outline is made from learned procedures.
    Procedure,
    /// A successful answer is checked.
    Check,
    /// A lesson is rewritten; no turn is charged.
    Note,
    /// Any other purpose, in a trace of another version.
    #[serde(other)]
    Other,
}

crate::labels!(Purpose);

/// One upstream request of a turn.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Attempt {
    /// Purpose of the request.
    pub purpose: Purpose,
    /// Upstream that received the request.
    pub upstream: String,
    /// Name of the model there; empty if it was not recorded.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub model: String,
    /// HTTP status, if there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// `success`, `http_error`, or the label of an upstream failure.
    pub outcome: String,
    /// The upstream's `x-request-id`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request_id: Option<String>,
    /// Verdict on this attempt's answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verdict: Option<Verdict>,
    /// The calls as the model made them; with arguments only if policy records bodies.
    pub calls: Vec<Call>,
    /// Faults found by the scan.
    pub diagnoses: Vec<Diagnosis>,
    /// Faults found by the scan that policy only records.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub advice: Vec<Diagnosis>,
    /// Repairs made; in shadow mode, repairs that guard mode would make.
    pub repairs: Vec<RepairNote>,
    /// Tokens of this attempt.
    pub usage: Usage,
    /// Estimated tokens, by the length of the texts, if the upstream reported none; only if tokens are charged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub estimate: Option<Usage>,
    /// Time from the request's arrival to sending, in milliseconds.
    #[serde(default)]
    pub started_ms: f64,
    /// Time from sending to the first chunk of a streamed response, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_chunk_ms: Option<f64>,
    /// Time from sending to the last byte of the response, in milliseconds.
    pub duration_ms: f64,
}

impl Attempt {
    /// Creates an attempt whose answer has not been evaluated.
    pub fn unjudged(purpose: Purpose, upstream: &str, outcome: &str, usage: Usage, duration_ms: f64) -> Self {
        let (upstream, outcome) = (upstream.to_owned(), outcome.to_owned());
        Self { purpose, upstream, outcome, usage, duration_ms, ..Self::default() }
    }
}

/// One execution of a call.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Execution {
    /// The executed call, after repairs; with arguments only if policy records bodies.
    pub call: Call,
    /// Toolset of the operation.
    pub toolset: String,
    /// `GET /path/{template}`.
    pub operation: String,
    /// Label of the outcome.
    pub outcome: String,
    /// Reason why the proxy did not send the request, if it did not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<RefusalReason>,
    /// The change that lets such calls through, for the operator.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub remedy: Option<String>,
    /// HTTP status, if the API responded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// The API's response, or the reason why there is none; only if policy records bodies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body: Option<String>,
    /// The approval that policy required, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval: Option<ApprovalNote>,
    /// Explanation of a failed outcome from the documentation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explanation: Option<Explanation>,
    /// Fault of the toolset's credential that made the call fail, for its operator to fix.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub credential: Option<CredentialFault>,
    /// Doubt of the check whether a successful answer is what was requested; only if policy records bodies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub doubt: Option<String>,
    /// Time from the request's arrival to the start, in milliseconds, after any wait for approval.
    #[serde(default)]
    pub started_ms: f64,
    /// Duration in milliseconds.
    pub duration_ms: f64,
}

/// One round of the feedback loop (AutoFeedback section 3.3.2): the action, the observation and the next action.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Round {
    /// `static` or `dynamic`.
    pub kind: String,
    /// The call as it was made.
    pub action: String,
    /// The finding or result, as reported to the model.
    pub observation: String,
    /// The finding or result in brief, as later rounds report it.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub brief: String,
    /// The model's text about it in its next answer, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub thought: Option<String>,
    /// The model's next call, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub new_action: Option<String>,
}

/// Returns an empty trace for tests.
#[doc(hidden)]
pub fn sample() -> Trace {
    Trace {
        id: "0".repeat(32),
        endpoint: "/v1/chat/completions".to_owned(),
        model: "m".to_owned(),
        upstream: "default".to_owned(),
        policy: "default".to_owned(),
        status: 200,
        verdict: Verdict::Text,
        ..Trace::default()
    }
}
