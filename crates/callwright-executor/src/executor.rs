//! Execution of calls.

use std::sync::Arc;

use http::Method;
use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::Instrument;

use super::address::{Lookup, SystemLookup};
use super::approval::Grant;
use super::commitment::Commitment;
use super::credentials::CallCredentials;
use super::idempotency::{is_idempotent, is_open, new_key, with_key};
use super::intent::{RunningCalls, intent_key};
use super::long_integer;
use super::paging;
use super::permission::{CallPermission, permit};
use super::refusal::{invalid, refuse};
use super::request::{self, is_safe};
use super::request_sender::{AuthorizedRequest, RequestSender};
use super::stored_answer;
use super::{BuildError, Settings};
use callwright_common::limits::WORD_CHARS;
use callwright_common::text::excerpt;
use callwright_judge::scanner::CheckedCall;
use callwright_openapi::{Operation, Toolset};
use callwright_store::{Beginning, IntentKey, IntentState, Intents, SharedTokens, StoreError};
use callwright_types::Outcome;
use callwright_types::Refusal;
use callwright_types::rules::ExecuteRules;

/// Runs checked calls of catalog tools over HTTP. Clones share connections.
#[derive(Clone)]
pub struct Executor {
    sender: Arc<RequestSender>,
    pub(super) intents: Arc<dyn Intents>,
    pub(super) running: RunningCalls,
    /// Whether a `PUT` or `DELETE` without an idempotency key may be sent a second time.
    pub(super) repeat_put_and_delete: bool,
}

impl Executor {
    /// Builds the executor. Obtained tokens are shared through `tokens`, if present.
    ///
    /// # Errors
    /// [`BuildError`] if an entry of `allowed_addresses` is invalid or the certificates cannot be read.
    pub fn build(
        settings: &Settings,
        intents: Arc<dyn Intents>,
        tokens: Option<Arc<dyn SharedTokens>>,
    ) -> Result<Self, BuildError> {
        Self::with_lookup(settings, intents, tokens, Arc::new(SystemLookup))
    }

    /// Builds the executor with a custom resolver. Its addresses are checked like those of the system's resolver.
    ///
    /// # Errors
    /// The errors of [`Self::build`].
    pub fn with_lookup(
        settings: &Settings,
        intents: Arc<dyn Intents>,
        tokens: Option<Arc<dyn SharedTokens>>,
        lookup: Arc<dyn Lookup>,
    ) -> Result<Self, BuildError> {
        Ok(Self {
            sender: Arc::new(RequestSender::build(settings, lookup, tokens)?),
            intents,
            running: RunningCalls::default(),
            repeat_put_and_delete: settings.repeat_put_and_delete,
        })
    }

    /// Runs one call. Every failure is an outcome.
    ///
    /// - Policy, encoding and addresses are checked first. A violation is [`Outcome::Refused`], with a reason that
    ///   names what would allow the call.
    /// - The credentials that the operation requires are obtained next. If they are unavailable, nothing is sent.
    /// - A request whose method is not safe is committed as an intent once there is a connection, before its first
    ///   byte is sent; if that fails, the call is refused. One that only waited for a permit or a connection leaves no
    ///   intent. If the same call of the same session was sent before and its outcome is unknown, it is not sent
    ///   again ([`Outcome::Unknown`]). Exceptions are harmless repeats: the request carries the idempotency key of
    ///   the first one, or its method is idempotent and the settings permit repeats. If the outcome is known but was
    ///   not delivered ([`Self::mark_delivered`]), the earlier response is returned and nothing is sent.
    /// - Such a request is completed and recorded even if the caller drops the future while it runs.
    pub async fn execute(&self, call: CallContext<'_>) -> Outcome {
        match call.permission() {
            Ok(CallPermission::Freely) => self.carry_out(call, None).await,
            Ok(CallPermission::OnceApproved) => refuse!(
                ApprovalUnavailable,
                "the policy requires human approval of {}, and no approval was requested",
                call.tool()
            )
            .into(),
            Err(refusal) => refusal.into(),
        }
    }

    /// Runs a permitted call: permitted by a rule, or by a `grant` for the call with this digest.
    pub(super) async fn carry_out(&self, context: CallContext<'_>, grant: Option<(Grant, String)>) -> Outcome {
        let CallContext { call, operation, toolset, .. } = context;
        if let Err(refusal) = vouched_for(call, operation) {
            return refusal.into();
        }
        if is_safe(&operation.method) {
            return match self.authorize(operation, toolset, call.arguments()).await {
                Ok(mut authorized) => match redeem(grant.as_ref()).await {
                    Ok(()) => self.sender.deliver(&mut authorized, true).await,
                    Err(outcome) => outcome,
                },
                Err(outcome) => outcome,
            };
        }
        let (key, turn) = (context.intent_key(), context.trace_id.to_owned());
        let Some(running) = self.running.enter(&key) else { return at_the_same_time(&key) };
        let idempotency_key = match self.idempotency_key(operation, &key, &turn).await {
            Ok(idempotency_key) => idempotency_key,
            Err(error) => return unrecorded(&key, &error),
        };
        let authorized = match (&operation.idempotency_key, &idempotency_key) {
            (Some(parameter), Some(key)) => {
                self.authorize(operation, toolset, &with_key(call.arguments(), parameter, key)).await
            }
            _ => self.authorize(operation, toolset, call.arguments()).await,
        };
        let authorized = match authorized {
            Ok(authorized) => authorized,
            Err(outcome) => return outcome,
        };
        let method = authorized.request.method.clone();
        let record = IntentRecord { executor: self.clone(), key, turn, idempotency_key, grant, method };
        let sending = async move {
            let _running = running;
            record.send_at_most_once(authorized).await
        };
        let sending = tokio::spawn(sending.in_current_span());
        // The task ends early only if the process does.
        sending
            .await
            .unwrap_or_else(|_| Outcome::Unknown { reason: "the proxy stopped while the request ran".to_owned() })
    }

    /// Records that the client received the whole response of the turn `trace_id`, and with it the outcomes of its
    /// calls. The same calls made again are new executions.
    pub async fn mark_delivered(&self, trace_id: &str) {
        if let Err(error) = self.intents.mark_delivered(trace_id).await {
            tracing::warn!(%error, "the delivery of outcomes could not be recorded: repeated calls get them again");
        }
    }

    /// Returns the idempotency key for this call, if the operation documents one. It is the key of the first request
    /// if the outcome of that request is unknown.
    async fn idempotency_key(
        &self,
        operation: &Operation,
        key: &IntentKey,
        turn: &str,
    ) -> Result<Option<String>, StoreError> {
        let Some(parameter) = &operation.idempotency_key else { return Ok(None) };
        let earlier = self.intents.unfinished_key(key).await?;
        let now = Timestamp::now().as_nanosecond().unsigned_abs();
        Ok(Some(earlier.unwrap_or_else(|| new_key(key, turn, now, parameter))))
    }

    /// Builds the request and obtains its credentials; returns the outcome of a call for which this is impossible.
    async fn authorize(
        &self,
        operation: &Operation,
        toolset: &Toolset,
        arguments: &Map<String, Value>,
    ) -> Result<AuthorizedRequest, Outcome> {
        let request = request::build(operation, arguments)?;
        self.sender.authorize(request, CallCredentials::new(operation, toolset), paging::parameters(operation)).await
    }

    /// Returns the outcome of a call that must not be sent because of an earlier identical call (`begun`); `None` if
    /// it may be sent. `is_recognised` decides whether the API recognises the second request by the idempotency key
    /// of the first.
    pub(super) fn in_the_way(
        &self,
        key: &IntentKey,
        method: &Method,
        begun: IntentState,
        is_recognised: impl FnOnce(&str) -> bool,
    ) -> Option<Outcome> {
        match begun {
            // A call that finished before is a new execution: its outcome was delivered.
            IntentState::Fresh | IntentState::FinishedBefore { .. } => None,
            IntentState::UndeliveredBefore { answer } => Some(delivered_late(key, &answer)),
            IntentState::UnknownBefore { idempotency_key: earlier } => {
                let is_harmless = self.may_repeat(method) || earlier.as_deref().is_some_and(is_recognised);
                (!is_harmless).then(|| unknown_before(key))
            }
        }
    }

    /// Whether the settings permit a second request with this method, because it has no further effect.
    fn may_repeat(&self, method: &Method) -> bool {
        self.repeat_put_and_delete && is_idempotent(method)
    }
}

/// A request that changes data, and the record that is made before it is sent.
struct IntentRecord {
    executor: Executor,
    key: IntentKey,
    turn: String,
    idempotency_key: Option<String>,
    /// The approval for the request, and the digest of the call.
    grant: Option<(Grant, String)>,
    method: Method,
}

impl IntentRecord {
    async fn send_at_most_once(self, mut authorized: AuthorizedRequest) -> Outcome {
        let record = Arc::new(self);
        let Self { executor, key, turn, idempotency_key, method, .. } = &*record;
        let repeatable = idempotency_key.is_some() || executor.may_repeat(method);
        // What the first request got is known without a connection.
        match executor.intents.earlier(key, turn).await {
            Ok(Some(earlier)) => {
                if let Some(outcome) = record.in_the_way(earlier) {
                    return outcome;
                }
            }
            Ok(None) => {}
            Err(error) => return unrecorded(key, &error),
        }
        let made = Arc::clone(&record);
        let commitment = Arc::new(Commitment::new(move || {
            let record = Arc::clone(&made);
            Box::pin(async move { record.make().await })
        }));
        let delivered = commitment.of(executor.sender.deliver(&mut authorized, repeatable)).await;
        if let Some(stopped) = commitment.stopped() {
            return stopped;
        }
        let outcome = match delivered {
            // The time was over before there was a connection.
            Outcome::Unknown { reason } if !commitment.is_made() => Outcome::Unreachable { reason },
            outcome => outcome,
        };
        let is_open = match idempotency_key {
            Some(_) => is_open(&outcome),
            None => matches!(outcome, Outcome::Unknown { .. }),
        };
        if commitment.has_begun()
            && !is_open
            && let Err(error) =
                executor.intents.finish(key, outcome.label(), stored_answer::write(&outcome).as_deref()).await
        {
            tracing::warn!(operation = key.operation, %error, "an outcome could not be recorded: the call will not be repeated in its session");
        }
        outcome
    }

    /// Consumes the approval, then commits the intent. If the latter fails, the approval is lost and nothing is sent.
    async fn make(&self) -> Result<(), Outcome> {
        let Self { executor, key, turn, idempotency_key, grant, .. } = self;
        redeem(grant.as_ref()).await?;
        let own_key = idempotency_key.as_deref();
        let begun = executor.intents.begin(key, Beginning { turn, idempotency_key: own_key }).await;
        let begun = begun.map_err(|error| unrecorded(key, &error))?;
        self.in_the_way(begun).map_or(Ok(()), Err)
    }

    fn in_the_way(&self, begun: IntentState) -> Option<Outcome> {
        let is_own = |earlier: &str| self.idempotency_key.as_deref() == Some(earlier);
        self.executor.in_the_way(&self.key, &self.method, begun, is_own)
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").finish_non_exhaustive()
    }
}

/// A checked call, its operation, and the turn that makes it.
#[derive(Debug, Clone, Copy)]
pub struct CallContext<'a> {
    pub call: &'a CheckedCall,
    /// The operation of its tool.
    pub operation: &'a Operation,
    /// The toolset of the operation.
    pub toolset: &'a Toolset,
    /// Rules of the turn's policy.
    pub rules: &'a ExecuteRules,
    /// Session of the turn; a turn without one is its own session.
    pub session: Option<&'a str>,
    /// Id of the turn's trace.
    pub trace_id: &'a str,
}

impl CallContext<'_> {
    /// Returns the name of the tool in policies.
    pub(super) fn tool(&self) -> String {
        format!("{}/{}", self.toolset.name, self.operation.own_name())
    }

    pub(super) fn permission(&self) -> Result<CallPermission, Refusal> {
        vouched_for(self.call, self.operation)?;
        permit(self.rules, &self.operation.method, &self.tool())
    }

    pub(super) fn intent_key(&self) -> IntentKey {
        intent_key(self.session, self.trace_id, &self.tool(), self.call.arguments())
    }
}

/// Checks that the scan checked the call against this operation, and that all digits of its numbers can be sent. A scan
/// is valid for the call of one tool only.
pub(super) fn vouched_for(call: &CheckedCall, operation: &Operation) -> Result<(), Refusal> {
    if call.tool().tool.owner != operation.tool.owner || call.is_free_text() {
        return Err(refuse!(NotValidated, "the call was not checked against {}", operation.label()));
    }
    if let Some(number) = long_integer::first(&call.call().arguments) {
        return Err(invalid(format!(
            "the integer {} has more than 64 bits: its last digits would be lost",
            excerpt(number, WORD_CHARS)
        )));
    }
    Ok(())
}

async fn redeem(grant: Option<&(Grant, String)>) -> Result<(), Outcome> {
    match grant {
        Some((grant, digest)) => grant.redeem(digest).await,
        None => Ok(()),
    }
}

fn unknown_before(key: &IntentKey) -> Outcome {
    Outcome::Unknown {
        reason: format!(
            "the same call of {} was sent before and it is not known whether it took effect; it was not sent again",
            key.operation
        ),
    }
}

pub(super) fn at_the_same_time(key: &IntentKey) -> Outcome {
    Outcome::Unknown {
        reason: format!("the same call of {} is being executed at this moment; it was not sent again", key.operation),
    }
}

/// Returns the stored response of a request whose outcome was not delivered to the client.
fn delivered_late(key: &IntentKey, answer: &str) -> Outcome {
    match stored_answer::parse(answer) {
        Some(answer) => Outcome::Answered(answer),
        None => unknown_before(key),
    }
}

pub(super) fn unrecorded(key: &IntentKey, error: &StoreError) -> Outcome {
    refuse!(
        IntentNotStored,
        "{} changes data, and the intent to execute it could not be recorded first: {error}",
        key.operation
    )
    .into()
}
