//! Usage of all keys and groups, and the decision whether a request exceeds a limit.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::moment::Moment;
use super::refusal::{RefusedRequest, ViolatedLimit};
use super::usage_counter::{Amount, KeyUsageCounter};
use super::window::UsageWindow;
use callwright_store::{UsageChanges, UsageRow};
use callwright_types::KeyLimits;

/// Retry time when too many requests are in progress; their end is unknown.
const CONCURRENT_RETRY: Duration = Duration::from_secs(1);

/// Remaining limits, the lower of key and group; `None` without a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuotaStatus {
    /// Requests per minute.
    pub requests: Option<Dimension>,
    /// Tokens per minute.
    pub tokens: Option<Dimension>,
}

/// State of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    pub limit: u64,
    /// Remaining amount.
    pub remaining: u64,
    /// Time until the full limit is available again, without further usage.
    pub reset: Duration,
}

impl QuotaStatus {
    /// Returns the lower limits of both.
    fn and(self, other: Self) -> Self {
        Self { requests: tighter(self.requests, other.requests), tokens: tighter(self.tokens, other.tokens) }
    }
}

fn tighter(one: Option<Dimension>, other: Option<Dimension>) -> Option<Dimension> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.remaining < one.remaining { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// A key or a group with its limits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MeteredSubject {
    /// Name under which usage is stored: `key:ID` or `group:NAME`.
    pub(super) name: String,
    /// Name in messages.
    pub(super) shown: String,
    pub(super) limits: KeyLimits,
}

/// Returns the subject under which a key's usage is stored.
pub(super) fn subject_of_key(id: &str) -> String {
    format!("key:{id}")
}

/// Usage of all subjects, as known to this process.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    tallies: Mutex<HashMap<String, KeyUsageCounter>>,
}

impl Ledger {
    /// Admits a request if no limit is reached: counts it for all its subjects, and reserves its maximum usage until
    /// [`ended`](Self::ended).
    pub(super) fn admit(
        &self,
        now: &Moment,
        subjects: &[MeteredSubject],
        reserved: Amount,
    ) -> Result<(), Box<RefusedRequest>> {
        let mut tallies = self.locked();
        for subject in subjects {
            let tally = tallies.entry(subject.name.clone()).or_default();
            if let Some(refused) = refusal(now, subject, tally, reserved) {
                return Err(Box::new(refused));
            }
        }
        for subject in subjects {
            let tally = tallies.entry(subject.name.clone()).or_default();
            tally.under_way = tally.under_way.saturating_add(1);
            tally.reserved = tally.reserved.plus(reserved);
            tally.add(now, Amount { requests: 1, ..Amount::default() });
        }
        Ok(())
    }

    /// Ends a request of these subjects, and releases its reservation.
    pub(super) fn ended<'a>(&self, subjects: impl IntoIterator<Item = &'a str>, reserved: Amount) {
        let mut tallies = self.locked();
        for subject in subjects {
            if let Some(tally) = tallies.get_mut(subject) {
                tally.under_way = tally.under_way.saturating_sub(1);
                tally.reserved = tally.reserved.minus(reserved);
            }
        }
    }

    /// Counts tokens and cost.
    pub(super) fn charge<'a>(&self, now: &Moment, subjects: impl IntoIterator<Item = &'a str>, amount: Amount) {
        let mut tallies = self.locked();
        for subject in subjects {
            tallies.entry(subject.to_owned()).or_default().add(now, amount);
        }
    }

    /// Returns the remaining limits of these subjects.
    pub(super) fn standing(&self, now: &Moment, subjects: &[MeteredSubject]) -> QuotaStatus {
        let mut tallies = self.locked();
        let mut standing = QuotaStatus::default();
        for subject in subjects {
            let tally = tallies.entry(subject.name.clone()).or_default();
            standing = standing.and(QuotaStatus {
                requests: dimension(subject.limits.requests_per_minute, &mut tally.requests, now.second),
                tokens: dimension(subject.limits.tokens_per_minute, &mut tally.tokens, now.second),
            });
        }
        standing
    }

    /// Returns a subject's usage of the day and of the month, and its requests in progress.
    pub(super) fn used(&self, now: &Moment, subject: &str) -> (Amount, Amount, u64) {
        use callwright_types::BudgetPeriod::{Day, Month};
        let tallies = self.locked();
        let Some(tally) = tallies.get(subject) else { return Default::default() };
        (tally.of_period(now, Day), tally.of_period(now, Month), tally.all_under_way())
    }

    /// Returns the usage that has not been reported to the store yet.
    pub(super) fn unreported(&self) -> Vec<UsageRow> {
        let tallies = self.locked();
        let rows = tallies.iter().flat_map(|(subject, tally)| {
            tally.unreported().map(|(day, amount)| {
                let Amount { requests, tokens, nanos } = amount;
                UsageRow { subject: subject.clone(), day, requests, tokens, nanos }
            })
        });
        let mut rows: Vec<UsageRow> = rows.collect();
        // Sorted, to prevent deadlocks between replicas that lock the same rows.
        rows.sort_by(|one, other| (&one.subject, one.day).cmp(&(&other.subject, other.day)));
        rows
    }

    /// Returns the requests in progress in this process, by subject.
    pub(super) fn under_way(&self) -> Vec<(String, u64)> {
        let tallies = self.locked();
        let mut under_way: Vec<(String, u64)> = tallies
            .iter()
            .filter(|(_, tally)| tally.under_way > 0)
            .map(|(subject, tally)| (subject.clone(), tally.under_way))
            .collect();
        under_way.sort();
        under_way
    }

    /// Applies an exchange: `reported` was sent, and `seen` was read. `is_first` means that `seen` is the usage before
    /// this process started.
    pub(super) fn exchanged(&self, now: &Moment, reported: &[UsageRow], seen: &UsageChanges, is_first: bool) {
        let mut tallies = self.locked();
        for row in reported {
            tallies.entry(row.subject.clone()).or_default().reported(row.day, Amount::of(row));
        }
        for row in &seen.rows {
            tallies.entry(row.subject.clone()).or_default().learn(now, row.day, Amount::of(row), is_first);
        }
        for tally in tallies.values_mut() {
            tally.elsewhere = 0;
        }
        for (subject, requests) in &seen.elsewhere {
            tallies.entry(subject.clone()).or_default().elsewhere = *requests;
        }
        tallies.retain(|_, tally| !tally.forget_old(now));
    }

    /// Handles a failed exchange: requests in progress in other processes are unknown.
    pub(super) fn alone(&self) {
        for tally in self.locked().values_mut() {
            tally.elsewhere = 0;
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, KeyUsageCounter>> {
        // No code under this lock can panic halfway.
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn dimension(limit: u64, used: &mut UsageWindow, second: u64) -> Option<Dimension> {
    let (remaining, reset) = (limit.saturating_sub(used.sum(second)), Duration::from_secs(used.until(second, 0)));
    (limit > 0).then_some(Dimension { limit, remaining, reset })
}

/// Returns the limit that a further request would exceed, the longest-lasting first. A request without concurrent ones
/// is admitted while any quota is left: its usage is unknown and may be less than its reservation.
fn refusal(
    now: &Moment,
    subject: &MeteredSubject,
    tally: &mut KeyUsageCounter,
    reserved: Amount,
) -> Option<RefusedRequest> {
    let MeteredSubject { shown, limits, .. } = subject;
    // Reservations of other processes are unknown: each of their requests counts with the reservation of this one.
    let by_others = tally.reserved.plus(reserved.times(tally.elsewhere));
    let budget = limits.budget;
    let (money, used) = (budget.amount * 1e9, tally.of_period(now, budget.period).nanos);
    if budget.amount > 0.0 && used as f64 >= money {
        let message = format!("{shown} has used up its budget of {} for this {}", budget.amount, budget.period.label());
        return Some(exceeded(ViolatedLimit::Budget, now.left_of(budget.period), message));
    }
    if budget.amount > 0.0 && is_over(used, by_others.nanos, reserved.nanos, money) {
        let message = format!(
            "requests in progress may use the rest of the budget of {} of {shown}; set max_tokens to reserve less",
            budget.amount
        );
        return Some(exceeded(ViolatedLimit::Reserved, CONCURRENT_RETRY, message));
    }
    let requests = limits.requests_per_minute;
    if requests > 0 && tally.requests.sum(now.second) >= requests {
        let message = format!("rate limit reached for {shown}: {requests} requests per minute");
        let wait = tally.requests.until(now.second, requests - 1);
        return Some(exceeded(ViolatedLimit::Requests, Duration::from_secs(wait), message));
    }
    let tokens = limits.tokens_per_minute;
    if tokens > 0 && tally.tokens.sum(now.second) >= tokens {
        let message = format!("rate limit reached for {shown}: {tokens} tokens per minute");
        let wait = tally.tokens.until(now.second, tokens - 1);
        return Some(exceeded(ViolatedLimit::Tokens, Duration::from_secs(wait), message));
    }
    if tokens > 0 && is_over(tally.tokens.sum(now.second), by_others.tokens, reserved.tokens, tokens as f64) {
        let message = format!(
            "rate limit reached for {shown}: requests in progress may use the rest of {tokens} tokens per minute; set max_tokens to reserve less"
        );
        return Some(exceeded(ViolatedLimit::Tokens, CONCURRENT_RETRY, message));
    }
    let concurrent = limits.concurrent_requests;
    if concurrent > 0 && tally.all_under_way() >= concurrent {
        let message = format!("rate limit reached for {shown}: {concurrent} concurrent requests");
        return Some(exceeded(ViolatedLimit::Concurrent, CONCURRENT_RETRY, message));
    }
    None
}

fn exceeded(limit: ViolatedLimit, retry_after: Duration, message: String) -> RefusedRequest {
    RefusedRequest { limit, message, retry_after: Some(retry_after) }
}

/// Whether usage and reservations exceed a limit. `by_others` is reserved by other requests, `own` by this one.
fn is_over(used: u64, by_others: u64, own: u64, limit: f64) -> bool {
    let reserved = if by_others > 0 { by_others.saturating_add(own) } else { 0 };
    used as f64 >= limit || reserved > 0 && used.saturating_add(reserved) as f64 > limit
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_types::{Budget, BudgetPeriod};

    fn now(second: u64) -> Moment {
        Moment { second, at: "2026-11-23T23:59:00Z".parse().unwrap() }
    }

    fn subject(name: &str, limits: KeyLimits) -> MeteredSubject {
        MeteredSubject { name: name.to_owned(), shown: name.to_owned(), limits }
    }

    fn limits(requests: u64, tokens: u64, concurrent: u64, budget: f64) -> KeyLimits {
        KeyLimits {
            requests_per_minute: requests,
            tokens_per_minute: tokens,
            concurrent_requests: concurrent,
            budget: Budget { amount: budget, period: BudgetPeriod::Day },
        }
    }

    fn admit(ledger: &Ledger, second: u64, subjects: &[MeteredSubject]) -> Result<(), Box<RefusedRequest>> {
        ledger.admit(&now(second), subjects, Amount::default())
    }

    fn why(result: Result<(), Box<RefusedRequest>>) -> Option<(ViolatedLimit, u64)> {
        result.err().map(|refused| (refused.limit, refused.retry_after_seconds().unwrap()))
    }

    #[test]
    fn each_limit_holds_and_says_when_it_is_over() {
        let ledger = Ledger::default();
        let by_requests = [subject("a", limits(2, 0, 0, 0.0))];
        assert_eq!(why(admit(&ledger, 0, &by_requests)), None);
        assert_eq!(why(admit(&ledger, 10, &by_requests)), None);
        assert_eq!(why(admit(&ledger, 20, &by_requests)), Some((ViolatedLimit::Requests, 40)));
        assert_eq!(why(admit(&ledger, 60, &by_requests)), None);

        let by_tokens = [subject("b", limits(0, 100, 0, 0.0))];
        assert_eq!(why(admit(&ledger, 0, &by_tokens)), None);
        ledger.charge(&now(5), ["b"], Amount { tokens: 150, ..Amount::default() });
        assert_eq!(why(admit(&ledger, 6, &by_tokens)), Some((ViolatedLimit::Tokens, 59)));
        assert_eq!(why(admit(&ledger, 65, &by_tokens)), None);

        let by_number = [subject("c", limits(0, 0, 1, 0.0))];
        assert_eq!(why(admit(&ledger, 0, &by_number)), None);
        assert_eq!(why(admit(&ledger, 0, &by_number)), Some((ViolatedLimit::Concurrent, 1)));
        ledger.ended(["c"], Amount::default());
        assert_eq!(why(admit(&ledger, 0, &by_number)), None);

        let by_money = [subject("d", limits(0, 0, 0, 1.5))];
        assert_eq!(why(admit(&ledger, 0, &by_money)), None);
        ledger.charge(&now(0), ["d"], Amount { nanos: 1_500_000_000, ..Amount::default() });
        assert_eq!(why(admit(&ledger, 0, &by_money)), Some((ViolatedLimit::Budget, 60)));
    }

    #[test]
    fn a_group_is_limited_as_a_whole_and_refusals_count_nowhere() {
        let ledger = Ledger::default();
        let group = || subject("group:g", limits(2, 0, 0, 0.0));
        let of = |name: &str| [subject(name, limits(5, 0, 0, 0.0)), group()];
        assert_eq!(why(admit(&ledger, 0, &of("a"))), None);
        assert_eq!(why(admit(&ledger, 0, &of("b"))), None);
        assert_eq!(why(admit(&ledger, 0, &of("a"))), Some((ViolatedLimit::Requests, 60)));
        let standing = ledger.standing(&now(0), &[subject("a", limits(5, 0, 0, 0.0))]);
        assert_eq!(standing.requests, Some(Dimension { limit: 5, remaining: 4, reset: Duration::from_secs(60) }));
        let both = ledger.standing(&now(0), &of("a"));
        assert_eq!(both.requests.unwrap().remaining, 0, "the group's");
        assert_eq!(both.tokens, None);
    }

    #[test]
    fn other_processes_usage_counts_and_is_reported_once() {
        let ledger = Ledger::default();
        let subjects = [subject("a", limits(3, 0, 2, 0.0))];
        admit(&ledger, 0, &subjects).unwrap();
        let reported = ledger.unreported();
        let day = now(0).day();
        assert_eq!(reported, [UsageRow { subject: "a".to_owned(), day, requests: 1, tokens: 0, nanos: 0 }]);
        let all = UsageRow { subject: "a".to_owned(), day, requests: 3, tokens: 7, nanos: 9 };
        let seen = UsageChanges { rows: vec![all], upto: 1, elsewhere: vec![("a".to_owned(), 1)] };
        ledger.exchanged(&now(1), &reported, &seen, false);
        assert_eq!(ledger.unreported(), []);
        assert_eq!(
            why(admit(&ledger, 2, &subjects)),
            Some((ViolatedLimit::Requests, 58)),
            "theirs counts from when it was seen"
        );
        assert_eq!(why(admit(&ledger, 59, &subjects)), Some((ViolatedLimit::Requests, 1)));
        assert_eq!(why(admit(&ledger, 60, &subjects)), Some((ViolatedLimit::Concurrent, 1)), "one here and one there");
        ledger.alone();
        assert_eq!(why(admit(&ledger, 61, &subjects)), None);
        assert_eq!(ledger.under_way(), [("a".to_owned(), 2)]);
    }

    #[test]
    fn usage_before_the_process_began_counts_for_budgets_alone() {
        let ledger = Ledger::default();
        let subjects = [subject("a", limits(1, 0, 0, 1.0))];
        let row = UsageRow { subject: "a".to_owned(), day: now(0).day(), requests: 9, tokens: 9, nanos: 999_999_999 };
        ledger.exchanged(&now(0), &[], &UsageChanges { rows: vec![row], ..UsageChanges::default() }, true);
        assert_eq!(why(admit(&ledger, 0, &subjects)), None);
        ledger.charge(&now(0), ["a"], Amount { nanos: 1, ..Amount::default() });
        assert_eq!(why(admit(&ledger, 0, &subjects)).unwrap().0, ViolatedLimit::Budget);
    }

    #[test]
    fn what_requests_under_way_may_use_is_reserved() {
        let ledger = Ledger::default();
        let subjects = [subject("a", limits(0, 100, 0, 0.0))];
        let reserved = Amount { tokens: 40, ..Amount::default() };
        let admit = |second| why(ledger.admit(&now(second), &subjects, reserved));
        assert_eq!([admit(0), admit(0), admit(0)], [None, None, Some((ViolatedLimit::Tokens, 1))]);
        ledger.charge(&now(1), ["a"], Amount { tokens: 10, ..Amount::default() });
        ledger.ended(["a"], reserved);
        assert_eq!([admit(1), admit(1)], [None, Some((ViolatedLimit::Tokens, 1))], "10 used, 80 reserved");
        let wide = Amount { tokens: 1_000, ..Amount::default() };
        assert_eq!(why(ledger.admit(&now(1), &subjects, wide)), Some((ViolatedLimit::Tokens, 1)));
        ledger.ended(["a"], reserved);
        ledger.ended(["a"], reserved);
        assert_eq!(why(ledger.admit(&now(1), &subjects, wide)), None, "alone, as long as anything is left");
    }

    #[test]
    fn money_is_reserved_too_and_for_requests_of_other_processes() {
        let ledger = Ledger::default();
        let subjects = [subject("a", limits(0, 0, 0, 1.0))];
        let third = Amount { nanos: 333_333_333, ..Amount::default() };
        let admit = || why(ledger.admit(&now(0), &subjects, third));
        assert_eq!([admit(), admit(), admit()], [None, None, None]);
        assert_eq!(admit(), Some((ViolatedLimit::Reserved, 1)));
        for _ in 0..3 {
            ledger.ended(["a"], third);
        }
        let seen = UsageChanges { elsewhere: vec![("a".to_owned(), 2)], ..UsageChanges::default() };
        ledger.exchanged(&now(0), &[], &seen, false);
        assert_eq!([admit(), admit()], [None, Some((ViolatedLimit::Reserved, 1))], "two there and one here");
    }
}
