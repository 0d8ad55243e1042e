//! Back-off of planning models whose answers are unusable, and whether any plan waits for a client.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use callwright_common::cache::ByteCache;
use callwright_common::limits::SMALL_CACHE_BYTES;
use callwright_store::{Store, StoreError};

/// Number of consecutive unusable results from which on turns are skipped; a single one may be chance.
const TOLERATED: u32 = 2;

/// Maximum number of turns that are skipped before the model is tried again.
const MAX_SKIPPED: u32 = 64;

/// Back-off by owner and model, counted in turns: after each further unusable result, twice as many turns are not
/// planned. The owner is part of the key, because the requests of one must not affect the plans of another.
#[derive(Debug)]
pub(crate) struct PlannerBackoff {
    states: ByteCache<(String, String), Arc<Mutex<BackoffState>>>,
}

#[derive(Debug, Default)]
struct BackoffState {
    /// Consecutive unusable results.
    unusable: u32,
    /// Number of turns that are still skipped.
    skipped: u32,
}

impl PlannerBackoff {
    /// Creates an empty cache.
    pub(crate) fn new() -> Self {
        let states = ByteCache::new(SMALL_CACHE_BYTES, |(owner, model): &(String, String), _| {
            owner.len() + model.len() + size_of::<Mutex<BackoffState>>()
        });
        Self { states }
    }

    /// Whether the model may plan this turn. Counts the turn if not.
    pub(crate) fn admits(&self, owner: &str, model: &str) -> bool {
        let Some(state) = self.states.get(&(owner.to_owned(), model.to_owned())) else { return true };
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.skipped == 0 {
            return true;
        }
        state.skipped -= 1;
        false
    }

    /// Records whether the model's result was usable.
    pub(crate) fn report(&self, owner: &str, model: &str, is_usable: bool) {
        let key = (owner.to_owned(), model.to_owned());
        if is_usable && self.states.get(&key).is_none() {
            return;
        }
        let state = self.states.get_with(key, Arc::default);
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        if is_usable {
            *state = BackoffState::default();
            return;
        }
        state.unusable = state.unusable.saturating_add(1);
        if let Some(doublings) = state.unusable.checked_sub(TOLERATED) {
            state.skipped = 1_u32.checked_shl(doublings).unwrap_or(MAX_SKIPPED).min(MAX_SKIPPED);
        }
    }
}

/// Time for which the last query is valid. A plan of another replica is found this much later.
const VALID_FOR: Duration = Duration::from_millis(250);

/// Whether the store has any waiting plan. Most conversations have a user message behind an answer, and hardly any of
/// these messages answers the question of a plan: they do not wait for the store.
#[derive(Debug, Default)]
pub(crate) struct WaitingPlans {
    /// Result and time of the last query.
    queried: Mutex<Option<(bool, Instant)>>,
}

impl WaitingPlans {
    /// Whether any plan may wait.
    pub(crate) async fn any(&self, store: &Store) -> bool {
        let known = *self.queried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((any, at)) = known
            && at.elapsed() < VALID_FOR
        {
            return any;
        }
        let any = match store.has_plans().await {
            Ok(any) => any,
            Err(StoreError::Off) => false,
            // The lookup of the plan itself reports the error.
            Err(_) => true,
        };
        self.note(any);
        any
    }

    /// Records that a plan waits now.
    pub(crate) fn added(&self) {
        self.note(true);
    }

    fn note(&self, any: bool) {
        *self.queried.lock().unwrap_or_else(PoisonError::into_inner) = Some((any, Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of turns until the model is tried again.
    fn skipped(backoff: &PlannerBackoff) -> usize {
        (0..1000).take_while(|_| !backoff.admits("a", "m")).count()
    }

    #[test]
    fn each_unusable_result_doubles_the_turns_that_are_skipped() {
        let backoff = PlannerBackoff::new();
        let mut counts = Vec::new();
        for _ in 0..10 {
            backoff.report("a", "m", false);
            counts.push(skipped(&backoff));
        }
        assert_eq!(counts, [0, 1, 2, 4, 8, 16, 32, 64, 64, 64]);
        backoff.report("a", "m", true);
        backoff.report("a", "m", false);
        assert_eq!(skipped(&backoff), 0, "a usable result ends the back-off");
    }

    #[test]
    fn owners_and_models_back_off_apart() {
        let backoff = PlannerBackoff::new();
        for _ in 0..3 {
            backoff.report("a", "m", false);
        }
        assert!(backoff.admits("b", "m") && backoff.admits("a", "n") && !backoff.admits("a", "m"));
    }
}
