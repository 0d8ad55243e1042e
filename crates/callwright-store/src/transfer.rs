//! Moving what is stored from one store to another: one thing is one line of JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::sql::Database;
use super::{FeedbackRow, Settings, Store, StoreError};
use callwright_types::memory::ToolSample;
use callwright_types::representation::SharedRepresentation;
use callwright_types::{Lesson, Procedure, VirtualKey};

/// Something that can be moved. Vectors and tokens are copies of what can be had again, leases and requests under way are nobody else's, and how far jobs are is told in
/// revisions, which each store counts for itself: none of these moves.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Portable {
    /// A trace, as it is stored.
    Trace(Box<RawValue>),
    /// A lesson.
    Lesson(Lesson),
    /// A procedure.
    Procedure(Procedure),
    /// A verdict of an application.
    Feedback(FeedbackRow),
    /// What is shared of a tool.
    Representation(SharedRepresentation),
    /// A request whose right tools are known.
    Sample(ToolSample),
    /// A virtual key: hashes of its secrets, and no secret.
    Key(VirtualKey),
    /// Turn state, or what a key used.
    Row(PortableRow),
}

/// A row of a table of turn state, or of what keys used.
#[derive(Debug, Serialize, Deserialize)]
pub struct PortableRow {
    /// Which table.
    pub table: String,
    /// Its columns.
    pub columns: Map<String, Value>,
}

/// Where an export is: what comes next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportPosition {
    pub(super) topic: usize,
    pub(super) after: Vec<String>,
}

/// A part of an export.
#[derive(Debug, Default)]
pub struct Exported {
    /// In an order that does not change.
    pub things: Vec<Portable>,
    /// Things that cannot be read, and why.
    pub problems: Vec<String>,
    /// Where the next part begins; `None` at the end.
    pub next: Option<ExportPosition>,
}

/// What importing one thing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Imported {
    /// It is there now.
    Written,
    /// It was there already, as it is or newer.
    Known,
}

/// Things of a part of an export: few enough to be held in memory, bodies included.
const THINGS_AT_ONCE: u32 = 100;

impl Store {
    /// Opens the store beside a process that serves: nothing that its turns wait for is touched, and nothing is tried again.
    ///
    /// # Errors
    /// [`StoreError`], with what mends it.
    pub async fn open_beside(settings: &Settings, base_dir: &std::path::Path) -> Result<Self, StoreError> {
        Self::opened_beside(settings, base_dir).await
    }

    /// A part of all that moves, beginning at `position`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn export(&self, position: ExportPosition) -> Result<Exported, StoreError> {
        self.database()?.export(position, THINGS_AT_ONCE).await
    }

    /// Writes things that an export gave, those that belong together in one transaction; says of each what became of it, or why it cannot
    /// be used.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] and [`StoreError::Off`]: the rest was not tried.
    pub async fn import(&self, things: Vec<Portable>) -> Result<Vec<Result<Imported, String>>, StoreError> {
        let database: Database = self.database()?;
        let mut outcomes = Vec::with_capacity(things.len());
        for thing in things {
            match database.import(thing).await {
                Ok(imported) => outcomes.push(Ok(imported)),
                Err(StoreError::Refused(message)) => outcomes.push(Err(message)),
                Err(error) => return Err(error),
            }
        }
        Ok(outcomes)
    }
}
