//! Maps PostgreSQL errors to store errors.

use sqlx::Error;

use crate::StoreError;

/// SQLSTATE classes (<https://www.postgresql.org/docs/current/errcodes-appendix.html>) caused by the request, not by
/// the state of the database: data exception, integrity constraint violation, program limit exceeded.
const REFUSALS: [&str; 3] = ["22", "23", "54"];

/// SQLSTATE classes for a lost server or connection: connection exception, operator intervention.
const DEPARTURES: [&str; 2] = ["08", "57"];

/// Classified error.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PostgresFault {
    pub(super) error: StoreError,
    /// Whether the server is unreachable. An immediate retry is pointless then.
    pub(super) is_away: bool,
}

impl PostgresFault {
    /// Returns the fault of a server that did not answer in time.
    pub(super) fn silence() -> Self {
        let error = StoreError::Unavailable("PostgreSQL did not answer in time".to_owned());
        Self { error, is_away: true }
    }
}

/// Classifies an error: whether a retry may succeed, and whether the server is unreachable.
pub(super) fn fault(error: &Error) -> PostgresFault {
    let message = error.to_string();
    let code = error.as_database_error().and_then(|error| error.code());
    let is_of =
        |classes: &[&str]| code.as_ref().is_some_and(|code| classes.iter().any(|class| code.starts_with(class)));
    if is_of(&REFUSALS) {
        return PostgresFault { error: StoreError::Refused(message), is_away: false };
    }
    let is_lost = matches!(
        error,
        Error::Io(_)
            | Error::Tls(_)
            | Error::Protocol(_)
            | Error::PoolTimedOut
            | Error::PoolClosed
            | Error::WorkerCrashed
    );
    PostgresFault { error: StoreError::Unavailable(message), is_away: is_lost || is_of(&DEPARTURES) }
}
