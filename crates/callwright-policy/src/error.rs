//! What can be wrong with policies, and with asking for one.

use callwright_common::watch::FolderError;

/// The policies cannot be used. Where good ones are in force they stay.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A file or the directory cannot be read, or holds more than a sane set of policies can be.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file is not a policy.
    #[error("{file}:{line}:{column}: {message}")]
    Invalid {
        /// The file.
        file: String,
        /// Line, from 1; 0 where it is not known.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong and what mends it.
        message: String,
    },
    /// Two files have the same name.
    #[error("{second}: there is a policy `{name}` already, in {first}; give one of them another `name`")]
    Duplicate {
        /// The name.
        name: String,
        /// The file that was read first.
        first: String,
        /// The other file.
        second: String,
    },
    /// A policy that is needed is not there.
    #[error("{user} names the policy `{name}`, which is not in {place}{}", known(.nearest.as_deref()))]
    Missing {
        /// The name.
        name: String,
        /// Who names it.
        user: String,
        /// Where it was looked for.
        place: String,
        /// The most similar name that there is.
        nearest: Option<String>,
    },
}

/// The request asks for a policy that it cannot have: status 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// There is none of that name.
    #[error("`x-callwright-policy`: there is no policy `{name}`{}", known(.nearest.as_deref()))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The most similar name among the policies that may be asked for.
        nearest: Option<String>,
    },
    /// It exists, and requests may not ask for it.
    #[error("`x-callwright-policy`: the policy `{name}` is not selectable; it would have to say `selectable: true`")]
    NotSelectable {
        /// The name that was asked for.
        name: String,
    },
    /// The virtual key is bound to a policy that does not exist: it was there when the key was made, or another replica has it.
    #[error(
        "the key `{key}` is bound to the policy `{name}`, which does not exist; the proxy's operator has to name another one"
    )]
    KeyUnbound {
        /// The key's name.
        key: String,
        /// The policy's name.
        name: String,
    },
    /// The alias is bound to a policy that does not exist. Bindings are checked when policies are loaded
    /// ([`PolicyBook::bind`](super::PolicyBook::bind)), so that this is a fault of configuration.
    #[error("the model alias is bound to the policy `{name}`, which does not exist")]
    Unbound {
        /// The policy's name.
        name: String,
    },
}

fn known(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
