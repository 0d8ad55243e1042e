//! Calls that require human approval: the description of the call, and the approval.

use std::sync::Arc;

use super::Executor;
use super::executor::{CallContext, at_the_same_time, unrecorded};
use super::intent::arguments_hash;
use super::permission::CallPermission;
use super::refusal::{invalid, refuse};
use super::request::{self, is_safe};
use callwright_common::digest::of_parts;
use callwright_store::Store;
use callwright_types::{Outcome, Refusal};

/// Description of a call that a person is requested to approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Application {
    /// `POST /path/{template}`.
    pub operation: String,
    /// HTTP method.
    pub method: String,
    /// URL as it would be sent, without credentials.
    pub target: String,
    /// Arguments as JSON text.
    pub arguments: String,
    /// Hash of tool, method, target and arguments. The order of the arguments' members does not change it. An
    /// approval is valid for this digest only.
    pub digest: String,
}

/// A person's approval of one execution of one call. The store decides on its validity at the time of use.
#[derive(Debug)]
pub struct Grant {
    id: String,
    store: Arc<Store>,
}

impl Grant {
    /// Creates a grant from the approval with this id in the queue.
    pub fn new(id: String, store: Arc<Store>) -> Self {
        Self { id, store }
    }

    /// Consumes the approval, which is on disk when this returns. The approval is then invalid for a second
    /// execution, whatever happens next.
    ///
    /// # Errors
    /// The outcome of a call that must not be sent.
    pub(super) async fn redeem(&self, digest: &str) -> Result<(), Outcome> {
        let unusable = match self.store.use_approval(&self.id, digest).await {
            Ok(true) => return Ok(()),
            Ok(false) => self.store.approval_note(&self.id).await,
            Err(error) => Err(error),
        };
        Err(match unusable {
            Ok(Some(note)) => Outcome::Unapproved(note),
            Ok(None) => refuse!(ApprovalUnavailable, "there is no approval {}", self.id).into(),
            Err(error) => {
                refuse!(ApprovalUnavailable, "a person has to approve it, and the approval cannot be used: {error}")
                    .into()
            }
        })
    }
}

impl Executor {
    /// Returns the call that a person has to approve; `None` if no approval is required. No approval is requested for a
    /// call that would not be sent anyway: policy or encoding forbids it, or this session made the same call before and
    /// its outcome is unknown or was not delivered.
    ///
    /// # Errors
    /// The outcome of a call that must not be sent.
    pub async fn clear(&self, call: CallContext<'_>) -> Result<Option<Application>, Box<Outcome>> {
        let refused = |refusal: Refusal| Box::new(Outcome::from(refusal));
        if call.permission().map_err(refused)? == CallPermission::Freely {
            return Ok(None);
        }
        if !is_safe(&call.operation.method)
            && let Some(outcome) = self.settled_before(call).await
        {
            return Err(Box::new(outcome));
        }
        Application::new(call).map(Some).map_err(refused)
    }

    /// Runs a call as [`Self::execute`] does, with a person's approval instead of a rule. The approval is consumed
    /// before anything is sent, and only if its digest matches this call.
    pub async fn execute_approved(&self, call: CallContext<'_>, grant: Grant) -> Outcome {
        match Application::new(call) {
            Ok(Application { digest, .. }) => self.carry_out(call, Some((grant, digest))).await,
            Err(refusal) => refusal.into(),
        }
    }

    /// Returns the outcome of a repeated call that must not be sent; `None` if it may be sent.
    async fn settled_before(&self, call: CallContext<'_>) -> Option<Outcome> {
        let key = call.intent_key();
        let Some(_running) = self.running.enter(&key) else { return Some(at_the_same_time(&key)) };
        match self.intents.earlier(&key, call.trace_id).await {
            // This request will carry the idempotency key of the earlier one, so the API recognises it.
            Ok(Some(begun)) => self.in_the_way(&key, &call.operation.method, begun, |_| true),
            Ok(None) => None,
            Err(error) => Some(unrecorded(&key, &error)),
        }
    }
}

impl Application {
    fn new(context: CallContext<'_>) -> Result<Self, Refusal> {
        let CallContext { call, operation, .. } = context;
        let request = request::build(operation, call.arguments())?;
        let tool = context.tool();
        let arguments_hash = arguments_hash(call.arguments());
        let (method, target) = (request.method.to_string(), request.url.to_string());
        Ok(Self {
            digest: of_parts([tool.as_str(), &method, &target, &arguments_hash]),
            operation: format!("{method} {}", operation.path),
            method,
            target,
            arguments: serde_json::to_string(call.arguments()).map_err(|error| invalid(format!("{error}")))?,
        })
    }
}
