//! All toolsets loaded at one time.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::{LoadError, Operation, Toolset, ToolsetSettings, load_document};
use crate::domain::OperationRef;

/// All toolsets loaded now: immutable, so that a turn sees one catalog from start to end.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    toolsets: BTreeMap<String, Arc<Toolset>>,
}

impl Catalog {
    /// No toolset: the proxy executes nothing.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Loads every toolset of the configuration; relative paths start at `base_dir`. A document that gives no toolset is an
    /// error, because an operator who names it wants its tools; what is wrong with single operations is in the reports.
    pub fn load(settings: &BTreeMap<String, ToolsetSettings>, base_dir: &Path) -> Result<Self, LoadError> {
        let mut toolsets = BTreeMap::new();
        for (name, settings) in settings {
            let path = base_dir.join(&settings.document);
            toolsets.insert(name.clone(), Arc::new(load_document(name, &path, settings)?));
        }
        Ok(Self { toolsets })
    }

    /// The toolset of this name.
    pub fn toolset(&self, name: &str) -> Option<&Arc<Toolset>> {
        self.toolsets.get(name)
    }

    /// All toolsets, by name.
    pub fn toolsets(&self) -> impl Iterator<Item = &Arc<Toolset>> {
        self.toolsets.values()
    }

    /// The operation that a tool of the catalog stands for.
    pub fn operation(&self, reference: &OperationRef) -> Option<&Operation> {
        self.toolset(&reference.toolset)?.operation(&reference.tool)
    }
}
