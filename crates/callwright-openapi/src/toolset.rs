//! The tools made from one document.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use url::Url;

use super::report::Renamed;
use super::{Credential, MissingCredentials, Operation, RemoteFile, Report, SecurityScheme};
use callwright_types::DocText;

/// The tools made from one OpenAPI document, with what is needed to call them.
#[derive(Debug, Clone, Default)]
pub struct Toolset {
    /// The name in the configuration; of a folder's documents that name, `/` and the document's way from the folder.
    pub name: String,
    /// The name in the configuration, under which its settings are.
    pub entry: String,
    /// The document's `info.title`.
    pub title: String,
    /// The document's own absolute servers, or the operator's `base_url` alone.
    pub servers: Vec<Url>,
    /// How the API wants to be shown credentials, by the scheme's name.
    pub security_schemes: BTreeMap<String, SecurityScheme>,
    /// What the operator gave, by the scheme's name. Every key is one of `security_schemes`.
    pub credentials: BTreeMap<String, Credential>,
    /// What becomes of calls whose credentials the operator did not give.
    pub missing_credentials: MissingCredentials,
    /// The operations that became tools, in the order of the document.
    pub operations: Vec<Operation>,
    /// The local files that the document refers to, absolute and with links resolved; also those that could not be understood.
    pub other_files: Vec<PathBuf>,
    /// The files of the document that were fetched.
    pub remote_files: Vec<RemoteFile>,
    /// The local files, other than the document itself, that have operations which became its own; with links resolved.
    pub(super) operation_files: BTreeSet<PathBuf>,
    /// What the document says about itself: `info.description` and the root's `externalDocs`.
    pub documentation: Vec<DocText>,
    /// What became of the document's operations.
    pub report: Report,
    /// The file that the document was read from; `None` where it is remote.
    pub document: Option<PathBuf>,
    /// Where the operation behind a tool's name stands.
    pub(super) by_tool: HashMap<String, usize>,
}

impl Toolset {
    /// The operation behind the tool of this name (its name within the toolset).
    pub fn operation(&self, tool: &str) -> Option<&Operation> {
        self.operations.get(*self.by_tool.get(tool)?)
    }

    /// The local files that the toolset was made from.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.document.as_deref().into_iter().chain(self.other_files.iter().map(PathBuf::as_path))
    }

    /// Offers the tools of these operations, each given by its index, under other names.
    pub(super) fn offer_as(&mut self, names: impl IntoIterator<Item = (usize, String)>) {
        for (index, name) in names {
            let Some(operation) = self.operations.get_mut(index) else { continue };
            Arc::make_mut(&mut operation.tool).name = name;
        }
        self.report.renamed = self.operations.iter().filter_map(Renamed::of).collect();
    }

    /// Everything that the document says about `operation`: its own texts first, then the document's.
    pub fn documentation_of<'a>(&'a self, operation: &'a Operation) -> impl Iterator<Item = &'a DocText> {
        operation.documentation.iter().map(Arc::as_ref).chain(&self.documentation)
    }
}
