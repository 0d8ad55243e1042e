//! SQLite driver. Owns opening a file, the single writer, and error codes. Must not contain SQL of single topics.

mod fault;
mod file;
mod open;
mod run;

use std::sync::Arc;

use sqlx::SqlitePool;

use file::OpenedFile;

pub(super) use run::SqliteTransaction;

use super::StoreError;

/// Open SQLite database.
///
/// One connection writes: its lock is a fair queue before SQLite, which supports one writer. The others read and, in
/// WAL mode, are never blocked by it.
#[derive(Debug, Clone)]
pub(super) struct Sqlite {
    writer: SqlitePool,
    reader: SqlitePool,
    /// `None` in memory.
    file: Option<Arc<OpenedFile>>,
}

impl Sqlite {
    /// Checks that the file at the path still is the opened one.
    fn check_file(&self) -> Result<(), StoreError> {
        self.file.as_ref().map_or(Ok(()), |file| file.check())
    }

    /// Waits for running statements and closes the file; the write-ahead log is checkpointed.
    pub(super) async fn close(&self) {
        self.reader.close().await;
        self.writer.close().await;
    }
}
