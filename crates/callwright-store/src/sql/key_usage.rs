//! SQL of the usage of virtual keys and groups.

use jiff::civil::Date;

use super::revisions::Topic;
use super::{Database, DatabaseTransaction, Lock, SqlValue, Statement, database_record, now};
use crate::{Revision, StoreError, UsageChanges, UsageReport, UsageRow};

/// Changes nothing if this report was received before.
const NUMBER: &str = "\
    INSERT INTO key_tellings (owner, number, told_at) VALUES ($1, $2, $3) \
    ON CONFLICT (owner) DO UPDATE SET number = excluded.number, told_at = excluded.told_at \
        WHERE key_tellings.number < excluded.number";

const ADD: &str = "\
    INSERT INTO key_usage (subject, day, revision, requests, tokens, nanos) VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (subject, day) DO UPDATE SET revision = excluded.revision, requests = key_usage.requests + excluded.requests, \
        tokens = key_usage.tokens + excluded.tokens, nanos = key_usage.nanos + excluded.nanos";

const REFUND: &str = "\
    UPDATE key_usage SET revision = $3, tokens = CASE WHEN tokens > $4 THEN tokens - $4 ELSE 0 END, \
        nanos = CASE WHEN nanos > $5 THEN nanos - $5 ELSE 0 END WHERE subject = $1 AND day = $2";

const CHANGED: &str = "\
    SELECT subject, day, revision, requests, tokens, nanos FROM key_usage WHERE revision > $1 AND day >= $2 ORDER BY revision";

const OF_SUBJECT: &str = "\
    SELECT subject, day, revision, requests, tokens, nanos FROM key_usage WHERE subject = $1 AND day >= $2 ORDER BY day";

const NOT_UNDER_WAY: &str = "DELETE FROM key_requests WHERE owner = $1";

database_record! {
    struct KeyUsageRow {
        subject: String,
        day: String,
        revision: i64,
        requests: i64,
        tokens: i64,
        nanos: i64,
    }
}

impl Database {
    /// See [`crate::Store::exchange_usage`]. `owner` identifies this process; a process without a report for
    /// `silence` seconds counts as gone.
    pub(crate) async fn exchange_usage(
        &self,
        report: UsageReport<'_>,
        owner: &str,
        silence: u64,
    ) -> Result<UsageChanges, StoreError> {
        if !report.used.is_empty() {
            let mut transaction = self.begin(Lock::Rows).await?;
            let number = Statement::new(NUMBER).bind(owner).bind(number(report.number)).bind(now());
            if transaction.execute(number).await? > 0 {
                let first = transaction.revisions(Topic::KeyUsage, report.used.len()).await?;
                for (row, revision) in report.used.iter().zip(first..) {
                    add(&mut transaction, row, revision).await?;
                }
                transaction.commit().await?;
            }
        }
        let rows: Vec<KeyUsageRow> =
            self.fetch_all(Statement::new(CHANGED).bind(report.after).bind(report.since.to_string())).await?;
        let upto = rows.last().map_or(report.after, |row| row.revision);
        let elsewhere = if self.has_replicas() {
            self.exchange_under_way(report.under_way, owner, silence).await?
        } else {
            Vec::new()
        };
        Ok(UsageChanges { rows: rows.into_iter().filter_map(KeyUsageRow::usage).collect(), upto, elsewhere })
    }

    /// See [`crate::Store::refund_usage`].
    pub(crate) async fn refund_usage(
        &self,
        subjects: &[String],
        day: Date,
        tokens: u64,
        nanos: u64,
    ) -> Result<(), StoreError> {
        let mut transaction = self.begin(Lock::Rows).await?;
        let first = transaction.revisions(Topic::KeyUsage, subjects.len()).await?;
        for (subject, revision) in subjects.iter().zip(first..) {
            let refund = Statement::new(REFUND).bind(subject).bind(day.to_string()).bind(revision);
            transaction.execute(refund.bind(number(tokens)).bind(number(nanos))).await?;
        }
        transaction.commit().await
    }

    pub(crate) async fn usage_since(&self, subject: &str, since: Date) -> Result<Vec<UsageRow>, StoreError> {
        let rows: Vec<KeyUsageRow> =
            self.fetch_all(Statement::new(OF_SUBJECT).bind(subject).bind(since.to_string())).await?;
        Ok(rows.into_iter().filter_map(KeyUsageRow::usage).collect())
    }

    /// Removes the in-flight requests of a process that ends.
    pub(super) async fn nothing_under_way(&self, owner: &str) -> Result<(), StoreError> {
        self.execute(Statement::new(NOT_UNDER_WAY).bind(owner)).await.map(drop)
    }

    async fn exchange_under_way(
        &self,
        under_way: &[(String, u64)],
        owner: &str,
        silence: u64,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let clock = self.clock();
        let mut transaction = self.begin(Lock::Rows).await?;
        transaction.execute(Statement::new(NOT_UNDER_WAY).bind(owner)).await?;
        for (subject, requests) in under_way {
            let statement =
                format!("INSERT INTO key_requests (subject, owner, requests, seen_at) VALUES ($1, $2, $3, {clock})");
            let statement =
                Statement::beginning(statement).usual(true).bind(subject).bind(owner).bind(number(*requests));
            transaction.execute(statement).await?;
        }
        let others = format!(
            "SELECT subject, CAST(SUM(requests) AS BIGINT) FROM key_requests \
            WHERE owner <> $1 AND seen_at > {clock} - $2 GROUP BY subject"
        );
        let silence = i64::try_from(silence.saturating_mul(1_000)).unwrap_or(i64::MAX);
        let others = Statement::beginning(others).usual(true).bind(owner).bind(silence);
        let rows: Vec<(String, i64)> = transaction.fetch_all(others).await?;
        transaction.commit().await?;
        Ok(rows.into_iter().map(|(subject, requests)| (subject, requests.unsigned_abs())).collect())
    }
}

impl KeyUsageRow {
    fn usage(self) -> Option<UsageRow> {
        let Self { subject, day, requests, tokens, nanos, .. } = self;
        let (requests, tokens, nanos) = (requests.unsigned_abs(), tokens.unsigned_abs(), nanos.unsigned_abs());
        Some(UsageRow { subject, day: day.parse().ok()?, requests, tokens, nanos })
    }
}

async fn add(transaction: &mut DatabaseTransaction, row: &UsageRow, revision: Revision) -> Result<(), StoreError> {
    let add = Statement::new(ADD)
        .bind(&row.subject)
        .bind(row.day.to_string())
        .bind(revision)
        .bind(number(row.requests))
        .bind(number(row.tokens))
        .bind(number(row.nanos));
    transaction.execute(add).await.map(drop)
}

/// Converts a count to a column value.
fn number(count: u64) -> SqlValue {
    i64::try_from(count).unwrap_or(i64::MAX).into()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::contract::on_every_database;

    fn row(subject: &str, day: &str, count: u64) -> UsageRow {
        UsageRow {
            subject: subject.to_owned(),
            day: day.parse().unwrap(),
            requests: count,
            tokens: 10 * count,
            nanos: 100 * count,
        }
    }

    async fn statement(store: &Database, number: u64, used: &[UsageRow], after: Revision) -> UsageChanges {
        let report = UsageReport { number, used, under_way: &[], after, since: "2026-11-01".parse().unwrap() };
        store.exchange_usage(report, "this", 15).await.unwrap()
    }

    async fn exchange(store: &Database, used: &[UsageRow], after: Revision) -> UsageChanges {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        statement(store, NUMBER.fetch_add(1, Ordering::Relaxed), used, after).await
    }

    async fn under_way(store: &Database, owner: &str, requests: u64, silence: u64) -> Vec<(String, u64)> {
        let in_flight = [("key:a".to_owned(), requests)];
        let since = "2026-11-01".parse().unwrap();
        let report = UsageReport {
            number: 1,
            used: &[],
            under_way: if requests > 0 { &in_flight } else { &[] },
            after: 0,
            since,
        };
        store.exchange_usage(report, owner, silence).await.unwrap().elsewhere
    }

    on_every_database! {
        async fn a_refund_lowers_the_usage_of_its_day(store: Database) {
            statement(&store, 1, &[row("a", "2026-11-23", 2), row("a", "2026-11-24", 1), row("b", "2026-11-23", 3)], 0).await;
            let (day, subjects) = ("2026-11-23".parse().unwrap(), ["a".to_owned()]);
            store.refund_usage(&subjects, day, 5, 1_000).await.unwrap();
            let usage = store.usage_since("a", day).await.unwrap();
            let usage: Vec<_> = usage.iter().map(|row| (row.requests, row.tokens, row.nanos)).collect();
            assert_eq!(usage, [(2, 15, 0), (1, 10, 100)]);
            assert_eq!(store.usage_since("b", day).await.unwrap()[0].tokens, 30);
        }

        async fn reported_usage_is_added_and_returned_to_all(store: Database) {
            let first = exchange(&store, &[row("key:a", "2026-11-23", 1), row("group:g", "2026-11-23", 1)], -1).await;
            assert_eq!(first.rows.len(), 2);
            let second = exchange(&store, &[row("key:a", "2026-11-23", 2)], first.upto).await;
            assert_eq!(second.rows, [row("key:a", "2026-11-23", 3)]);
            assert_eq!(exchange(&store, &[], second.upto).await, UsageChanges { upto: second.upto, ..UsageChanges::default() });
            assert_eq!(exchange(&store, &[], -1).await.rows.len(), 2, "a process that begins receives everything");
        }

        async fn a_repeated_report_counts_once(store: Database) {
            let used = [row("key:a", "2026-11-23", 1)];
            for number in [1, 1, 2, 1, 2] {
                statement(&store, number, &used, -1).await;
            }
            let other = UsageReport { number: 1, used: &used, under_way: &[], after: -1, since: used[0].day };
            store.exchange_usage(other, "other", 15).await.unwrap();
            assert_eq!(statement(&store, 3, &[], -1).await.rows, [row("key:a", "2026-11-23", 3)]);
        }

        async fn days_of_earlier_months_are_stored_but_not_returned(store: Database) {
            exchange(&store, &[row("key:a", "2026-10-31", 1), row("key:a", "2026-11-01", 2)], -1).await;
            assert_eq!(exchange(&store, &[], -1).await.rows, [row("key:a", "2026-11-01", 2)]);
            let all = store.usage_since("key:a", "2026-01-01".parse().unwrap()).await.unwrap();
            assert_eq!(all, [row("key:a", "2026-10-31", 1), row("key:a", "2026-11-01", 2)]);
        }

        async fn replicas_see_the_in_flight_requests_of_running_ones(store: Database) {
            assert_eq!(under_way(&store, "one", 2, 15).await, []);
            if !store.has_replicas() {
                return;
            }
            assert_eq!(under_way(&store, "other", 3, 15).await, [("key:a".to_owned(), 2)]);
            assert_eq!(under_way(&store, "one", 0, 15).await, [("key:a".to_owned(), 3)]);
            assert_eq!(under_way(&store, "other", 3, 15).await, [], "one has ended");
            assert_eq!(under_way(&store, "one", 1, 0).await, [], "the other is silent");
        }
    }
}
