//! The stored record of a turn.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outcome::CredentialFault;
use super::{
    ApprovalNote, Call, Diagnosis, Explanation, KeyNote, MemoryNote, OfferNote, PlanNote, Repair, Usage, Verdict,
};

/// Everything that happened in one turn. Bodies are there only where policy says so.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Trace {
    /// Our id of the turn: the answer's `x-callwright-trace` header.
    pub id: String,
    /// The session, where the turn belongs to one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub session: Option<String>,
    /// Whose turn it is: the id of the virtual key; else the hash of the client's own key, one for all clients without any.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub tenant: String,
    /// The virtual key that it was asked with.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub key: Option<KeyNote>,
    /// When the request arrived.
    pub started_at: Timestamp,
    /// Route template, such as `/v1/chat/completions`.
    pub endpoint: String,
    /// The model name as the client sent it (an alias or an upstream's own name).
    pub model: String,
    /// Name of the upstream that was asked.
    pub upstream: String,
    /// Name of the policy in force.
    pub policy: String,
    /// `guard`, `shadow` or `off`.
    pub mode: String,
    /// Did the client ask for a stream?
    pub stream: bool,
    /// Status of the answer to the client.
    pub status: u16,
    /// Verdict on the answer; in shadow mode what it would have been.
    pub verdict: Verdict,
    /// Names of the tools that the model was offered.
    pub tools_offered: Arc<[String]>,
    /// How they were chosen, where there was a choice.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offer: Option<OfferNote>,
    /// The plan that was drawn or followed, where there was one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub plan: Option<PlanNote>,
    /// What the turn was shown of memory, and what may be learned from it; none where policy switches memory off.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory: Option<MemoryNote>,
    /// Earlier answers of the conversation into which the proxy's part was put back.
    #[serde(skip_serializing_if = "is_none", default)]
    pub rejoined: u32,
    /// The failures that the client's tool messages report, in order.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub observed: Vec<Observation>,
    /// Older failures that the client's tool messages report, and that are neither listed nor explained any more.
    #[serde(skip_serializing_if = "is_none", default)]
    pub observed_left_out: u32,
    /// The upstream requests, in order.
    pub attempts: Vec<Attempt>,
    /// The calls that the proxy executed, in order.
    pub executions: Vec<Execution>,
    /// The record of the feedback loop (AutoFeedback algorithm 1): what a person needs to take over.
    pub record: Vec<Round>,
    /// Which limit ended the turn, where one did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exhausted: Option<String>,
    /// The error that the client got, where it got one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// Tokens over all attempts.
    pub usage: Usage,
    /// Whole time, from arrival to the last byte, in milliseconds.
    pub duration_ms: f64,
    /// Of that, the time that was neither the upstream's nor a tool API's.
    pub overhead_ms: f64,
    /// The request body, where policy records bodies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request: Option<Value>,
    /// The answer's body (for a stream: the assembled message), where policy records bodies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<Value>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

/// A failure that a tool message of the client's reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The call that the message answers; arguments only where policy records bodies.
    pub call: Call,
    /// The rule that recognised the failure.
    pub rule: String,
    /// Was it there in an earlier turn of the conversation? Its explanation is in that turn's trace then.
    #[serde(skip_serializing_if = "is_false", default)]
    pub again: bool,
    /// What the documentation says about it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explanation: Option<Explanation>,
    /// What was done about it.
    pub done: Enrichment,
}

/// What was done about a failure that a tool message reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enrichment {
    /// The explanation was added behind the message's text.
    Added,
    /// It was noted; policy says that the message stays as it is.
    Noted,
    /// Nothing: the documentation has nothing to say about it.
    Unexplained,
    /// Nothing: the time for that was used up.
    LeftOut,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// One upstream request inside a turn.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Attempt {
    /// Why it was made: `first`, `static_feedback`, `tool_results`, `dynamic_feedback`, `closing`.
    pub purpose: String,
    /// Upstream that was asked.
    pub upstream: String,
    /// The model's name there; empty where it was not noted.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub model: String,
    /// HTTP status, where there was one.
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
    /// The calls as the model made them; arguments only where policy records bodies.
    pub calls: Vec<Call>,
    /// What the scan found.
    pub diagnoses: Vec<Diagnosis>,
    /// What the scan found and policy says is only noted.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub advice: Vec<Diagnosis>,
    /// What was repaired.
    pub repairs: Vec<Repair>,
    /// Tokens of this attempt.
    pub usage: Usage,
    /// What the attempt is charged for where the upstream told no tokens, by the length of the texts; only where tokens are charged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub estimate: Option<Usage>,
    /// From the request's arrival to the sending, in milliseconds.
    #[serde(default)]
    pub started_ms: f64,
    /// From sending to the first chunk of a streamed answer, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_chunk_ms: Option<f64>,
    /// From sending to the answer's last byte, in milliseconds.
    pub duration_ms: f64,
}

impl Attempt {
    /// An attempt whose answer is not judged yet.
    pub fn unjudged(purpose: &str, upstream: &str, outcome: &str, usage: Usage, duration_ms: f64) -> Self {
        Self {
            purpose: purpose.to_owned(),
            upstream: upstream.to_owned(),
            model: String::new(),
            status: None,
            outcome: outcome.to_owned(),
            request_id: None,
            verdict: None,
            calls: Vec::new(),
            diagnoses: Vec::new(),
            advice: Vec::new(),
            repairs: Vec::new(),
            usage,
            estimate: None,
            started_ms: 0.0,
            first_chunk_ms: None,
            duration_ms,
        }
    }
}

/// One execution of a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Execution {
    /// The call that was executed, after repairs; arguments only where policy records bodies.
    pub call: Call,
    /// Toolset of the operation.
    pub toolset: String,
    /// `GET /path/{template}`.
    pub operation: String,
    /// Label of the outcome.
    pub outcome: String,
    /// HTTP status, where the API answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// The API's answer or why there is none, where policy records bodies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub body: Option<String>,
    /// The approval that policy asked for, where it did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval: Option<ApprovalNote>,
    /// What the documentation says about a failed outcome.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub explanation: Option<Explanation>,
    /// What is wrong with the toolset's credential, where the call failed because of that: for its operator to mend.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub credential: Option<CredentialFault>,
    /// From the request's arrival to the beginning, in milliseconds; the wait for an approval is before it.
    #[serde(default)]
    pub started_ms: f64,
    /// Milliseconds.
    pub duration_ms: f64,
}

/// One round of the feedback loop (AutoFeedback section 3.3.2): what was tried, what came of it, what was tried next.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Round {
    /// `static` or `dynamic`.
    pub kind: String,
    /// The call as it was made.
    pub action: String,
    /// What was found or answered, as the model was told.
    pub observation: String,
    /// What the model said about it with its next answer, where it said anything.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub thought: Option<String>,
    /// The model's next call, where it made one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub new_action: Option<String>,
}

/// A trace in which nothing happened, for tests.
#[cfg(feature = "testing")]
pub fn sample() -> Trace {
    Trace {
        id: "0".repeat(32),
        session: None,
        tenant: String::new(),
        key: None,
        started_at: Timestamp::UNIX_EPOCH,
        endpoint: "/v1/chat/completions".to_owned(),
        model: "m".to_owned(),
        upstream: "default".to_owned(),
        policy: "default".to_owned(),
        mode: "guard".to_owned(),
        stream: false,
        status: 200,
        verdict: Verdict::Text,
        tools_offered: Arc::default(),
        offer: None,
        plan: None,
        memory: None,
        rejoined: 0,
        observed: Vec::new(),
        observed_left_out: 0,
        attempts: Vec::new(),
        executions: Vec::new(),
        record: Vec::new(),
        exhausted: None,
        error: None,
        usage: Usage::default(),
        duration_ms: 0.0,
        overhead_ms: 0.0,
        request: None,
        answer: None,
    }
}
