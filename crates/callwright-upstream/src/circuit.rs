//! Circuit breaker: stops requests to an upstream that keeps failing, then probes it with a few requests.
//!
//! A pure state machine: the time is a parameter. Requests and failures are counted in a sliding window. The circuit
//! opens when both the number and the share of failures reach their limits.

use std::time::{Duration, Instant};

use callwright_types::CircuitState;

/// Number of steps of the sliding window.
const STEPS: u32 = 10;

/// Conditions for opening and closing a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CircuitRules {
    /// Minimum number of failures in the window to open the circuit; 0: it never opens.
    pub(super) failures: u32,
    /// Minimum percentage of failed requests in the window to open the circuit.
    pub(super) percent: u32,
    /// Length of the window.
    pub(super) window: Duration,
    /// Time for which the circuit is open.
    pub(super) open: Duration,
    /// Maximum number of concurrent probe requests when half-open; as many must succeed to close the circuit.
    pub(super) probes: u32,
}

/// An admitted request. Its result is reported with the ticket: results of requests admitted before the last state
/// change are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    era: u64,
}

/// The circuit breaker of one upstream.
#[derive(Debug)]
pub(super) struct Circuit {
    rules: CircuitRules,
    /// Number of state changes.
    era: u64,
    state: BreakerState,
}

#[derive(Debug)]
enum BreakerState {
    Closed(FailureWindow),
    Open { until: Instant },
    HalfOpen { under_way: u32, succeeded: u32 },
}

impl Circuit {
    /// Creates a closed circuit.
    pub(super) fn new(rules: CircuitRules, now: Instant) -> Self {
        Self { rules, era: 0, state: BreakerState::Closed(FailureWindow::new(rules.window, now)) }
    }

    /// Returns the state at time `now`.
    pub(super) fn state(&self, now: Instant) -> CircuitState {
        match &self.state {
            BreakerState::Closed(_) => CircuitState::Closed,
            BreakerState::Open { until } if now < *until => CircuitState::Open,
            BreakerState::Open { .. } | BreakerState::HalfOpen { .. } => CircuitState::HalfOpen,
        }
    }

    /// Checks whether a request would be admitted.
    ///
    /// # Errors
    /// The time after which a request may be admitted.
    pub(super) fn check(&self, now: Instant) -> Result<(), Duration> {
        match &self.state {
            BreakerState::Closed(_) => Ok(()),
            BreakerState::Open { until } if now < *until => Err(until.saturating_duration_since(now)),
            BreakerState::Open { .. } => Ok(()),
            BreakerState::HalfOpen { under_way, succeeded } if under_way + succeeded < self.rules.probes.max(1) => {
                Ok(())
            }
            // Half-open: wait for the in-flight probes, which end at an unknown time.
            BreakerState::HalfOpen { .. } => Err(Duration::ZERO),
        }
    }

    /// Admits a request.
    ///
    /// # Errors
    /// The time after which a request may be admitted.
    pub(super) fn admit(&mut self, now: Instant) -> Result<Ticket, Duration> {
        self.check(now)?;
        if matches!(self.state, BreakerState::Open { .. }) {
            self.change(BreakerState::HalfOpen { under_way: 0, succeeded: 0 });
        }
        if let BreakerState::HalfOpen { under_way, .. } = &mut self.state {
            *under_way += 1;
        }
        Ok(Ticket { era: self.era })
    }

    /// Reports a successful request.
    pub(super) fn succeeded(&mut self, ticket: Ticket, now: Instant) {
        if ticket.era != self.era {
            return;
        }
        let is_well = match &mut self.state {
            BreakerState::Closed(window) => {
                window.at(now).requests += 1;
                false
            }
            BreakerState::Open { .. } => false,
            BreakerState::HalfOpen { under_way, succeeded } => {
                *under_way = under_way.saturating_sub(1);
                *succeeded += 1;
                *succeeded >= self.rules.probes
            }
        };
        if is_well {
            self.change(BreakerState::Closed(FailureWindow::new(self.rules.window, now)));
        }
    }

    /// Reports a failed request.
    pub(super) fn failed(&mut self, ticket: Ticket, now: Instant) {
        if let (true, BreakerState::Closed(window)) = (ticket.era == self.era, &mut self.state) {
            window.at(now).requests += 1;
        }
        self.count_failure(ticket, now);
    }

    /// Reports that the response of a successful request broke off.
    pub(super) fn broke(&mut self, ticket: Ticket, now: Instant) {
        self.count_failure(ticket, now);
    }

    /// Reports an aborted request without a result, because its client disconnected.
    pub(super) fn abandoned(&mut self, ticket: Ticket) {
        if let (true, BreakerState::HalfOpen { under_way, .. }) = (ticket.era == self.era, &mut self.state) {
            *under_way = under_way.saturating_sub(1);
        }
    }

    fn count_failure(&mut self, ticket: Ticket, now: Instant) {
        if ticket.era != self.era {
            return;
        }
        let opens = match &mut self.state {
            BreakerState::Closed(window) => {
                window.at(now).failures += 1;
                let (requests, failures) = window.sum();
                self.rules.failures > 0
                    && failures >= u64::from(self.rules.failures)
                    && failures * 100 >= requests * u64::from(self.rules.percent)
            }
            BreakerState::Open { .. } => false,
            BreakerState::HalfOpen { .. } => true,
        };
        if opens {
            self.change(BreakerState::Open { until: now + self.rules.open });
        }
    }

    fn change(&mut self, state: BreakerState) {
        self.era += 1;
        self.state = state;
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct StepCounts {
    requests: u64,
    failures: u64,
}

/// Counts of the last steps.
#[derive(Debug)]
struct FailureWindow {
    step: Duration,
    /// Start of the newest step.
    began: Instant,
    /// Counts, newest first.
    counts: [StepCounts; STEPS as usize],
}

impl FailureWindow {
    fn new(length: Duration, now: Instant) -> Self {
        // Avoids a step of zero length.
        let step = (length / STEPS).max(Duration::from_millis(1));
        Self { step, began: now, counts: [StepCounts::default(); STEPS as usize] }
    }

    /// Returns the counts of the step that contains `now`.
    fn at(&mut self, now: Instant) -> &mut StepCounts {
        let passed = now.saturating_duration_since(self.began).as_nanos() / self.step.as_nanos();
        let passed = u32::try_from(passed).unwrap_or(u32::MAX);
        if passed >= STEPS {
            *self = Self { step: self.step, began: now, counts: Default::default() };
        } else if passed > 0 {
            self.counts.rotate_right(passed as usize);
            self.counts.iter_mut().take(passed as usize).for_each(|counts| *counts = StepCounts::default());
            self.began += self.step * passed;
        }
        let [newest, ..] = &mut self.counts;
        newest
    }

    fn sum(&self) -> (u64, u64) {
        self.counts
            .iter()
            .fold((0, 0), |(requests, failures), counts| (requests + counts.requests, failures + counts.failures))
    }
}

#[cfg(test)]
mod tests;
