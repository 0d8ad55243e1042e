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
use super::intent::{RunningCall, RunningCalls, intent_key};
use super::long_integer;
use super::paging;
use super::permission::{CallPermission, permit};
use super::refusal::refuse;
use super::request::{self, is_safe};
use super::request_sender::{AuthorizedRequest, RequestSender};
use super::stored_answer;
use super::{BuildError, Settings};
use callwright_common::text::excerpt;
use callwright_judge::scanner::CheckedCall;
use callwright_openapi::{Operation, Toolset};
use callwright_store::{Beginning, IntentKey, IntentState, Intents, SharedTokens, StoreError};
use callwright_types::Outcome;
use callwright_types::Refusal;
use callwright_types::rules::ExecuteRules;

/// Maximum number of characters of a number in a refusal.
const MAX_NUMBER_CHARS: usize = 40;

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
    pub async fn execute(
        &self,
        call: &CheckedCall,
        operation: &Operation,
        toolset: &Toolset,
        rules: &ExecuteRules,
        session: Option<&str>,
        trace_id: &str,
    ) -> Outcome {
        let tool = tool_name(operation, toolset);
        match permitted(call, operation, rules, &tool) {
            Ok(CallPermission::Freely) => self.carry_out(call, operation, toolset, None, session, trace_id).await,
            Ok(CallPermission::OnceApproved) => refuse!(
                ApprovalUnavailable,
                "the policy requires human approval of {tool}, and no approval was requested"
            )
            .into(),
            Err(refusal) => refusal.into(),
        }
    }

    /// Runs a permitted call: permitted by a rule, or by a `grant` for the call with this digest.
    pub(super) async fn carry_out(
        &self,
        call: &CheckedCall,
        operation: &Operation,
        toolset: &Toolset,
        grant: Option<(Grant, String)>,
        session: Option<&str>,
        trace_id: &str,
    ) -> Outcome {
        if let Err(refusal) = vouched_for(call, operation) {
            return refusal.into();
        }
        let tool = tool_name(operation, toolset);
        if is_safe(&operation.method) {
            return match self.authorize(operation, toolset, call.arguments()).await {
                Ok(mut authorized) => match redeem(grant.as_ref()).await {
                    Ok(()) => self.sender.deliver(&mut authorized, true).await,
                    Err(outcome) => outcome,
                },
                Err(outcome) => outcome,
            };
        }
        let key = intent_key(session, trace_id, &tool, call.arguments());
        let Some(running) = self.running.enter(&key) else { return at_the_same_time(&key) };
        let idempotency_key = match self.idempotency_key(operation, &key, trace_id).await {
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
        let sending =
            PreparedCall { key, turn: trace_id.to_owned(), idempotency_key, grant, authorized, _running: running };
        let executor = self.clone();
        let sending = async move { executor.send_at_most_once(sending).await };
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

    async fn send_at_most_once(&self, sending: PreparedCall) -> Outcome {
        let PreparedCall { key, turn, idempotency_key, grant, mut authorized, _running } = sending;
        let has_key = idempotency_key.is_some();
        let method = authorized.request.method.clone();
        let repeatable = has_key || self.may_repeat(&method);
        // What the first request got is known without a connection.
        let own_key = idempotency_key.clone();
        match self.intents.earlier(&key, &turn).await {
            Ok(Some(earlier)) => {
                let is_own = |earlier: &str| own_key.as_deref() == Some(earlier);
                if let Some(outcome) = self.in_the_way(&key, &method, earlier, is_own) {
                    return outcome;
                }
            }
            Ok(None) => {}
            Err(error) => return unrecorded(&key, &error),
        }
        let commitment = {
            let (executor, key) = (self.clone(), key.clone());
            let record = Arc::new(IntentRecord { executor, key, turn, idempotency_key, grant, method });
            Arc::new(Commitment::new(move || {
                let record = Arc::clone(&record);
                Box::pin(async move { record.make().await })
            }))
        };
        let delivered = commitment.of(self.sender.deliver(&mut authorized, repeatable)).await;
        if let Some(stopped) = commitment.stopped() {
            return stopped;
        }
        let outcome = match delivered {
            // The time was over before there was a connection.
            Outcome::Unknown { reason } if !commitment.is_made() => Outcome::Unreachable { reason },
            outcome => outcome,
        };
        let is_open = if has_key { is_open(&outcome) } else { matches!(outcome, Outcome::Unknown { .. }) };
        if commitment.has_begun()
            && !is_open
            && let Err(error) =
                self.intents.finish(&key, outcome.label(), stored_answer::write(&outcome).as_deref()).await
        {
            tracing::warn!(operation = key.operation, %error, "an outcome could not be recorded: the call will not be repeated in its session");
        }
        outcome
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

/// A request to be sent after its intent is committed.
struct PreparedCall {
    key: IntentKey,
    turn: String,
    idempotency_key: Option<String>,
    /// The approval for the request, and the digest of the call.
    grant: Option<(Grant, String)>,
    authorized: AuthorizedRequest,
    _running: RunningCall,
}

/// Record of a request that changes data, made before it is sent.
struct IntentRecord {
    executor: Executor,
    key: IntentKey,
    turn: String,
    idempotency_key: Option<String>,
    grant: Option<(Grant, String)>,
    method: Method,
}

impl IntentRecord {
    /// Consumes the approval, then commits the intent. If the latter fails, the approval is lost and nothing is sent.
    async fn make(&self) -> Result<(), Outcome> {
        let Self { executor, key, turn, idempotency_key, grant, method } = self;
        redeem(grant.as_ref()).await?;
        let own_key = idempotency_key.as_deref();
        let begun = executor.intents.begin(key, Beginning { turn, idempotency_key: own_key }).await;
        let begun = begun.map_err(|error| unrecorded(key, &error))?;
        match executor.in_the_way(key, method, begun, |earlier| own_key == Some(earlier)) {
            Some(outcome) => Err(outcome),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor").finish_non_exhaustive()
    }
}

/// Returns the name of the tool in policies.
pub(super) fn tool_name(operation: &Operation, toolset: &Toolset) -> String {
    format!("{}/{}", toolset.name, operation.own_name())
}

pub(super) fn permitted(
    call: &CheckedCall,
    operation: &Operation,
    rules: &ExecuteRules,
    tool: &str,
) -> Result<CallPermission, Refusal> {
    vouched_for(call, operation)?;
    permit(rules, &operation.method, tool)
}

/// Checks that the scan checked the call against this operation, and that all digits of its numbers can be sent. A scan
/// is valid for the call of one tool only.
pub(super) fn vouched_for(call: &CheckedCall, operation: &Operation) -> Result<(), Refusal> {
    if call.tool().tool.owner != operation.tool.owner || call.is_free_text() {
        return Err(refuse!(NotValidated, "the call was not checked against {}", operation.label()));
    }
    if let Some(number) = long_integer::first(&call.call().arguments) {
        return Err(refuse!(
            InvalidArguments,
            "the integer {} has more than 64 bits: its last digits would be lost",
            excerpt(number, MAX_NUMBER_CHARS)
        ));
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
