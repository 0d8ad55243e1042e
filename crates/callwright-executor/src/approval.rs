//! Calls that a person has to approve: what exactly is asked for, and the approval that comes back.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::Executor;
use super::executor::{at_the_same_time, permitted, tool_name, unrecorded};
use super::intent::{arguments_hash, intent_key};
use super::permission::Permitted;
use super::refusal::{Refusal, refuse};
use super::request::{self, is_safe};
use callwright_common::digest::{add_part, hex};
use callwright_judge::scanner::CheckedCall;
use callwright_openapi::{Operation, Toolset};
use callwright_store::Approvals;
use callwright_types::Outcome;
use callwright_types::rules::ExecuteRules;

/// What has to happen before a call may be executed.
#[derive(Debug)]
pub enum Clearance {
    /// Nothing: [`Executor::execute`] runs it.
    Free,
    /// A person has to approve it: [`Executor::execute_approved`] runs it then.
    Needed(Box<Application>),
    /// It is not to be sent, and this is its outcome.
    Settled(Outcome),
}

/// What a person is asked to approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// `POST /path/{template}`.
    pub operation: String,
    /// HTTP method.
    pub method: String,
    /// The URL as it would be sent, without credentials.
    pub target: String,
    /// The arguments as JSON text.
    pub arguments: String,
    /// Hash of tool, method, target and arguments, whatever the order of these: an approval is for nothing else.
    pub digest: String,
}

/// A person's approval of one execution of one call. It is worth what the store says of it when it is used.
#[derive(Debug)]
pub struct Grant {
    id: String,
    approvals: Arc<dyn Approvals>,
}

impl Grant {
    /// The approval of this id in the queue.
    pub fn new(id: String, approvals: Arc<dyn Approvals>) -> Self {
        Self { id, approvals }
    }

    /// Uses the approval up, which is on disk when this returns: whatever happens next, it is not good for a second execution.
    ///
    /// # Errors
    /// The outcome of a call that must not be sent.
    pub(super) async fn redeem(&self, digest: &str) -> Result<(), Outcome> {
        let unusable = match self.approvals.use_up(&self.id, digest).await {
            Ok(true) => return Ok(()),
            Ok(false) => self.approvals.standing(&self.id).await,
            Err(error) => Err(error),
        };
        Err(match unusable {
            Ok(Some(note)) => Outcome::Unapproved(note),
            Ok(None) => refuse!("there is no approval {}", self.id).into(),
            Err(error) => refuse!("a person has to approve it, and the approval cannot be used: {error}").into(),
        })
    }
}

impl Executor {
    /// What has to happen before the call may be executed. Nobody is asked about what would not be sent anyway: a call that policy or
    /// encoding forbids, or one that this session has made before, if it is not known what became of it or the client was not told.
    pub async fn clear(
        &self,
        call: &CheckedCall,
        operation: &Operation,
        toolset: &Toolset,
        rules: &ExecuteRules,
        session: Option<&str>,
        trace_id: &str,
    ) -> Clearance {
        let tool = tool_name(operation, toolset);
        match permitted(call, operation, rules, &tool) {
            Err(refusal) => return Clearance::Settled(refusal.into()),
            Ok(Permitted::Freely) => return Clearance::Free,
            Ok(Permitted::OnceApproved) => {}
        }
        if !is_safe(&operation.method)
            && let Some(outcome) = self.settled_before(call, operation, &tool, session, trace_id).await
        {
            return Clearance::Settled(outcome);
        }
        match Application::of(call, operation, toolset) {
            Ok(application) => Clearance::Needed(Box::new(application)),
            Err(refusal) => Clearance::Settled(refusal.into()),
        }
    }

    /// Runs a call as [`Self::execute`] does, by a person's approval instead of a rule. The approval is used up before anything is sent,
    /// and only where it is for this very call.
    pub async fn execute_approved(
        &self,
        call: &CheckedCall,
        operation: &Operation,
        toolset: &Toolset,
        grant: Grant,
        session: Option<&str>,
        trace_id: &str,
    ) -> Outcome {
        match Application::of(call, operation, toolset) {
            Ok(Application { digest, .. }) => {
                self.carry_out(call, operation, toolset, Some((grant, digest)), session, trace_id).await
            }
            Err(refusal) => refusal.into(),
        }
    }

    /// The outcome of a repeat that is not sent, where it is one.
    async fn settled_before(
        &self,
        call: &CheckedCall,
        operation: &Operation,
        tool: &str,
        session: Option<&str>,
        trace_id: &str,
    ) -> Option<Outcome> {
        let key = intent_key(session, trace_id, tool, call.arguments());
        let Some(_running) = self.running.enter(&key) else { return Some(at_the_same_time(&key)) };
        match self.intents.earlier(&key, trace_id).await {
            // A request with an earlier one's key has the same: the API knows it again.
            Ok(Some(begun)) => self.in_the_way(&key, &operation.method, begun, |_| true),
            Ok(None) => None,
            Err(error) => Some(unrecorded(&key, &error)),
        }
    }
}

impl Application {
    fn of(call: &CheckedCall, operation: &Operation, toolset: &Toolset) -> Result<Self, Refusal> {
        let request = request::build(operation, call.arguments())?;
        let tool = tool_name(operation, toolset);
        let arguments_hash = arguments_hash(call.arguments());
        let (method, target) = (request.method.to_string(), request.url.to_string());
        Ok(Self {
            digest: digest([tool.as_str(), &method, &target, &arguments_hash]),
            operation: format!("{method} {}", operation.path),
            method,
            target,
            arguments: serde_json::to_string(call.arguments()).map_err(|error| refuse!("{error}"))?,
        })
    }
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    parts.into_iter().for_each(|part| add_part(&mut hash, part.as_bytes()));
    hex(&hash.finalize())
}
