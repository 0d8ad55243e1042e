//! Loads the toolsets of a configuration entry: one for a document, or one for each document of a folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use url::Url;

use crate::discovery::{DiscoveredDocument, DocumentSearch};
use crate::load::check_credentials;
use crate::{Fetch, LoadError, Origin, Toolset, ToolsetSettings, load_from};
use callwright_common::limits::DOCUMENT_BYTES_AT_ONCE;
use callwright_common::parallel::map_in_order;

/// Result of loading an entry.
pub(crate) struct LoadedEntry {
    pub(crate) toolsets: Vec<Toolset>,
    pub(crate) files: EntryFiles,
    /// Errors of a folder's documents that could not be loaded.
    pub(crate) errors: Vec<LoadError>,
}

/// The files and folders of a configuration entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct EntryFiles {
    /// The examined local files, whether or not they became a toolset.
    pub(crate) files: BTreeSet<PathBuf>,
    /// The searched folders.
    pub(crate) folders: BTreeSet<PathBuf>,
}

/// Loads the entry `name`; relative paths are resolved against `base_dir`. In a folder, a document that cannot be
/// loaded does not affect the others.
pub(crate) fn load_entry(
    name: &str,
    settings: &ToolsetSettings,
    base_dir: &Path,
    fetch: &dyn Fetch,
) -> Result<LoadedEntry, LoadError> {
    let document = settings.document.as_str();
    if document.is_empty() {
        let reason = "no document; set `document` to the path of its OpenAPI document";
        return Err(LoadError::settings(name, reason));
    }
    let mut settings = settings.clone();
    if !settings.root.is_empty() {
        settings.root = base_dir.join(&settings.root).to_string_lossy().into_owned();
    }
    let path = base_dir.join(document);
    let toolset = if document.contains("://") {
        let url = url(document).map_err(|reason| LoadError::settings(name, format!("`document` {reason}")))?;
        load_from(name, Origin::Url(&url), &settings, fetch)?
    } else if path.is_dir() {
        return load_folder(name, &path, settings, fetch);
    } else {
        load_from(name, Origin::Path(&path), &settings, fetch)?
    };
    let files = EntryFiles { files: toolset.files().map(Path::to_owned).collect(), folders: BTreeSet::new() };
    Ok(LoadedEntry { toolsets: vec![toolset], files, errors: Vec::new() })
}

/// Parses a URL. Its query may contain a key, so error messages do not quote it.
fn url(document: &str) -> Result<Url, String> {
    let url = Url::parse(document).map_err(|error| format!("is not a valid URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("is a `{}:` URL; give an http or https URL, or a path", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!(
            "has a user name or password in its URL, which is not sent; remove them from the URL of the document at {}",
            url.host_str().unwrap_or_default()
        ));
    }
    Ok(url)
}

fn load_folder(
    name: &str,
    folder: &Path,
    mut settings: ToolsetSettings,
    fetch: &dyn Fetch,
) -> Result<LoadedEntry, LoadError> {
    let nothing = BTreeSet::new();
    let DocumentSearch { found, folders, .. } = DocumentSearch::run(folder, &nothing)?;
    if found.is_empty() {
        let reason = format!(
            "no OpenAPI document in {}: no .json, .yaml or .yml file in it or its subfolders has `openapi` or `swagger` at the top level",
            folder.display()
        );
        return Err(LoadError::settings(name, reason));
    }
    if settings.root.is_empty() {
        settings.root = folder.to_string_lossy().into_owned();
    }
    // Each document gets the credentials for its own schemes.
    let credentials = std::mem::take(&mut settings.credentials);
    let mut files: BTreeSet<PathBuf> = found.iter().map(|found| found.path.clone()).collect();
    let mut toolsets = Vec::new();
    let mut errors = Vec::new();
    for loaded in load_all(name, &found, &settings, fetch) {
        match loaded {
            Ok(mut toolset) => {
                files.extend(toolset.files().map(Path::to_owned));
                name.clone_into(&mut toolset.entry);
                toolset.credentials = credentials.clone();
                toolset.credentials.retain(|scheme, _| toolset.security_schemes.contains_key(scheme));
                toolsets.push(toolset);
            }
            Err(error) => errors.push(error),
        }
    }
    // A document that could not be loaded may define the scheme, so unknown schemes are not an error.
    if errors.is_empty() {
        let schemes = toolsets.iter().flat_map(|toolset| toolset.security_schemes.keys().map(String::as_str));
        check_credentials(name, folder, &credentials, schemes.collect())?;
    }
    let files = EntryFiles { files, folders: folders.into_iter().collect() };
    Ok(LoadedEntry { toolsets: without_parts(toolsets), files, errors })
}

/// Loads the documents in parallel; the results have the order of `found`.
fn load_all(
    name: &str,
    found: &[DiscoveredDocument],
    settings: &ToolsetSettings,
    fetch: &dyn Fetch,
) -> Vec<Result<Toolset, LoadError>> {
    map_in_order(
        found,
        DOCUMENT_BYTES_AT_ONCE,
        |document| bytes(&document.path),
        |document| load_from(&format!("{name}/{}", document.name), Origin::Path(&document.path), settings, fetch),
    )
}

/// Returns the size of a file; 0 if it is unknown.
pub(crate) fn bytes(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Omits documents that are parts of others: those from which another one takes its operations, and those without
/// operations to which another one refers. Two documents that take operations from each other are both kept.
fn without_parts(toolsets: Vec<Toolset>) -> Vec<Toolset> {
    let documents = toolsets.iter().map(|toolset| toolset.document.as_deref());
    let paths: Vec<Option<PathBuf>> = documents.map(|document| fs::canonicalize(document?).ok()).collect();
    let parts: Vec<bool> = toolsets
        .iter()
        .zip(&paths)
        .map(|(toolset, path)| path.as_ref().is_some_and(|path| is_part(toolset, path, &toolsets, &paths)))
        .collect();
    toolsets.into_iter().zip(parts).filter(|(_, is_part)| !is_part).map(|(toolset, _)| toolset).collect()
}

/// Whether the toolset of the document `own` is a part of one of `all`, whose documents are `paths`.
fn is_part(toolset: &Toolset, own: &Path, all: &[Toolset], paths: &[Option<PathBuf>]) -> bool {
    let has_operations = toolset.report.operations_loaded + toolset.report.operations_skipped.len() > 0;
    all.iter().zip(paths).any(|(other, other_path)| {
        let refers_back = other_path.as_ref().is_some_and(|path| toolset.operation_files.contains(path));
        let takes = match has_operations {
            true => other.operation_files.contains(own),
            false => other.other_files.iter().any(|file| file == own),
        };
        !std::ptr::eq(toolset, other) && takes && !refers_back
    })
}
