//! A circuit breaker: an upstream that keeps failing is left alone for a while, then tried with a few requests.
//!
//! A pure state machine: the time is handed in. Requests and failures are counted over a window that moves on in steps; a circuit opens
//! where there are enough failures, and they are a large enough share.

use std::time::{Duration, Instant};

use callwright_types::CircuitState;

/// Steps in which the window moves on.
const STEPS: u32 = 10;

/// When a circuit opens, and how it closes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CircuitRules {
    /// Failures in the window below which it stays closed; 0: it never opens.
    pub(super) failures: u32,
    /// Percent of the window's requests that have to have failed.
    pub(super) percent: u32,
    /// Time over which is counted.
    pub(super) window: Duration,
    /// Time for which it is open.
    pub(super) open: Duration,
    /// Requests at a time that find out whether the upstream is well; as many have to succeed.
    pub(super) probes: u32,
}

/// A request that was let through. What became of it is told with it: a circuit that changed meanwhile is not moved by what began before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    era: u64,
}

/// A circuit stands between the proxy and one upstream.
#[derive(Debug)]
pub(super) struct Circuit {
    rules: CircuitRules,
    /// Counts changes of state.
    era: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Closed(Window),
    Open { until: Instant },
    HalfOpen { under_way: u32, succeeded: u32 },
}

impl Circuit {
    /// A closed circuit.
    pub(super) fn new(rules: CircuitRules, now: Instant) -> Self {
        Self { rules, era: 0, state: State::Closed(Window::new(rules.window, now)) }
    }

    /// Its state.
    pub(super) fn state(&self, now: Instant) -> CircuitState {
        match &self.state {
            State::Closed(_) => CircuitState::Closed,
            State::Open { until } if now < *until => CircuitState::Open,
            State::Open { .. } | State::HalfOpen { .. } => CircuitState::HalfOpen,
        }
    }

    /// Would a request be let through? If not, the time after which it may be.
    pub(super) fn check(&self, now: Instant) -> Result<(), Duration> {
        match &self.state {
            State::Closed(_) => Ok(()),
            State::Open { until } if now < *until => Err(until.saturating_duration_since(now)),
            State::Open { .. } => Ok(()),
            State::HalfOpen { under_way, succeeded } if under_way + succeeded < self.rules.probes.max(1) => Ok(()),
            // The probes that are under way will tell; nobody knows when.
            State::HalfOpen { .. } => Err(Duration::ZERO),
        }
    }

    /// Lets a request through, or says after which time one may be.
    pub(super) fn admit(&mut self, now: Instant) -> Result<Ticket, Duration> {
        self.check(now)?;
        if matches!(self.state, State::Open { .. }) {
            self.change(State::HalfOpen { under_way: 0, succeeded: 0 });
        }
        if let State::HalfOpen { under_way, .. } = &mut self.state {
            *under_way += 1;
        }
        Ok(Ticket { era: self.era })
    }

    /// The request was answered.
    pub(super) fn succeeded(&mut self, ticket: Ticket, now: Instant) {
        if ticket.era != self.era {
            return;
        }
        let is_well = match &mut self.state {
            State::Closed(window) => {
                window.at(now).requests += 1;
                false
            }
            State::Open { .. } => false,
            State::HalfOpen { under_way, succeeded } => {
                *under_way = under_way.saturating_sub(1);
                *succeeded += 1;
                *succeeded >= self.rules.probes
            }
        };
        if is_well {
            self.change(State::Closed(Window::new(self.rules.window, now)));
        }
    }

    /// The request failed.
    pub(super) fn failed(&mut self, ticket: Ticket, now: Instant) {
        if let (true, State::Closed(window)) = (ticket.era == self.era, &mut self.state) {
            window.at(now).requests += 1;
        }
        self.count_failure(ticket, now);
    }

    /// The request had been answered, and its answer broke off.
    pub(super) fn broke(&mut self, ticket: Ticket, now: Instant) {
        self.count_failure(ticket, now);
    }

    /// Nobody knows what would have become of the request: its client went away.
    pub(super) fn abandoned(&mut self, ticket: Ticket) {
        if let (true, State::HalfOpen { under_way, .. }) = (ticket.era == self.era, &mut self.state) {
            *under_way = under_way.saturating_sub(1);
        }
    }

    fn count_failure(&mut self, ticket: Ticket, now: Instant) {
        if ticket.era != self.era {
            return;
        }
        let opens = match &mut self.state {
            State::Closed(window) => {
                window.at(now).failures += 1;
                let (requests, failures) = window.sum();
                self.rules.failures > 0
                    && failures >= u64::from(self.rules.failures)
                    && failures * 100 >= requests * u64::from(self.rules.percent)
            }
            State::Open { .. } => false,
            State::HalfOpen { .. } => true,
        };
        if opens {
            self.change(State::Open { until: now + self.rules.open });
        }
    }

    fn change(&mut self, state: State) {
        self.era += 1;
        self.state = state;
    }
}

/// What was counted in one step.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    requests: u64,
    failures: u64,
}

/// The counts of the last steps.
#[derive(Debug)]
struct Window {
    step: Duration,
    /// When the newest step began.
    began: Instant,
    /// The newest first.
    counts: [Counts; STEPS as usize],
}

impl Window {
    fn new(length: Duration, now: Instant) -> Self {
        // A step of no time would never be reached.
        let step = (length / STEPS).max(Duration::from_millis(1));
        Self { step, began: now, counts: [Counts::default(); STEPS as usize] }
    }

    /// The counts of the step that `now` is in.
    fn at(&mut self, now: Instant) -> &mut Counts {
        let passed = now.saturating_duration_since(self.began).as_nanos() / self.step.as_nanos();
        let passed = u32::try_from(passed).unwrap_or(u32::MAX);
        if passed >= STEPS {
            *self = Self { step: self.step, began: now, counts: Default::default() };
        } else if passed > 0 {
            self.counts.rotate_right(passed as usize);
            self.counts.iter_mut().take(passed as usize).for_each(|counts| *counts = Counts::default());
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
