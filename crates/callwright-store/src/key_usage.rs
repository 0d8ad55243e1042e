//! What virtual keys and groups used, as replicas tell each other.

use std::fmt;

use futures_util::future::BoxFuture;
use jiff::civil::Date;

use super::{Revision, StoreError};

/// What somebody used on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// Who: a key or a group.
    pub subject: String,
    /// The day, of UTC.
    pub day: Date,
    /// Requests.
    pub requests: u64,
    /// Tokens of requests and answers.
    pub tokens: u64,
    /// Money, in billionths of the price table's currency.
    pub nanos: u64,
}

/// What a process tells.
#[derive(Debug, Clone, Copy)]
pub struct UsageReport<'a> {
    /// The number of this telling, from 1: one that was lost on its way is made again with the same number and the same use, and counts once.
    pub number: u64,
    /// What was used since it told last: it is added to what is known.
    pub used: &'a [UsageRow],
    /// Requests that are under way in this process now, by subject, in place of what it told last.
    pub under_way: &'a [(String, u64)],
    /// What it has seen: what changed after this is told to it.
    pub after: Revision,
    /// Days before this one are of no interest.
    pub since: Date,
}

/// What a process is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageSeen {
    /// What changed, its own use included: all that was used on a day by a subject, by whatever process.
    pub rows: Vec<UsageRow>,
    /// The revision of the last of them; that of the question where there is none.
    pub upto: Revision,
    /// Requests under way in other processes, by subject.
    pub elsewhere: Vec<(String, u64)>,
}

/// What keys and groups used.
pub trait KeyUsage: Send + Sync + fmt::Debug {
    /// Tells what this process used, and is told what all did. What was told is on disk when this returns.
    ///
    /// # Errors
    /// [`StoreError`]; it may be told again then.
    fn exchange_usage<'a>(&'a self, report: UsageReport<'a>) -> BoxFuture<'a, Result<UsageSeen, StoreError>>;

    /// What a subject used since a day, the oldest day first.
    ///
    /// # Errors
    /// [`StoreError`].
    fn usage_since<'a>(&'a self, subject: &'a str, since: Date) -> BoxFuture<'a, Result<Vec<UsageRow>, StoreError>>;
}
