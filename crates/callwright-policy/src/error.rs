//! Errors in policies, and in requests that select one.

use std::path::PathBuf;

use callwright_common::json::Pointer;
use callwright_common::watch::FolderError;

/// Error for unusable policies. Valid policies that are in force remain active.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A file or the directory cannot be read, or exceeds a size limit.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The directory of the settings cannot be read.
    #[error(
        "`policies.directory` is `{given}`, but {} cannot be read: {source}; create the folder, or correct the path (a relative one begins at \
         the configuration file's folder, {})",
        .path.display(), .base_dir.display()
    )]
    Directory {
        /// The directory as configured.
        given: String,
        /// Path that was read.
        path: PathBuf,
        /// Folder to which a relative path refers.
        base_dir: PathBuf,
        /// Cause of the failure.
        source: std::io::Error,
    },
    /// A file is not a policy.
    #[error("{file}:{line}:{column}: {message}")]
    Invalid {
        file: String,
        /// Line, from 1; 0 if unknown.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// Description of the error and its remedy.
        message: String,
    },
    /// Two policies have the same name.
    #[error("{second}: there is a policy `{name}` already, in {first}; give one of them another `name`")]
    Duplicate {
        name: String,
        /// The file that was read first.
        first: String,
        /// The other file.
        second: String,
    },
    /// A required policy does not exist.
    #[error("{user} names the policy `{name}`, which is not in {place}{}", known(.nearest.as_deref()))]
    Missing {
        name: String,
        /// The setting that names it.
        user: String,
        /// Location that was searched.
        place: String,
        /// Most similar existing name.
        nearest: Option<String>,
    },
    /// The policy of an alias with toolsets has `mode: shadow`, in which no tools are offered.
    #[error(
        "`[aliases.{alias}]` offers toolsets, and its policy `{policy}` has `mode: shadow`, in which the proxy offers and \
         executes no tools; bind the alias to another policy (`policy`), or accept that with \
         `omit_toolsets_in_shadow = true`"
    )]
    ShadowToolsets {
        /// Name of the alias.
        alias: String,
        /// Name of the policy.
        policy: String,
    },
}

/// Error for a request that selects a policy that it may not use: status 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The key lists a policy that does not exist.
    #[error("`x-callwright-policy`: the key may select the policy `{name}`, which does not exist")]
    Unknown { name: String },
    /// The key does not list the policy.
    #[error("`x-callwright-policy`: the key may not select the policy `{name}`; it may select {}", names(.permitted))]
    NotSelectable {
        name: String,
        /// Names of the policies that the key lists.
        permitted: Vec<String>,
    },
    /// The request has no virtual key, so that nothing permits the selection.
    #[error(
        "`x-callwright-policy`: only a request with a virtual key that lists the policy `{name}` may select it \
         (`selectable_policies`)"
    )]
    NoKey { name: String },
    /// The virtual key is bound to a policy that does not exist: it was removed after the key was created, or exists
    /// on another replica only.
    #[error(
        "the key `{key}` is bound to the policy `{name}`, which does not exist; the proxy's operator has to name another one"
    )]
    KeyUnbound {
        /// Name of the key.
        key: String,
        /// Name of the policy.
        name: String,
    },
    /// The alias is bound to a policy that does not exist. This is a configuration error: bindings are checked when
    /// policies are loaded ([`PolicyBook::bind`](super::PolicyBook::bind)).
    #[error("the model alias is bound to the policy `{name}`, which does not exist")]
    Unbound {
        /// Name of the policy.
        name: String,
    },
}

fn names(permitted: &[String]) -> String {
    if permitted.is_empty() {
        return "none".to_owned();
    }
    permitted.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn known(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// An invalid value of a policy, and its location in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PolicyFault {
    /// Location of the value.
    pub(super) place: Pointer,
    /// Description of the error and its remedy.
    pub(super) message: String,
}

impl PolicyFault {
    /// Creates a fault at `place`.
    pub(super) fn new(place: Pointer, message: impl Into<String>) -> Self {
        Self { place, message: message.into() }
    }
}
