//! What is SQLite's own: opening a file, the one writer, error codes.

mod fault;
mod open;
mod run;

use sqlx::SqlitePool;

pub(super) use run::Transaction;

/// An open SQLite database.
///
/// One connection writes; its lock is the queue in front of SQLite's own, which knows one writer only. The others read
/// and, in WAL mode, are never blocked by it.
#[derive(Debug, Clone)]
pub(super) struct Sqlite {
    writer: SqlitePool,
    reader: SqlitePool,
}

impl Sqlite {
    /// Waits for what runs and closes the file; its log is folded in.
    pub(super) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}
