//! All toolsets loaded at one time.

use std::borrow::Cow;
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
        let load =
            |(name, settings): (&String, &ToolsetSettings)| Ok((name.clone(), load_toolset(name, settings, base_dir)?));
        Ok(Self::of(settings.iter().map(load).collect::<Result<_, LoadError>>()?))
    }

    /// Loads those toolsets anew that have a file which `is_changed`, and keeps the others. A toolset that cannot be loaded
    /// stays as it was, and the error is given too.
    pub fn reload(
        &self,
        settings: &BTreeMap<String, ToolsetSettings>,
        base_dir: &Path,
        is_changed: &dyn Fn(&Path) -> bool,
    ) -> (Self, Vec<LoadError>) {
        let mut toolsets = self.toolsets.clone();
        let mut errors = Vec::new();
        for (name, settings) in settings {
            if self.toolsets.get(name).is_some_and(|toolset| !toolset.files().any(is_changed)) {
                continue;
            }
            match load_toolset(name, settings, base_dir) {
                Ok(toolset) => {
                    toolsets.insert(name.clone(), toolset);
                }
                Err(error) => errors.push(error),
            }
        }
        (Self::of(toolsets), errors)
    }

    fn of(mut toolsets: BTreeMap<String, Arc<Toolset>>) -> Self {
        tell_apart(&mut toolsets);
        Self { toolsets }
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

fn load_toolset(name: &str, settings: &ToolsetSettings, base_dir: &Path) -> Result<Arc<Toolset>, LoadError> {
    if settings.document.is_empty() {
        return Err(LoadError::NoDocument { toolset: name.to_owned() });
    }
    load_document(name, &base_dir.join(&settings.document), settings).map(Arc::new)
}

/// Where tools of several toolsets have one name, each is offered under its toolset's name and its own, because a model may be
/// offered them together. Their names within the toolset stay.
fn tell_apart(toolsets: &mut BTreeMap<String, Arc<Toolset>>) {
    let mut bearers: HashMap<String, usize> = HashMap::new();
    for operation in toolsets.values().flat_map(|toolset| &toolset.operations) {
        *bearers.entry(operation.own_name().to_owned()).or_default() += 1;
    }
    let mut taken: HashSet<String> = bearers.keys().cloned().collect();
    for (name, toolset) in toolsets {
        let mut renamed = Vec::new();
        for (index, operation) in toolset.operations.iter().enumerate() {
            let own = operation.own_name();
            let is_shared = bearers.get(own).is_some_and(|bearers| *bearers > 1);
            let offered = if is_shared { Cow::Owned(prefixed(name, own, &mut taken)) } else { Cow::Borrowed(own) };
            if operation.tool.name != *offered {
                renamed.push((index, offered.into_owned()));
            }
        }
        if !renamed.is_empty() {
            Arc::make_mut(toolset).offer_as(renamed);
        }
    }
}
