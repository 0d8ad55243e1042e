//! Turn state: the intent to execute a call, committed before the API request leaves.

use futures_util::future::BoxFuture;

use super::StoreError;

/// Which execution is meant. Two executions with equal keys are the same call made twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IntentKey {
    /// The session; for a turn that belongs to none, its trace id (nothing beyond that turn can be recognised then).
    pub session: String,
    /// `toolset/tool`.
    pub operation: String,
    /// Hash of the arguments in a canonical form, so that order and spacing do not matter.
    pub arguments_hash: String,
}

/// What is recorded when a call is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning<'a> {
    /// Trace id of the turn that makes the call.
    pub turn: &'a str,
    /// The key that goes with the request, where the operation documents one.
    pub idempotency_key: Option<&'a str>,
}

/// What was known about an execution when it was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// Nothing: it was never begun.
    Fresh,
    /// It was begun before and never finished: it may have taken effect.
    UnknownBefore {
        /// The key that the request went with; it stays.
        idempotency_key: Option<String>,
    },
    /// It was finished by another turn, whose client was never told: the process or the connection ended in between. The
    /// intent stays finished, and belongs to this turn now.
    UntoldBefore {
        /// The answer, as it was handed to [`Intents::finish`].
        answer: String,
    },
    /// It was begun and finished before, and told.
    FinishedBefore {
        /// The label of the outcome.
        label: String,
    },
}

/// The intents to execute calls. They make sure that a call whose outcome is unknown is not sent twice, also after a
/// crash.
pub trait Intents: Send + Sync {
    /// The idempotency key of a call that was begun and not finished: a repeat has to carry it.
    ///
    /// # Errors
    /// [`StoreError`].
    fn unfinished_key<'a>(&'a self, key: &'a IntentKey) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// What a repeat of the call in this turn would find that was begun before and is not settled: [`Begun::UnknownBefore`], or
    /// [`Begun::UntoldBefore`], which belongs to this turn from here on. `None` where there is nothing of the kind. Begins nothing.
    ///
    /// # Errors
    /// [`StoreError`].
    fn earlier<'a>(&'a self, key: &'a IntentKey, turn: &'a str) -> BoxFuture<'a, Result<Option<Begun>, StoreError>>;

    /// Records that the call is about to be executed and says what was known before. The record is on disk when this
    /// returns. From here on the intent is *begun*, whatever it was before, but for [`Begun::UntoldBefore`].
    ///
    /// # Errors
    /// [`StoreError`] where the record could not be committed: an unsafe method must not be sent then.
    fn begin<'a>(&'a self, key: &'a IntentKey, beginning: Beginning<'a>) -> BoxFuture<'a, Result<Begun, StoreError>>;

    /// Records the outcome's label, and the answer to keep until the client has been told. An outcome that is unknown is
    /// not finished: leave the intent as it is.
    ///
    /// # Errors
    /// [`StoreError`] where it could not be committed: the intent stays begun, the safe side.
    fn finish<'a>(
        &'a self,
        key: &'a IntentKey,
        label: &'a str,
        answer: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The client has the answer of this turn: the API's answers that were kept for it are erased, and the same call made
    /// again is a new one.
    ///
    /// # Errors
    /// [`StoreError`] where it could not be committed: a repeat gets the old answer then, the safe side.
    fn told<'a>(&'a self, turn: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}
