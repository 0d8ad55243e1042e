//! Configuration of toolsets.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Credential;
use callwright_types::rules::ToolGlobs;

/// An OpenAPI document whose operations become tools, or a folder of documents: `[toolsets.NAME]` in the
/// configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsetSettings {
    /// Path or http(s) URL of the OpenAPI document (JSON or YAML), or path of a folder. In a folder, every OpenAPI
    /// document at any depth becomes a toolset of its own, `NAME/path/of/the/document.yaml`; `NAME` refers to all of
    /// them. Relative paths are resolved against the configuration file's folder.
    pub document: String,
    /// Folder that must contain all local files to which the document refers; relative paths are resolved against the
    /// configuration file's folder. Empty: the document's own folder, or the folder that `document` names. A remote
    /// document cannot refer to local files.
    pub root: String,
    /// Whether referenced files may be fetched over http and https, within the executor's address policy. A document
    /// whose `document` is a URL is always fetched; its references need this setting as well.
    pub allow_remote_refs: bool,
    /// Absolute URL that replaces every server of the document; empty: the document's own servers. Required if the
    /// document has only relative servers and is a local file, because there is no URL to resolve them against.
    pub base_url: String,
    /// Server to call: its number in the document's list, counted from 1, its description, or its URL as written
    /// there. Empty: the first usable server. An operation with servers of its own uses the matching one of them,
    /// otherwise its first.
    pub server: String,
    /// Values for the variables of server URLs, by name. A variable without a value has the document's default.
    pub server_variables: BTreeMap<String, String>,
    /// Credentials by the name of the document's security scheme. In a folder, each document gets the credentials for
    /// its schemes.
    pub credentials: BTreeMap<String, Credential>,
    /// Handling of calls whose operation requires credentials that are not configured.
    pub missing_credentials: MissingCredentials,
    /// Additional documentation of the API, from which failed calls are explained. A file that cannot be read is
    /// logged and skipped.
    pub docs: Vec<DocsSettings>,
    /// Limits on the document and its tools.
    #[serde(skip)]
    pub limits: DocumentLimits,
}

/// Additional documentation and the operations to which it applies: those that match any of the globs; without a
/// glob, all of them. A section whose heading names an operation (its `operationId`, its tool's name, its path, or
/// method and path) applies to that operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocsSettings {
    /// A file (Markdown, HTML, plain text, JSON, CSV, TSV), a folder of files at any depth, or a glob
    /// (`docs/**/*.md`). Relative paths are resolved against the configuration file's folder.
    pub path: String,
    /// Globs for tool names and `operationId`s.
    #[serde(default)]
    pub operations: ToolGlobs,
    /// Globs for paths (`/messages*`; `*` also matches `/`).
    #[serde(default)]
    pub paths: ToolGlobs,
    /// Globs for tags.
    #[serde(default)]
    pub tags: ToolGlobs,
}

/// Handling of calls whose operation requires credentials that are not configured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingCredentials {
    /// Rejects the call without sending it. Otherwise the API would reject it, and the model would try to correct an
    /// error that it cannot fix.
    #[default]
    Refuse,
    /// Sends the call without credentials: for an API that requires fewer than documented, or a gateway that adds
    /// them.
    Send,
}

/// Limits on one document and on the tools made from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentLimits {
    /// Maximum size of a document, in bytes of all its files. The largest published by vendors has about 80 MB.
    pub document_bytes: u64,
    /// Maximum time for fetching all remote files of a document, in seconds.
    pub fetch_seconds: u64,
    /// Maximum number of files of a document.
    pub files: usize,
    /// Maximum size of a tool's argument schema, in bytes of compact JSON. A larger schema loses long descriptions
    /// and then its deepest levels, which accept any value, until it fits. The report mentions the loss.
    pub schema_bytes: usize,
    /// Maximum nesting of schemas in a tool's argument schema; at most 48.
    pub schema_depth: usize,
    /// Maximum length of a tool's description, in characters. OpenAI-compatible providers commonly reject more than
    /// 1024.
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
