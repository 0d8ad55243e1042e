//! Usage of virtual keys and groups, exchanged between replicas.

use jiff::civil::Date;

use super::{Revision, Store, StoreError};
use crate::sql::REPLICA_TIMEOUT;

/// Usage of a subject on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// Key or group.
    pub subject: String,
    /// Day in UTC.
    pub day: Date,
    /// Number of requests.
    pub requests: u64,
    /// Number of tokens of requests and answers.
    pub tokens: u64,
    /// Cost in billionths of the price table's currency.
    pub nanos: u64,
}

/// Usage report of a process.
#[derive(Debug, Clone, Copy)]
pub struct UsageReport<'a> {
    /// Sequence number of the report, from 1. A lost report is repeated with the same number and the same usage, and
    /// counts once.
    pub number: u64,
    /// Usage since the last report; it is added to the stored usage.
    pub used: &'a [UsageRow],
    /// In-flight requests of this process by subject; they replace the last reported ones.
    pub under_way: &'a [(String, u64)],
    /// Last revision that the process has seen: the response holds later changes.
    pub after: Revision,
    /// First day of the response; earlier days are omitted.
    pub since: Date,
}

/// Response to a usage report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageChanges {
    /// Changed totals per subject and day, over all processes including this one.
    pub rows: Vec<UsageRow>,
    /// Revision of the last row; the requested revision if there is none.
    pub upto: Revision,
    /// In-flight requests of other processes, by subject.
    pub elsewhere: Vec<(String, u64)>,
}

impl Store {
    /// Takes back usage of a day that was reported before, from each of these subjects.
    ///
    /// # Errors
    /// [`StoreError`]; nothing is taken back then.
    pub async fn refund_usage(
        &self,
        subjects: &[String],
        day: Date,
        tokens: u64,
        nanos: u64,
    ) -> Result<(), StoreError> {
        self.record_health(self.database()?.refund_usage(subjects, day, tokens, nanos).await)
    }

    /// Reports the usage of this process and returns the changes of all processes. The report is on disk when this
    /// returns.
    ///
    /// # Errors
    /// [`StoreError`]; the same report may be sent again.
    pub async fn exchange_usage(&self, report: UsageReport<'_>) -> Result<UsageChanges, StoreError> {
        let silence = REPLICA_TIMEOUT.as_secs();
        let exchanged = self.database()?.exchange_usage(report, self.owner(), silence).await;
        // A read does not show whether the disk is full.
        if report.used.is_empty() { exchanged } else { self.record_health(exchanged) }
    }

    /// Returns the usage of a subject since a day, oldest day first.
    pub async fn usage_since(&self, subject: &str, since: Date) -> Result<Vec<UsageRow>, StoreError> {
        self.database()?.usage_since(subject, since).await
    }
}
