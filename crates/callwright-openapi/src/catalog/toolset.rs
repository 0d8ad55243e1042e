//! The tools made from one document.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use url::Url;

use crate::{Credential, MissingCredentials, Operation, RemoteFile, Report, SecurityScheme};
use callwright_types::DocText;

/// The tools made from one OpenAPI document, with the data needed to call them.
#[derive(Debug, Clone, Default)]
pub struct Toolset {
    /// Name of the configuration entry; for a folder's documents followed by `/` and the document's relative path.
    pub name: String,
    /// Name of the configuration entry with the settings.
    pub entry: String,
    /// The document's `info.title`.
    pub title: String,
    /// The document's own absolute servers, or only the operator's `base_url`.
    pub servers: Vec<Url>,
    /// Security schemes by name.
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// Configured credentials by scheme name. Every key is in `security_schemes`.
    pub credentials: BTreeMap<String, Credential>,
    /// Handling of calls without configured credentials.
    pub missing_credentials: MissingCredentials,
    /// The operations that became tools, in the order of the document.
    pub operations: Vec<Operation>,
    /// Local files that the document refers to, as absolute paths with links resolved, including files that could not
    /// be parsed.
    pub other_files: Vec<PathBuf>,
    /// The fetched files of the document.
    pub remote_files: Vec<RemoteFile>,
    /// Local files other than the document itself that contribute operations, with links resolved.
    pub(crate) operation_files: BTreeSet<PathBuf>,
    /// Texts about the document as a whole: `info.description` and the root's `externalDocs`.
    pub documentation: Vec<DocText>,
    /// Report on the conversion of the operations.
    pub report: Report,
    /// The file of the document; `None` if it is remote.
    pub document: Option<PathBuf>,
    /// Indexes of operations by the tool's name.
    pub(crate) by_tool: HashMap<String, usize>,
}

impl Toolset {
    /// Returns the operation of the tool with this name within the toolset.
    pub fn operation(&self, tool: &str) -> Option<&Operation> {
        self.operations.get(*self.by_tool.get(tool)?)
    }

    /// Returns the local files of the toolset.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.document.as_deref().into_iter().chain(self.other_files.iter().map(PathBuf::as_path))
    }

    /// Changes the offered names of tools, given by the indexes of their operations.
    pub(crate) fn offer_as(&mut self, names: impl IntoIterator<Item = (usize, String)>) {
        for (index, name) in names {
            let Some(operation) = self.operations.get_mut(index) else { continue };
            Arc::make_mut(&mut operation.tool).name = name;
        }
        self.report.renamed = self.operations.iter().filter_map(Operation::renamed).collect();
    }

    /// Returns all documentation texts for `operation`: its own first, then the document's.
    pub fn documentation_of<'a>(&'a self, operation: &'a Operation) -> impl Iterator<Item = &'a DocText> {
        operation.documentation.iter().map(Arc::as_ref).chain(&self.documentation)
    }
}
