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

/// What was known about an execution when it was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// Nothing: it was never begun.
    Fresh,
    /// It was begun before and never finished: it may have taken effect.
    UnknownBefore,
    /// It was begun and finished before.
    FinishedBefore {
        /// The label of the outcome.
        label: String,
    },
}

/// The intents to execute calls. They make sure that a call whose outcome is unknown is not sent twice, also after a
/// crash.
pub trait Intents: Send + Sync {
    /// Records that the call is about to be executed and says what was known before. The record is on disk when this
    /// returns. From here on the intent is *begun*, whatever it was before: who decides not to send after
    /// [`Begun::FinishedBefore`] puts the old label back with [`Intents::finish`].
    ///
    /// # Errors
    /// [`StoreError`] where the record could not be committed: an unsafe method must not be sent then.
    fn begin<'a>(&'a self, key: &'a IntentKey) -> BoxFuture<'a, Result<Begun, StoreError>>;

    /// Records the outcome's label. An outcome that is unknown is not finished: leave the intent as it is.
    ///
    /// # Errors
    /// [`StoreError`] where it could not be committed: the intent stays begun, the safe side.
    fn finish<'a>(&'a self, key: &'a IntentKey, label: &'a str) -> BoxFuture<'a, Result<(), StoreError>>;
}
