//! Usage of virtual keys and groups, exchanged between replicas.

use std::fmt;

use futures_util::future::BoxFuture;
use jiff::civil::Date;

use super::{Revision, StoreError};

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
pub struct UsageSeen {
    /// Changed totals per subject and day, over all processes including this one.
    pub rows: Vec<UsageRow>,
    /// Revision of the last row; the requested revision if there is none.
    pub upto: Revision,
    /// In-flight requests of other processes, by subject.
    pub elsewhere: Vec<(String, u64)>,
}

/// Stored usage of keys and groups.
pub trait KeyUsage: Send + Sync + fmt::Debug {
    /// Reports the usage of this process and returns the changes of all processes. The report is on disk when this
    /// returns.
    ///
    /// # Errors
    /// [`StoreError`]; the same report may be sent again.
    fn exchange_usage<'a>(&'a self, report: UsageReport<'a>) -> BoxFuture<'a, Result<UsageSeen, StoreError>>;

    /// Returns the usage of a subject since a day, oldest day first.
    ///
    /// # Errors
    /// [`StoreError`].
    fn usage_since<'a>(&'a self, subject: &'a str, since: Date) -> BoxFuture<'a, Result<Vec<UsageRow>, StoreError>>;
}
