//! The current time by the monotonic clock, for minutes, and by the calendar, for budgets.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use callwright_types::BudgetPeriod;

/// Origin of the monotonic seconds; earlier than any moment of this process.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A point in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Seconds since the process started; clock changes do not affect it.
    pub(super) second: u64,
    /// Time of the system clock.
    pub(super) at: Timestamp,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { second: BEGINNING.elapsed().as_secs(), at: Timestamp::now() }
    }

    /// Returns the day in UTC.
    pub(super) fn day(&self) -> Date {
        self.at.to_zoned(TimeZone::UTC).date()
    }

    /// Returns the first day of the month.
    pub(super) fn month(&self) -> Date {
        self.day().first_of_month()
    }

    /// Returns the first day of a budget period.
    pub(super) fn beginning_of(&self, period: BudgetPeriod) -> Date {
        match period {
            BudgetPeriod::Day => self.day(),
            BudgetPeriod::Month => self.month(),
        }
    }

    /// Returns the time until the next period begins; at least one second.
    pub(super) fn left_of(&self, period: BudgetPeriod) -> Duration {
        let last = match period {
            BudgetPeriod::Day => self.day(),
            BudgetPeriod::Month => self.day().last_of_month(),
        };
        let next = last.tomorrow().and_then(|next| next.to_zoned(TimeZone::UTC)).map(|next| next.timestamp());
        let left = next.ok().and_then(|next| Duration::try_from(next.duration_since(self.at)).ok());
        left.unwrap_or_default().max(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Moment {
        Moment { second: 0, at: text.parse().unwrap() }
    }

    #[test]
    fn periods_begin_and_end_at_midnight_utc() {
        let moment = at("2024-02-28T23:00:00Z");
        assert_eq!(moment.beginning_of(BudgetPeriod::Day).to_string(), "2024-02-28");
        assert_eq!(moment.beginning_of(BudgetPeriod::Month).to_string(), "2024-02-01");
        assert_eq!(moment.left_of(BudgetPeriod::Day), Duration::from_secs(3_600));
        assert_eq!(moment.left_of(BudgetPeriod::Month), Duration::from_secs(25 * 3_600), "it is a leap year");
        assert_eq!(at("2026-12-31T23:59:59.9Z").left_of(BudgetPeriod::Month), Duration::from_secs(1));
        assert_eq!(Moment { second: 0, at: Timestamp::MAX }.left_of(BudgetPeriod::Month), Duration::from_secs(1));
    }
}
