//! Export and import of the stored data as JSON Lines.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

use super::sql::Database;
use super::{FeedbackRow, Settings, Store, StoreError};
use crate::traces::DEFAULT_PAGE;
use callwright_types::memory::ToolSample;
use callwright_types::representation::SharedRepresentation;
use callwright_types::{Lesson, Procedure, VirtualKey};

/// Item of an export.
///
/// Not exported: vectors and tokens, which are caches; leases and in-flight requests, which belong to this deployment;
/// job cursors, which are revisions of this store.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortableItem {
    /// A trace document, as stored.
    Trace(Box<RawValue>),
    Lesson(Lesson),
    Procedure(Procedure),
    /// Feedback of an application.
    Feedback(FeedbackRow),
    /// Shared representation of a tool.
    Representation(SharedRepresentation),
    /// A request with its verified tools.
    Sample(ToolSample),
    /// A virtual key: hashes of its secrets, and no secrets.
    Key(VirtualKey),
    /// Turn state, or usage of a key.
    Row(PortableRow),
}

/// Row of a table of turn state or of key usage.
#[derive(Debug, Serialize, Deserialize)]
pub struct PortableRow {
    /// Table name.
    pub table: String,
    /// Columns by name.
    pub columns: Map<String, Value>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportPosition {
    pub(super) topic: usize,
    pub(super) after: Vec<String>,
}

#[derive(Debug, Default)]
pub struct ExportPart {
    /// Items in a stable order.
    pub items: Vec<PortableItem>,
    /// Descriptions of unreadable items.
    pub problems: Vec<String>,
    /// Position of the next part; `None` at the end.
    pub next: Option<ExportPosition>,
}

/// Result of importing an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportResult {
    /// The item is stored now.
    Written,
    /// The item was stored already, in this or a newer version.
    Unchanged,
}

impl Store {
    /// Opens the store next to a serving process: does not expire entries that its turns wait for, and does not retry.
    ///
    /// # Errors
    /// [`StoreError`] with the remedy.
    pub async fn open_beside(settings: &Settings, base_dir: &std::path::Path) -> Result<Self, StoreError> {
        Self::opened_beside(settings, base_dir).await
    }

    /// Returns the part of the export that begins at `position`.
    pub async fn export(&self, position: ExportPosition) -> Result<ExportPart, StoreError> {
        // A part is held in memory, bodies included.
        self.database()?.export(position, DEFAULT_PAGE).await
    }

    /// Imports the items of an export, each in one transaction. Returns the result of each item, or the reason why it
    /// is invalid.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] and [`StoreError::Off`]: the remaining items were not tried.
    pub async fn import(&self, items: Vec<PortableItem>) -> Result<Vec<Result<ImportResult, String>>, StoreError> {
        let database: Database = self.database()?;
        let mut outcomes = Vec::with_capacity(items.len());
        for item in items {
            match database.import(item).await {
                Ok(imported) => outcomes.push(Ok(imported)),
                Err(StoreError::Refused(message)) => outcomes.push(Err(message)),
                Err(error) => return Err(error),
            }
        }
        Ok(outcomes)
    }
}
