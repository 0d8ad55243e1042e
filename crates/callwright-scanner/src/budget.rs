//! Work budget for scanning one answer.
//!
//! An answer is read in linear time, but hostile text can make a model write an answer that takes seconds to scan. The
//! scan therefore counts steps (a call, a parameter, a schema violation, a rescue candidate) and stops when the budget
//! is spent. An answer whose scan stopped early counts as unjudged as a whole: a partial result could let a faulty call
//! pass.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Limits for scanning one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Number of faults in one answer after which no further calls are examined.
    pub diagnoses: usize,
    /// Time after which the answer counts as unjudged; `None` for no limit.
    pub time: Option<Duration>,
}

/// Remaining work for scanning one answer, shared by all checks of that answer.
#[derive(Debug)]
pub struct JudgementBudget {
    diagnoses: AtomicUsize,
    clock: Clock,
    is_spent: AtomicBool,
}

/// Limit that ends the scan.
#[derive(Debug)]
enum Clock {
    Unlimited,
    Deadline(Instant),
    /// Remaining steps. Step counts make tests deterministic across machines.
    Steps(AtomicU64),
}

impl JudgementBudget {
    /// Creates a budget and starts its clock.
    pub fn start(limits: BudgetLimits) -> Self {
        let deadline = limits.time.and_then(|time| Instant::now().checked_add(time));
        Self::new(limits.diagnoses, deadline.map_or(Clock::Unlimited, Clock::Deadline))
    }

    /// Creates a budget that is limited by `steps` instead of time.
    #[must_use]
    pub fn of_steps(diagnoses: usize, steps: u64) -> Self {
        Self::new(diagnoses, Clock::Steps(AtomicU64::new(steps)))
    }

    fn new(diagnoses: usize, clock: Clock) -> Self {
        Self { diagnoses: AtomicUsize::new(diagnoses), clock, is_spent: AtomicBool::new(false) }
    }

    /// Consumes one step. Returns whether the scan may continue.
    pub fn step(&self) -> bool {
        if self.is_spent() {
            return false;
        }
        let is_over = match &self.clock {
            Clock::Unlimited => false,
            Clock::Deadline(deadline) => Instant::now() >= *deadline,
            Clock::Steps(left) => {
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
            }
        };
        if is_over {
            self.is_spent.store(true, Ordering::Relaxed);
        }
        !is_over
    }

    /// Whether the budget is spent and the answer counts as unjudged.
    pub fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }

    /// Subtracts `diagnoses` from the remaining number of faults.
    pub fn found(&self, diagnoses: usize) {
        let _ = self
            .diagnoses
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(diagnoses)));
    }

    /// Whether the fault limit is reached and no further call needs to be examined.
    pub fn has_enough_faults(&self) -> bool {
        self.diagnoses.load(Ordering::Relaxed) == 0
    }
}

impl PartialEq for JudgementBudget {
    /// Compares identity: the remaining work changes during the scan.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for JudgementBudget {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_time_end_the_work_and_it_stays_ended() {
        let steps = JudgementBudget::of_steps(1, 2);
        assert_eq!([(); 4].map(|()| steps.step()), [true, true, false, false]);
        assert!(steps.is_spent());
        let over = JudgementBudget::start(BudgetLimits { diagnoses: 1, time: Some(Duration::ZERO) });
        assert!(!over.is_spent() && !over.step() && over.is_spent());
        let unlimited = JudgementBudget::start(BudgetLimits { diagnoses: 1, time: None });
        assert!((0..10_000).all(|_| unlimited.step()));
    }

    #[test]
    fn faults_are_enough_once_they_are_as_many_as_the_limit() {
        let budget = JudgementBudget::of_steps(3, 0);
        budget.found(2);
        assert!(!budget.has_enough_faults());
        budget.found(5);
        assert!(budget.has_enough_faults());
    }
}
