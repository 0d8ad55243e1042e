//! PostgreSQL's errors → the store's.

use sqlx::Error;

use crate::StoreError;

/// Classes of SQLSTATE (<https://www.postgresql.org/docs/current/errcodes-appendix.html>) that depend on what was asked, not on the
/// database's state: data exceptions, violated constraints, exceeded limits of a statement.
const REFUSALS: [&str; 3] = ["22", "23", "54"];

/// Classes that say that the server or the connection is going away: connection exceptions, operator intervention.
const DEPARTURES: [&str; 2] = ["08", "57"];

/// What an error means.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) error: StoreError,
    /// Is there no server to be reached? Asking again at once is of no use then.
    pub(super) is_away: bool,
}

impl Fault {
    /// The server did not answer in time.
    pub(super) fn silence() -> Self {
        let error = StoreError::Unavailable("PostgreSQL did not answer in time".to_owned());
        Self { error, is_away: true }
    }
}

/// Is it worth asking again, and is the server away?
pub(super) fn fault(error: &Error) -> Fault {
    let message = error.to_string();
    let code = error.as_database_error().and_then(|error| error.code());
    let is_of =
        |classes: &[&str]| code.as_ref().is_some_and(|code| classes.iter().any(|class| code.starts_with(class)));
    if is_of(&REFUSALS) {
        return Fault { error: StoreError::Refused(message), is_away: false };
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
    Fault { error: StoreError::Unavailable(message), is_away: is_lost || is_of(&DEPARTURES) }
}
