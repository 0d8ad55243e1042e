//! The work that judging one answer may take.
//!
//! An answer of any size is read in linear time, and yet a model that is driven by hostile text can write one that takes seconds. So the
//! scan counts its steps (a call, a parameter, a broken rule, a candidate of the rescue) and stops where the time is over. What is not
//! judged by then is unjudged as a whole: half a judgement could let the faulty half pass.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How much work judging one answer may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetLimits {
    /// Faults of one answer after which no further call of it is examined.
    pub diagnoses: usize,
    /// Time after which the answer counts as unjudged; `None` where there is no limit.
    pub time: Option<Duration>,
}

/// The work that is left for judging one answer. Shared by everything that judges it.
#[derive(Debug)]
pub struct Budget {
    diagnoses: AtomicUsize,
    clock: Clock,
    is_spent: AtomicBool,
}

/// What ends the work.
#[derive(Debug)]
enum Clock {
    Unlimited,
    Deadline(Instant),
    /// Steps that are left: tests that count are the same on every machine.
    Steps(AtomicU64),
}

impl Budget {
    /// The budget of an answer whose judgement begins now.
    pub fn start(limits: BudgetLimits) -> Self {
        let deadline = limits.time.and_then(|time| Instant::now().checked_add(time));
        Self::new(limits.diagnoses, deadline.map_or(Clock::Unlimited, Clock::Deadline))
    }

    /// A budget of `steps` instead of time.
    pub fn of_steps(diagnoses: usize, steps: u64) -> Self {
        Self::new(diagnoses, Clock::Steps(AtomicU64::new(steps)))
    }

    fn new(diagnoses: usize, clock: Clock) -> Self {
        Self { diagnoses: AtomicUsize::new(diagnoses), clock, is_spent: AtomicBool::new(false) }
    }

    /// Takes one step; whether the work may go on.
    pub(crate) fn step(&self) -> bool {
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

    /// Whether the answer is unjudged.
    pub fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }

    /// Counts faults that were found.
    pub(crate) fn found(&self, diagnoses: usize) {
        let less = |left: usize| Some(left.saturating_sub(diagnoses));
        let _ = self.diagnoses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// Whether so many faults were found that no further call needs to be examined.
    pub(crate) fn has_enough_faults(&self) -> bool {
        self.diagnoses.load(Ordering::Relaxed) == 0
    }
}

impl PartialEq for Budget {
    /// What is left changes: a budget equals itself alone.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Budget {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_time_end_the_work_and_it_stays_ended() {
        let steps = Budget::of_steps(1, 2);
        assert_eq!([(); 4].map(|()| steps.step()), [true, true, false, false]);
        assert!(steps.is_spent());
        let over = Budget::start(BudgetLimits { diagnoses: 1, time: Some(Duration::ZERO) });
        assert!(!over.is_spent() && !over.step() && over.is_spent());
        let unlimited = Budget::start(BudgetLimits { diagnoses: 1, time: None });
        assert!((0..10_000).all(|_| unlimited.step()));
    }

    #[test]
    fn faults_are_enough_once_they_are_as_many_as_the_limit() {
        let budget = Budget::of_steps(3, 0);
        budget.found(2);
        assert!(!budget.has_enough_faults());
        budget.found(5);
        assert!(budget.has_enough_faults());
    }
}
