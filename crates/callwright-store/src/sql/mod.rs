//! SQL of the topics. Owns one text per statement for SQLite and PostgreSQL. Must not contain what differs between the
//! two: that is in [`Database`] and [`DatabaseTransaction`].
//!
//! Placeholders are `$1`, `$2`, ..., which both support. Integers have 64 bits; times are milliseconds since
//! 1970-01-01T00:00:00Z.

mod approvals;
mod database;
mod deletion;
mod feedback;
mod insertion;
mod intents;
mod jobs;
mod kept;
mod key_usage;
mod keys;
mod leases;
mod memory;
mod objects;
mod overview;
mod plans;
mod revisions;
mod statement;
mod tokens;
mod traces;
mod transfer;
mod vectors;

#[cfg(test)]
mod tests;

pub(super) use database::{Database, DatabaseTransaction, Lock, database_record};
pub(super) use leases::REPLICA_TIMEOUT;
pub(super) use memory::MemoryTable;
pub(super) use statement::{SqlValue, Statement};

use jiff::Timestamp;

/// Maximum number of values in one `IN (...)`: far below the limits of both databases for variables of a statement.
const VALUES_PER_SELECT: usize = 500;

/// Returns the current time as a column value.
fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

/// Converts a column value to a time.
fn time(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::MAX)
}
