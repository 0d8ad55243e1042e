//! Runs calls.

use std::sync::Arc;

use super::address::{Lookup, SystemLookup};
use super::courier::{Courier, Parcel};
use super::credentials::Wanted;
use super::intent::intent_key;
use super::permission::permit;
use super::refusal::{Refusal, refuse};
use super::request::{self, Request, is_safe};
use super::{BuildError, Settings};
use crate::catalog::{Operation, Toolset};
use crate::domain::Outcome;
use crate::domain::rules::ExecuteRules;
use crate::scanner::CheckedCall;
use crate::store::{Begun, IntentKey, Intents, StoreError};

/// Runs checked calls of catalog tools over HTTP. Clones share connections.
#[derive(Clone)]
pub struct Executor {
    courier: Arc<Courier>,
    intents: Arc<dyn Intents>,
}

impl Executor {
    /// Builds the executor.
    ///
    /// # Errors
    /// [`BuildError`] where the settings name no address, or certificates that cannot be read.
    pub fn build(settings: &Settings, intents: Arc<dyn Intents>) -> Result<Self, BuildError> {
        Self::with_lookup(settings, intents, Arc::new(SystemLookup))
    }

    pub(super) fn with_lookup(
        settings: &Settings,
        intents: Arc<dyn Intents>,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, BuildError> {
        Ok(Self { courier: Arc::new(Courier::build(settings, lookup)?), intents })
    }

    /// Runs one call. Whatever goes wrong is an outcome.
    ///
    /// - Policy, encoding and addresses come first; what they forbid is [`Outcome::Refused`], and the reason says what would allow it.
    /// - The credentials that the operation asks for are obtained next; where they cannot be, nothing is sent.
    /// - A method that is not safe is committed as an intent before it leaves. Where that fails it is refused; where the same call of the
    ///   same session was sent before and its outcome is still not known, it is not sent again ([`Outcome::Unknown`]).
    /// - Such a request is finished and recorded even when the caller goes away (drops the future) while it runs.
    pub async fn execute(
        &self,
        call: &CheckedCall,
        operation: &Operation,
        toolset: &Toolset,
        rules: &ExecuteRules,
        session: Option<&str>,
        trace_id: &str,
    ) -> Outcome {
        let tool = format!("{}/{}", toolset.name, operation.tool.name);
        let request = match prepare(call, operation, rules, &tool) {
            Ok(request) => request,
            Err(refusal) => return refusal.into(),
        };
        let mut parcel = match self.courier.pack(request, Wanted::of(operation, toolset)).await {
            Ok(parcel) => parcel,
            Err(outcome) => return outcome,
        };
        if is_safe(&parcel.request.method) {
            return self.courier.deliver(&mut parcel).await;
        }
        let key = intent_key(session, trace_id, &tool, call.arguments());
        let sending =
            tokio::spawn(send_at_most_once(Arc::clone(&self.courier), Arc::clone(&self.intents), key, parcel));
        // The task ends early only when the process does.
        sending
            .await
            .unwrap_or_else(|_| Outcome::Unknown { reason: "the proxy stopped while the request ran".to_owned() })
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").finish_non_exhaustive()
    }
}

fn prepare(call: &CheckedCall, operation: &Operation, rules: &ExecuteRules, tool: &str) -> Result<Request, Refusal> {
    // The scan vouches for the call of one tool; it says nothing about another operation.
    if call.tool().tool.owner != operation.tool.owner || call.is_free_text() {
        return Err(refuse!("the call was not checked against {}", operation.label()));
    }
    permit(rules, &operation.method, tool)?;
    request::build(operation, call.arguments())
}

async fn send_at_most_once(
    courier: Arc<Courier>,
    intents: Arc<dyn Intents>,
    key: IntentKey,
    mut parcel: Parcel,
) -> Outcome {
    match intents.begin(&key).await {
        // What finished before may be wanted again: its outcome was told.
        Ok(Begun::Fresh | Begun::FinishedBefore { .. }) => {}
        Ok(Begun::UnknownBefore) => return unknown_before(&key),
        Err(error) => return unrecorded(&key, &error),
    }
    let outcome = courier.deliver(&mut parcel).await;
    if !matches!(outcome, Outcome::Unknown { .. })
        && let Err(error) = intents.finish(&key, outcome.label()).await
    {
        tracing::warn!(operation = key.operation, %error, "an outcome could not be recorded: the call will not be repeated in its session");
    }
    outcome
}

fn unknown_before(key: &IntentKey) -> Outcome {
    Outcome::Unknown {
        reason: format!(
            "the same call of {} was sent before and it is not known whether it took effect; it was not sent again. Find out with a \
             reading operation, or ask the user",
            key.operation
        ),
    }
}

fn unrecorded(key: &IntentKey, error: &StoreError) -> Outcome {
    refuse!("{} changes data, and the intent to execute it could not be recorded first: {error}", key.operation).into()
}
