//! What is SQLite's own: opening a file, the one writer, error codes.

mod fault;
mod file;
mod open;
mod run;

use std::sync::Arc;

use sqlx::SqlitePool;

use file::OpenedFile;

pub(super) use run::Transaction;

use super::StoreError;

/// An open SQLite database.
///
/// One connection writes; its lock is the queue in front of SQLite's own, which knows one writer only. The others read
/// and, in WAL mode, are never blocked by it.
#[derive(Debug, Clone)]
pub(super) struct Sqlite {
    writer: SqlitePool,
    reader: SqlitePool,
    /// `None` in memory.
    file: Option<Arc<OpenedFile>>,
}

impl Sqlite {
    /// Checks that what is written can be found again.
    fn check_file(&self) -> Result<(), StoreError> {
        self.file.as_ref().map_or(Ok(()), |file| file.check())
    }

    /// Waits for what runs and closes the file; its log is folded in.
    pub(super) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}
