//! Usage of one key or group.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::moment::Moment;
use super::window::UsageWindow;
use callwright_store::UsageRow;
use callwright_types::BudgetPeriod;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) requests: u64,
    pub(super) tokens: u64,
    /// Cost in billionths of the price table's currency.
    pub(super) nanos: u64,
}

impl Amount {
    pub(super) fn of(row: &UsageRow) -> Self {
        Self { requests: row.requests, tokens: row.tokens, nanos: row.nanos }
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn with(self, other: Self, operation: fn(u64, u64) -> u64) -> Self {
        Self {
            requests: operation(self.requests, other.requests),
            tokens: operation(self.tokens, other.tokens),
            nanos: operation(self.nanos, other.nanos),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    pub(super) fn times(self, factor: u64) -> Self {
        self.with(Self { requests: factor, tokens: factor, nanos: factor }, u64::saturating_mul)
    }
}

#[derive(Debug, Default)]
struct DayUse {
    /// Usage in the store, of all processes.
    known: Amount,
    /// Usage of this process that has not been stored yet.
    unreported: Amount,
}

/// Usage of one key or group, as known to this process.
#[derive(Debug, Default)]
pub(super) struct KeyUsageCounter {
    pub(super) requests: UsageWindow,
    pub(super) tokens: UsageWindow,
    /// Number of requests in progress in this process.
    pub(super) under_way: u64,
    /// Number of requests in progress in other processes.
    pub(super) elsewhere: u64,
    /// Sum of the reservations of this process's requests in progress.
    pub(super) reserved: Amount,
    days: BTreeMap<Date, DayUse>,
}

impl KeyUsageCounter {
    /// Counts usage of this process at `now`.
    pub(super) fn add(&mut self, now: &Moment, amount: Amount) {
        self.requests.add(now.second, amount.requests);
        self.tokens.add(now.second, amount.tokens);
        let day = self.days.entry(now.day()).or_default();
        day.unreported = day.unreported.plus(amount);
    }

    /// Updates the stored usage of a day. New usage of other processes counts as of now, because its time is unknown.
    pub(super) fn learn(&mut self, now: &Moment, date: Date, all: Amount, is_first: bool) {
        let today = now.day();
        let day = self.days.entry(date).or_default();
        let others = all.minus(day.known);
        day.known = all;
        // Usage from before this process started may be old.
        if date == today && !is_first {
            self.requests.add(now.second, others.requests);
            self.tokens.add(now.second, others.tokens);
        }
    }

    /// Returns the usage to report to the store, by day.
    pub(super) fn unreported(&self) -> impl Iterator<Item = (Date, Amount)> {
        self.days.iter().filter(|(_, day)| !day.unreported.is_none()).map(|(date, day)| (*date, day.unreported))
    }

    /// Marks usage as reported.
    pub(super) fn reported(&mut self, date: Date, amount: Amount) {
        let day = self.days.entry(date).or_default();
        day.unreported = day.unreported.minus(amount);
        day.known = day.known.plus(amount);
    }

    /// Returns the usage of a budget period.
    pub(super) fn of_period(&self, now: &Moment, period: BudgetPeriod) -> Amount {
        let days = self.days.range(now.beginning_of(period)..);
        days.fold(Amount::default(), |sum, (_, day)| sum.plus(day.known).plus(day.unreported))
    }

    /// Returns the number of requests in progress in all processes.
    pub(super) fn all_under_way(&self) -> u64 {
        self.under_way.saturating_add(self.elsewhere)
    }

    /// Drops stored days of earlier months; returns whether nothing relevant is left.
    pub(super) fn forget_old(&mut self, now: &Moment) -> bool {
        let month = now.month();
        self.days.retain(|date, day| *date >= month || !day.unreported.is_none());
        self.days.is_empty()
            && self.all_under_way() == 0
            && self.requests.is_empty(now.second)
            && self.tokens.is_empty(now.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: u64, day: &str) -> Moment {
        Moment { second, at: format!("{day}T12:00:00Z").parse().unwrap() }
    }

    fn amount(requests: u64) -> Amount {
        Amount { requests, tokens: 10 * requests, nanos: 100 * requests }
    }

    #[test]
    fn others_usage_counts_once_and_ones_own_report_not_again() {
        let now = at(0, "2026-11-23");
        let mut tally = KeyUsageCounter::default();
        tally.learn(&now, now.day(), amount(50), true);
        assert_eq!(tally.requests.sum(0), 0, "from before the process began");
        tally.add(&now, amount(2));
        let reported: Vec<_> = tally.unreported().collect();
        assert_eq!(reported, [(now.day(), amount(2))]);
        tally.add(&now, amount(1));
        tally.reported(reported[0].0, reported[0].1);
        tally.learn(&now, now.day(), amount(57), false);
        assert_eq!((tally.requests.sum(0), tally.tokens.sum(0)), (2 + 1 + 5, 80));
        assert_eq!(tally.of_period(&now, BudgetPeriod::Day), amount(58));
        assert_eq!(tally.unreported().collect::<Vec<_>>(), [(now.day(), amount(1))]);
        tally.learn(&now, now.day(), amount(3), false);
        assert_eq!(tally.of_period(&now, BudgetPeriod::Day), amount(4), "deleted from the store");
    }

    #[test]
    fn a_day_and_a_month_begin_anew() {
        let mut tally = KeyUsageCounter::default();
        tally.add(&at(0, "2026-11-23"), amount(1));
        let next_day = at(1, "2026-11-24");
        tally.add(&next_day, amount(2));
        assert_eq!(tally.of_period(&next_day, BudgetPeriod::Day), amount(2));
        assert_eq!(tally.of_period(&next_day, BudgetPeriod::Month), amount(3));
        let next_month = at(100, "2026-12-01");
        assert_eq!(tally.of_period(&next_month, BudgetPeriod::Month), amount(0));
        assert!(!tally.forget_old(&next_month), "not stored yet");
        for (date, amount) in tally.unreported().collect::<Vec<_>>() {
            tally.reported(date, amount);
        }
        assert!(tally.forget_old(&next_month));
    }
}
