//! Maps SQLite errors to store errors.

use sqlx::Error;

use crate::StoreError;

/// Primary result codes (<https://www.sqlite.org/rescode.html>) caused by the request, not by the state of the
/// database: `SQLITE_TOOBIG`, `SQLITE_CONSTRAINT`, `SQLITE_MISMATCH`.
const REFUSALS: [u32; 3] = [18, 19, 20];

/// Mask for the primary result code in the low byte of an extended one.
const PRIMARY_CODE: u32 = 0xff;

/// Classifies an error: whether a retry may succeed.
pub(super) fn fault(error: Error) -> StoreError {
    let code = error.as_database_error().and_then(|error| error.code()).and_then(|code| code.parse::<u32>().ok());
    match code {
        Some(code) if REFUSALS.contains(&(code & PRIMARY_CODE)) => StoreError::Refused(error.to_string()),
        _ => StoreError::Unavailable(error.to_string()),
    }
}
