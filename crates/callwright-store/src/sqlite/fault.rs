//! SQLite's errors → the store's.

use sqlx::Error;

use crate::StoreError;

/// Primary result codes (<https://www.sqlite.org/rescode.html>) that depend on what was asked, not on the database's
/// state: `SQLITE_TOOBIG`, `SQLITE_CONSTRAINT`, `SQLITE_MISMATCH`.
const REFUSALS: [u32; 3] = [18, 19, 20];

/// Extended result codes keep the primary one in the low byte.
const PRIMARY_CODE: u32 = 0xff;

/// Is it worth asking again?
pub(super) fn fault(error: Error) -> StoreError {
    let code = error.as_database_error().and_then(|error| error.code()).and_then(|code| code.parse::<u32>().ok());
    match code {
        Some(code) if REFUSALS.contains(&(code & PRIMARY_CODE)) => StoreError::Refused(error.to_string()),
        _ => StoreError::Unavailable(error.to_string()),
    }
}
