//! All toolsets loaded at one time.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::naming::prefixed;
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
            if settings.document.is_empty() {
                return Err(LoadError::NoDocument { toolset: name.clone() });
            }
            let path = base_dir.join(&settings.document);
            toolsets.insert(name.clone(), load_document(name, &path, settings)?);
        }
        tell_apart(&mut toolsets);
        Ok(Self { toolsets: toolsets.into_iter().map(|(name, toolset)| (name, Arc::new(toolset))).collect() })
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

/// Where tools of several toolsets have one name, each is offered under its toolset's name and its own, because a model may be
/// offered them together. Their names within the toolset stay.
fn tell_apart(toolsets: &mut BTreeMap<String, Toolset>) {
    let mut bearers: HashMap<String, usize> = HashMap::new();
    for operation in toolsets.values().flat_map(|toolset| &toolset.operations) {
        *bearers.entry(operation.tool.name.clone()).or_default() += 1;
    }
    let mut taken: HashSet<String> = bearers.keys().cloned().collect();
    for (name, toolset) in toolsets {
        for operation in &mut toolset.operations {
            if bearers.get(&operation.tool.name).is_some_and(|bearers| *bearers > 1) {
                let offered = prefixed(name, &operation.tool.name, &mut taken);
                Arc::make_mut(&mut operation.tool).name.clone_from(&offered);
                toolset.report.rename(operation.label(), operation.operation_id.clone(), offered);
            }
        }
    }
}
