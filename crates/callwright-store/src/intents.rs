//! Turn state: the intent to execute a call, committed before the API request leaves.

use futures_util::future::BoxFuture;

use super::StoreError;

/// Identity of an execution. Two executions with equal keys are the same call made twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IntentKey {
    /// Session id; the trace id for a turn without a session (a repeat in another turn cannot be recognised then).
    pub session: String,
    /// `toolset/tool`.
    pub operation: String,
    /// Hash of the canonical form of the arguments, independent of member order and whitespace.
    pub arguments_hash: String,
}

/// Data recorded when a call begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning<'a> {
    /// Trace id of the turn that makes the call.
    pub turn: &'a str,
    /// Idempotency key of the request, if the operation documents one.
    pub idempotency_key: Option<&'a str>,
}

/// Earlier state of an execution when it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntentState {
    /// The call was never begun.
    Fresh,
    /// The call was begun and never finished: it may have taken effect.
    UnknownBefore {
        /// Idempotency key of the earlier request; it is reused.
        idempotency_key: Option<String>,
    },
    /// The call was finished by another turn whose client never got the answer, because the process or the connection
    /// ended. The intent remains finished and belongs to this turn from now on.
    UndeliveredBefore {
        /// Answer, as passed to [`Intents::finish`].
        answer: String,
    },
    /// The call was finished before, and the client got the answer.
    FinishedBefore {
        /// Label of the outcome.
        label: String,
    },
}

/// Intents to execute calls. They prevent a call with an unknown outcome from being sent twice, also after a crash.
pub trait Intents: Send + Sync {
    /// Returns the idempotency key of a call that was begun and not finished: a repeat must carry it.
    fn unfinished_key<'a>(&'a self, key: &'a IntentKey) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Returns the earlier unsettled execution of the same call: [`IntentState::UnknownBefore`], or
    /// [`IntentState::UndeliveredBefore`], which belongs to this turn from now on. Returns `None` if there is none.
    /// Begins nothing.
    fn earlier<'a>(
        &'a self,
        key: &'a IntentKey,
        turn: &'a str,
    ) -> BoxFuture<'a, Result<Option<IntentState>, StoreError>>;

    /// Records that the call is about to be executed and returns its earlier state. The record is on disk when this
    /// returns. From then on the intent is *begun*, except for [`IntentState::UndeliveredBefore`].
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed: an unsafe method must not be sent then.
    fn begin<'a>(
        &'a self,
        key: &'a IntentKey,
        beginning: Beginning<'a>,
    ) -> BoxFuture<'a, Result<IntentState, StoreError>>;

    /// Records the label of the outcome, and the answer until the client has got it. Must not be called for an unknown
    /// outcome: the intent stays begun.
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed: the intent stays begun, which is safe.
    fn finish<'a>(
        &'a self,
        key: &'a IntentKey,
        label: &'a str,
        answer: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Records that the client got the answer of this turn. The API answers stored for the turn are erased, and a
    /// repeat of the call is a new one.
    ///
    /// # Errors
    /// [`StoreError`] if the commit failed: a repeat gets the old answer then, which is safe.
    fn mark_delivered<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}
