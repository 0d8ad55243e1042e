//! What an operation asks for, and what its toolset has for it.

use url::Url;

use callwright_openapi::{Credential, MissingCredentials, Operation, Requirement, SecurityScheme, Toolset};

/// The credentials that one call needs. It owns everything, because a call that was sent is finished even when its turn is gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// The toolset's name: credentials and tokens belong to it alone.
    pub(super) toolset: String,
    /// The name under which the configuration has it.
    pub(super) entry: String,
    /// The tool's name.
    pub(super) tool: String,
    /// The alternatives of the operation's security for which every credential is given, best first.
    pub(super) alternatives: Vec<Vec<Needed>>,
    /// May the call go without any?
    pub(super) is_optional: bool,
    /// Schemes of the operation's alternatives for which nothing is given.
    pub(super) lacking: Vec<String>,
    /// The server that a relative token endpoint belongs to.
    pub(super) server: Option<Url>,
}

/// One credential of an alternative.
#[derive(Debug, Clone)]
pub(super) struct Needed {
    /// The scheme's name.
    pub(super) name: String,
    pub(super) scheme: SecurityScheme,
    pub(super) credential: Credential,
    /// The scopes that the operation asks for.
    pub(super) scopes: Vec<String>,
}

impl Wanted {
    /// A scheme that the document does not define asks for nothing that anybody could know; its report names it.
    pub(crate) fn of(operation: &Operation, toolset: &Toolset) -> Self {
        let defined = |alternative: &Vec<Requirement>| -> Vec<Requirement> {
            alternative
                .iter()
                .filter(|required| toolset.security_schemes.contains_key(&required.scheme))
                .cloned()
                .collect()
        };
        let security: Vec<Vec<Requirement>> = operation.security.iter().map(defined).collect();
        let mut wanted = Self {
            toolset: toolset.name.clone(),
            entry: toolset.entry.clone(),
            tool: operation.tool.name.clone(),
            is_optional: security.is_empty()
                || security.iter().any(Vec::is_empty)
                || toolset.missing_credentials == MissingCredentials::Send,
            server: operation.servers.first().cloned(),
            ..Self::default()
        };
        for alternative in security.iter().filter(|alternative| !alternative.is_empty()) {
            let mut needed = Vec::with_capacity(alternative.len());
            for required in alternative {
                let credential = toolset.credentials.get(&required.scheme).filter(|credential| credential.is_given());
                match (toolset.security_schemes.get(&required.scheme), credential) {
                    (Some(scheme), Some(credential)) => needed.push(Needed {
                        name: required.scheme.clone(),
                        scheme: scheme.clone(),
                        credential: credential.clone(),
                        scopes: required.scopes.clone(),
                    }),
                    _ if wanted.lacking.contains(&required.scheme) => {}
                    _ => wanted.lacking.push(required.scheme.clone()),
                }
            }
            if needed.len() == alternative.len() {
                wanted.alternatives.push(needed);
            }
        }
        wanted
    }

    /// Is a credential needed, and none given?
    pub(super) fn is_lacking(&self) -> bool {
        self.alternatives.is_empty() && !self.is_optional
    }

    /// What is missing, for the operator.
    pub(super) fn what_is_lacking(&self) -> String {
        format!(
            "none is given for the security scheme {} of toolset `{}`; set it under `toolsets.{}.credentials`, or send such calls \
             without by `missing_credentials = \"send\"`",
            self.lacking.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or "),
            self.toolset,
            self.entry
        )
    }
}
