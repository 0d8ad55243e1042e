//! All loaded toolsets as one immutable catalog, and its reloading.

pub(crate) mod load_error;
pub(crate) mod settings;
mod source;
pub(crate) mod toolset;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::catalog::source::{EntryFiles, LoadedEntry, bytes, load_entry};
use crate::discovery::DocumentSearch;
use crate::tool::naming::prefixed;
use crate::{Fetch, FetchBounds, LoadError, Operation, Toolset, ToolsetSettings};
use callwright_common::limits::DOCUMENT_BYTES_AT_ONCE;
use callwright_common::parallel::map_in_order;
use callwright_types::OperationRef;

/// All loaded toolsets. Immutable, so that a turn uses one catalog from start to end.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    toolsets: BTreeMap<String, Arc<Toolset>>,
    /// Files and folders by configuration entry.
    entries: BTreeMap<String, EntryFiles>,
}

/// Possible changes since a catalog was loaded.
#[derive(Debug, Clone)]
pub enum Changes {
    /// Changed local files. Folders are also searched for new documents.
    Files(BTreeSet<PathBuf>),
    /// Configuration entries whose remote files have changed.
    Remote(BTreeSet<String>),
}

impl Catalog {
    /// Returns a catalog without toolsets.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Loads every toolset of the configuration. Relative paths are resolved against `base_dir`; `fetch` fetches
    /// remote files. Also returns the errors of documents in folders that could not be loaded. Faults of single
    /// operations are in the reports.
    ///
    /// # Errors
    ///
    /// Returns an error if a configured document cannot be loaded, or a configured folder has no document that can be
    /// loaded.
    pub fn load(
        settings: &BTreeMap<String, ToolsetSettings>,
        base_dir: &Path,
        fetch: &dyn Fetch,
    ) -> Result<(Self, Vec<LoadError>), LoadError> {
        let mut catalog = Self::default();
        let mut errors = Vec::new();
        for (name, loaded) in load_entries(settings.iter().collect(), base_dir, fetch) {
            let mut loaded = loaded?;
            if loaded.toolsets.is_empty()
                && let Some(error) = loaded.errors.pop()
            {
                return Err(error);
            }
            errors.append(&mut catalog.replace(name, loaded));
        }
        prefix_shared_names(&mut catalog.toolsets);
        Ok((catalog, errors))
    }

    /// Reloads the changed configuration entries and keeps the others. Returns `None` if none has changed. A document
    /// that cannot be loaded keeps its previous version, and its error is returned.
    pub fn reload(
        &self,
        settings: &BTreeMap<String, ToolsetSettings>,
        base_dir: &Path,
        fetch: &dyn Fetch,
        changes: &Changes,
    ) -> Option<(Self, Vec<LoadError>)> {
        let changed: Vec<_> = settings.iter().filter(|(name, _)| self.has_changed(name, changes)).collect();
        if changed.is_empty() {
            return None;
        }
        let mut catalog = self.clone();
        let mut errors = Vec::new();
        for (name, loaded) in load_entries(changed, base_dir, fetch) {
            match loaded {
                Ok(loaded) => errors.append(&mut catalog.replace(name, loaded)),
                Err(error) => errors.push(error),
            }
        }
        prefix_shared_names(&mut catalog.toolsets);
        Some((catalog, errors))
    }

    fn has_changed(&self, name: &str, changes: &Changes) -> bool {
        let Some(entry) = self.entries.get(name) else { return true };
        match changes {
            Changes::Remote(names) => names.contains(name),
            Changes::Files(files) => {
                entry.files.iter().any(|file| files.contains(file))
                    || entry.folders.first().is_some_and(|folder| !is_as_before(folder, entry))
            }
        }
    }

    /// Replaces the toolsets of the entry `name`. A document of a folder that can no longer be loaded keeps its
    /// previous version, and its error is returned.
    fn replace(&mut self, name: &str, loaded: LoadedEntry) -> Vec<LoadError> {
        let LoadedEntry { toolsets, files, errors } = loaded;
        self.toolsets.retain(|_, old| {
            let document = old.document.as_deref();
            let is_broken = document.is_some() && errors.iter().any(|error| error.path() == document);
            old.entry != name || is_broken
        });
        self.toolsets.extend(toolsets.into_iter().map(|toolset| (toolset.name.clone(), Arc::new(toolset))));
        self.entries.insert(name.to_owned(), files);
        errors
    }

    /// Returns the local files of the catalog, including those of documents that could not be loaded.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.entries.values().flat_map(|entry| &entry.files).map(PathBuf::as_path)
    }

    /// Returns the folders that were searched for documents.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.entries.values().flat_map(|entry| &entry.folders).map(PathBuf::as_path)
    }

    /// Returns the configuration entries whose remote files have changed, and the errors of files that could not be
    /// checked.
    pub fn remote_changes(
        &self,
        settings: &BTreeMap<String, ToolsetSettings>,
        fetch: &dyn Fetch,
    ) -> (BTreeSet<String>, Vec<LoadError>) {
        let mut changed = BTreeSet::new();
        let mut errors = Vec::new();
        for toolset in self.toolsets.values() {
            let Some(settings) = settings.get(&toolset.entry) else { continue };
            match has_remote_changes(toolset, settings, fetch) {
                Ok(true) => drop(changed.insert(toolset.entry.clone())),
                Ok(false) => {}
                Err(error) => errors.push(error),
            }
        }
        (changed, errors)
    }

    /// Returns the toolset with this name.
    pub fn toolset(&self, name: &str) -> Option<&Arc<Toolset>> {
        self.toolsets.get(name)
    }

    /// Returns the toolsets of the configuration entry `name`: one, or those of a folder sorted by name.
    pub fn toolsets_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Arc<Toolset>> {
        self.toolsets.values().filter(move |toolset| toolset.entry == name)
    }

    /// Returns all toolsets, sorted by name.
    pub fn toolsets(&self) -> impl Iterator<Item = &Arc<Toolset>> {
        self.toolsets.values()
    }

    /// Returns the operation of a tool in the catalog.
    pub fn operation(&self, reference: &OperationRef) -> Option<&Operation> {
        self.toolset(&reference.toolset)?.operation(&reference.tool)
    }
}

/// Loads the configuration entries in parallel; the results have their order.
fn load_entries<'a>(
    entries: Vec<(&'a String, &'a ToolsetSettings)>,
    base_dir: &Path,
    fetch: &dyn Fetch,
) -> Vec<(&'a str, Result<LoadedEntry, LoadError>)> {
    map_in_order(
        &entries,
        DOCUMENT_BYTES_AT_ONCE,
        |(_, settings)| bytes(&base_dir.join(&settings.document)),
        |&(name, settings)| {
            let loaded = load_entry(name, settings, base_dir, fetch);
            (name.as_str(), loaded.map_err(|error| with_setting(error, name, settings, base_dir)))
        },
    )
}

/// Names the setting in the error of a document that cannot be read. Errors of files in a folder name the file already.
fn with_setting(error: LoadError, name: &str, settings: &ToolsetSettings, base_dir: &Path) -> LoadError {
    match error {
        LoadError::Read { path, source } if path == base_dir.join(&settings.document) => {
            let folder = std::path::absolute(base_dir).unwrap_or_else(|_| base_dir.to_owned());
            LoadError::Other(format!(
                "`toolsets.{name}.document` is `{}`, but {} cannot be read: {source}; correct the path (a relative one begins at the \
                 configuration file's folder, {})",
                settings.document,
                path.display(),
                folder.display()
            ))
        }
        other => other,
    }
}

/// Whether the folder has no documents and subfolders beyond those known to the entry.
fn is_as_before(folder: &Path, entry: &EntryFiles) -> bool {
    let Ok(search) = DocumentSearch::run(folder, &entry.files) else { return false };
    search.folders.iter().all(|folder| entry.folders.contains(folder))
        && search.found.iter().all(|found| entry.files.contains(&found.path))
}

fn has_remote_changes(toolset: &Toolset, settings: &ToolsetSettings, fetch: &dyn Fetch) -> Result<bool, LoadError> {
    let bounds =
        FetchBounds { bytes: settings.limits.document_bytes, time: Duration::from_secs(settings.limits.fetch_seconds) };
    for file in &toolset.remote_files {
        let changed = file.has_changed(fetch, bounds);
        if changed.map_err(|reason| LoadError::fetch(file.display_url(), reason))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// If tools of several toolsets share a name, prefixes the offered names with the toolset's name, because a model may
/// be offered several toolsets. The names within the toolset stay.
fn prefix_shared_names(toolsets: &mut BTreeMap<String, Arc<Toolset>>) {
    let mut uses: HashMap<String, usize> = HashMap::new();
    for operation in toolsets.values().flat_map(|toolset| &toolset.operations) {
        *uses.entry(operation.own_name().to_owned()).or_default() += 1;
    }
    let mut taken: HashSet<String> = uses.keys().cloned().collect();
    for (name, toolset) in toolsets {
        let mut renamed = Vec::new();
        for (index, operation) in toolset.operations.iter().enumerate() {
            let own = operation.own_name();
            let is_shared = uses.get(own).is_some_and(|uses| *uses > 1);
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
