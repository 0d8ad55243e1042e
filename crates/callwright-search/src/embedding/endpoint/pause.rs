//! Pause after a failure in which no turn waits for the endpoint.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;

use super::refusal::EmbeddingFailure;

/// A pause that starts with a failure and ends with a success.
#[derive(Debug)]
pub(super) struct Pause {
    length: Duration,
    began: ArcSwapOption<PauseStart>,
}

/// Start and reason of a pause.
#[derive(Debug)]
struct PauseStart {
    at: Instant,
    reason: String,
}

impl Pause {
    /// Creates a pause of this length; zero disables it.
    pub(super) fn new(length: Duration) -> Self {
        Self { length, began: ArcSwapOption::empty() }
    }

    /// Returns the reason of the current pause, if there is one.
    pub(super) fn reason(&self, now: Instant) -> Option<String> {
        let began = self.began.load();
        let began = began.as_ref().filter(|began| now.saturating_duration_since(began.at) < self.length)?;
        Some(began.reason.clone())
    }

    /// Records the result of a request.
    pub(super) fn note<T>(&self, result: &Result<T, EmbeddingFailure>, now: Instant) {
        match result {
            Ok(_) => self.began.store(None),
            Err(failure) if failure.lasts => {
                self.began.store(Some(Arc::new(PauseStart { at: now, reason: failure.reason.clone() })));
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_lasts_until_its_time_is_over_or_a_request_succeeds() {
        let pause = Pause::new(Duration::from_secs(30));
        let start = Instant::now();
        let reason = |seconds| pause.reason(start + Duration::from_secs(seconds));
        assert_eq!(reason(0), None);
        pause.note::<()>(&Err(EmbeddingFailure::passing("these texts".to_owned())), start);
        assert_eq!(reason(0), None);
        pause.note::<()>(&Err(EmbeddingFailure::lasting("down".to_owned())), start);
        assert_eq!((reason(29), reason(30)), (Some("down".to_owned()), None));
        pause.note(&Ok(()), start);
        assert_eq!(reason(0), None);
    }

    #[test]
    fn there_may_be_no_pause_at_all() {
        let pause = Pause::new(Duration::ZERO);
        let now = Instant::now();
        pause.note::<()>(&Err(EmbeddingFailure::lasting("down".to_owned())), now);
        assert_eq!(pause.reason(now), None);
    }
}
