//! Loads one document as one toolset. The functions are in the order of the steps.

pub(crate) mod operation;
pub(crate) mod operation_list;
mod operations;
mod outputs;
mod promise;
pub(crate) mod reader;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::{fs, ptr};

use crate::hidden::HiddenParameterRules;
use crate::load::operation_list::operations;
use crate::load::operations::{LoadedOperations, read_operations};
use crate::load::outputs::attach_links;
use crate::load::reader::OperationReader;
use crate::server::Servers;
use crate::tool::naming::{NameSource, tool_names};
use crate::{
    ApiDocument, Credential, DocumentOperation, Fetch, LoadError, LoadNotes, Offline, Operation, Origin, Report,
    Subtypes, Toolset, ToolsetSettings, documentation, security,
};
use callwright_common::json::scalar_text;

/// Loads the document at `path` with all its files as the toolset `name`. Ignores `settings.document`. A faulty
/// operation is skipped and reported in [`Toolset::report`].
///
/// # Errors
///
/// Returns an error if the document as a whole cannot be loaded.
pub fn load_document(name: &str, path: &Path, settings: &ToolsetSettings) -> Result<Toolset, LoadError> {
    load_from(name, Origin::Path(path), settings, &Offline)
}

/// Like [`load_document`], for any origin; `fetch` fetches remote files.
pub fn load_from(
    name: &str,
    origin: Origin<'_>,
    settings: &ToolsetSettings,
    fetch: &dyn Fetch,
) -> Result<Toolset, LoadError> {
    toolset_from(&ApiDocument::load(origin, settings, fetch)?, name, &origin.to_path(), settings)
}

/// Converts the document `root` as if it had been read from `path`.
#[cfg(test)]
pub(crate) fn toolset_of(
    root: serde_json::Value,
    name: &str,
    path: &Path,
    settings: &ToolsetSettings,
) -> Result<Toolset, LoadError> {
    toolset_from(&ApiDocument::new(root, path)?, name, path, settings)
}

/// Converts a document that was read from `path` to a toolset.
pub(crate) fn toolset_from(
    document: &ApiDocument,
    name: &str,
    path: &Path,
    settings: &ToolsetSettings,
) -> Result<Toolset, LoadError> {
    let mut notes = LoadNotes::default();
    document.remarks().into_iter().for_each(|remark| notes.remark(remark));
    let own_schemes = security::schemes(document, &mut notes);
    let servers = Servers::new(document, name, settings, &mut notes)?;

    let (sources, mut skipped) = operations(document);
    let names = names_of(&sources);
    let hidden = HiddenParameterRules::new(document, &sources, &own_schemes);
    let subtypes = Subtypes::new(document);
    let reader = || OperationReader::new(document, &subtypes, name, &settings.limits, &servers, &hidden);
    let LoadedOperations { mut loaded, skipped: unreadable } = read_operations(&sources, &names, reader, &mut notes);
    skipped.extend(unreadable);

    attach_links(&mut loaded);
    let mut loaded: Vec<Operation> = loaded.into_iter().map(|(_, operation)| operation).collect();
    loaded.shrink_to_fit();
    let required = loaded.iter().flat_map(|operation| &operation.security).flatten();
    let security_schemes = hidden.into_schemes(own_schemes, required);
    check_credentials(name, path, &settings.credentials, security_schemes.keys().map(String::as_str).collect())?;
    let (simplified, hidden) = notes.finish();
    Ok(Toolset {
        name: name.to_owned(),
        entry: name.to_owned(),
        title: title(document),
        servers: servers.root.clone(),
        security_schemes,
        credentials: settings.credentials.clone(),
        other_files: document.files.referred.iter().cloned().collect(),
        remote_files: document.files.remote.clone(),
        operation_files: operation_files(document, &sources),
        documentation: documentation::of_document(document),
        missing_credentials: settings.missing_credentials,
        report: Report {
            file: path.display().to_string(),
            operations_loaded: loaded.len(),
            operations_skipped: skipped,
            renamed: loaded.iter().filter_map(Operation::renamed).collect(),
            simplified,
            error: None,
            advice: Vec::new(),
            hidden,
        },
        document: document.root().at.file().url().is_none().then(|| path.to_owned()),
        by_tool: by_tool(&loaded),
        operations: loaded,
    })
}

/// Rejects credentials without a matching security scheme. They would never be sent, and calls would fail without a
/// visible reason.
pub(crate) fn check_credentials(
    toolset: &str,
    path: &Path,
    credentials: &BTreeMap<String, Credential>,
    schemes: BTreeSet<&str>,
) -> Result<(), LoadError> {
    let Some(scheme) = credentials.keys().find(|scheme| !schemes.contains(scheme.as_str())) else {
        return Ok(());
    };
    let known: Vec<&str> = schemes.into_iter().collect();
    let known = if known.is_empty() { "no security scheme".to_owned() } else { known.join(", ") };
    let reason = format!("credentials for `{scheme}`, but {} defines {known}", path.display());
    Err(LoadError::settings(toolset, reason))
}

/// Returns the tool names of `sources`, in the same order.
pub(crate) fn names_of(sources: &[DocumentOperation<'_>]) -> Vec<String> {
    tool_names(&sources.iter().map(name_source).collect::<Vec<_>>())
}

fn name_source<'d>(source: &DocumentOperation<'d>) -> NameSource<'d> {
    NameSource {
        operation_id: source.operation.text("operationId"),
        method: source.method.as_str().to_ascii_lowercase(),
        path: source.path,
    }
}

/// Returns the local files with operations, without the document's main file.
fn operation_files(document: &ApiDocument, sources: &[DocumentOperation<'_>]) -> BTreeSet<PathBuf> {
    let main = document.root().at.file();
    let files = sources.iter().map(|source| source.operation.at.file()).filter(|file| !ptr::eq(*file, main));
    let paths: BTreeSet<&Path> = files.filter_map(|file| file.path()).collect();
    paths.into_iter().map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())).collect()
}

/// Returns the title of the Info Object.
fn title(document: &ApiDocument) -> String {
    let value = document.member("info").and_then(|info| scalar_text(info.value.get("title")?));
    value.map(|text| text.trim().to_owned()).unwrap_or_default()
}

fn by_tool(operations: &[Operation]) -> HashMap<String, usize> {
    operations.iter().enumerate().map(|(index, operation)| (operation.tool.name.clone(), index)).collect()
}
