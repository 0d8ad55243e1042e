//! The topics in SQL: one text per statement, for SQLite and PostgreSQL alike.
//!
//! Placeholders are `$1`, `$2`, ..., which both understand. Integers are 64 bits wide everywhere; times are milliseconds since
//! 1970-01-01T00:00:00Z. What the two do not share is behind [`Database`] and [`Transaction`].

mod approvals;
mod database;
mod deletion;
mod feedback;
mod intents;
mod jobs;
mod kept;
mod key_usage;
mod keys;
mod leases;
mod memory;
mod plans;
mod revisions;
mod statement;
mod tokens;
mod traces;
mod transfer;
mod vectors;

#[cfg(test)]
mod tests;

pub(super) use database::{Database, Lock, Transaction};
pub(super) use memory::Tabled;
pub(super) use statement::{Statement, Value};

use jiff::Timestamp;

/// Values of one `IN (...)`: far below the variables that either database allows a statement.
const VALUES_PER_SELECT: usize = 500;

/// Now, as the columns hold it.
fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

/// A column's time.
fn time(millisecond: i64) -> Timestamp {
    Timestamp::from_millisecond(millisecond).unwrap_or(Timestamp::MAX)
}
