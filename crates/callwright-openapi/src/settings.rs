//! What an operator sets for a toolset.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Credential;
use callwright_types::rules::ToolGlobs;

/// What holds for the documents of all toolsets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Read documents again when their files change. Turns that run keep the tools they began with, and a document that cannot be
    /// read changes nothing.
    pub reload: bool,
    /// Milliseconds without a further change before changed files are read.
    pub reload_quiet_milliseconds: u64,
    /// Seconds between two looks whether remote documents have changed; 0: they are read once, at the start.
    pub reload_remote_seconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { reload: true, reload_quiet_milliseconds: 500, reload_remote_seconds: 0 }
    }
}

/// One OpenAPI document whose operations become tools, or a folder of such: `[toolsets.NAME]` in the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsetSettings {
    /// Path or http(s) URL of the OpenAPI document (JSON or YAML), or path of a folder, of which every OpenAPI document at any depth becomes a
    /// toolset of its own, `NAME/path/of/the/document.yaml`; whoever names `NAME` means all of them. Relative paths start at the configuration
    /// file's folder.
    pub document: String,
    /// Folder that local files which the document refers to must be in; relative paths start at the configuration file's folder. Empty: the
    /// document's own folder, or the folder that `document` names. A remote document refers to no local files at all.
    pub root: String,
    /// May files that the document refers to be fetched over http and https, within the executor's address policy? A document that is
    /// itself named by a URL is fetched whatever stands here; what it refers to needs this as well.
    pub allow_remote_refs: bool,
    /// Absolute URL that replaces every server of the document; empty: the document's own servers. Needed where the document
    /// names only relative servers, because a file has no address that they could be relative to.
    pub base_url: String,
    /// Which of the document's servers is called: its number in the document's list, from 1, its description, or its URL as it is written
    /// there. Empty: the first that is usable. An operation with servers of its own takes the one among them that fits, else its first.
    pub server: String,
    /// Values for the variables of the servers' URLs, by name; one that is not given has the document's default.
    pub server_variables: BTreeMap<String, String>,
    /// Credentials by the name of the document's security scheme. Of a folder, every document gets those that it has a scheme for.
    pub credentials: BTreeMap<String, Credential>,
    /// What becomes of a call whose operation asks for credentials that are not given.
    pub missing_credentials: MissingCredentials,
    /// Further documentation of the API, that failed calls are explained from. One that cannot be read is told in the log, and left out.
    pub docs: Vec<DocsSettings>,
    /// Bounds on what is read from the document.
    pub limits: DocumentLimits,
}

/// Further documentation, and the operations that it belongs to: those that any of the globs fits; without a glob, all of them. A
/// section whose heading names an operation (its `operationId`, its tool's name, its path, or method and path) belongs to that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocsSettings {
    /// A file (Markdown, HTML, plain text, JSON, CSV, TSV), a folder of such at any depth, or a glob (`docs/**/*.md`); relative paths start at
    /// the configuration file's folder.
    pub path: String,
    /// Globs on names of tools and `operationId`s.
    #[serde(default)]
    pub operations: ToolGlobs,
    /// Globs on paths (`/messages*`; `*` also takes `/`).
    #[serde(default)]
    pub paths: ToolGlobs,
    /// Globs on tags.
    #[serde(default)]
    pub tags: ToolGlobs,
}

/// What becomes of a call whose operation asks for credentials that are not given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingCredentials {
    /// It is not sent: the API would refuse it, and the model would try to mend what it cannot.
    #[default]
    Refuse,
    /// It is sent without: for an API that asks for less than its document says, or one behind a gateway that adds them.
    Send,
}

/// Bounds on one document and on the tools made from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DocumentLimits {
    /// Largest document, in bytes of all its files, that is read. The largest that vendors publish is about 80 MB.
    pub document_bytes: u64,
    /// Seconds that fetching the remote files of a document may take, all of them together.
    pub fetch_seconds: u64,
    /// Files that a document may consist of.
    pub files: usize,
    /// Largest argument schema of one tool, in bytes of compact JSON. A schema above it loses long descriptions and then its
    /// deepest levels, which accept any value, until it fits; the report says so.
    pub schema_bytes: usize,
    /// Levels of nesting that a tool's argument schema keeps, counted in schemas within schemas; at most 48.
    pub schema_depth: usize,
    /// Largest description of a tool, in characters. OpenAI-compatible providers commonly refuse more than 1024.
    pub description_chars: usize,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        Self {
            document_bytes: 128 * 1024 * 1024,
            fetch_seconds: 60,
            files: 5_000,
            schema_bytes: 64 * 1024,
            schema_depth: 32,
            description_chars: 1024,
        }
    }
}
