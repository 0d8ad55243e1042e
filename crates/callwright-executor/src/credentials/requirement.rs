//! Credentials that an operation requires and that its toolset provides.

use url::Url;

use callwright_openapi::{Credential, MissingCredentials, Operation, Requirement, SecurityScheme, Toolset};

/// Credentials that one call requires. It owns its data, because a sent call is completed even if its turn has been
/// dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallCredentials {
    /// Name of the toolset. Credentials and tokens are valid for this toolset only.
    pub(crate) toolset: String,
    /// Key of the toolset in the configuration.
    pub(super) entry: String,
    /// Name of the tool.
    pub(crate) tool: String,
    /// Alternatives of the operation's security requirements for which every credential is configured, best first.
    pub(super) alternatives: Vec<Vec<SchemeCredential>>,
    /// Whether the call may be sent without credentials.
    pub(super) is_optional: bool,
    /// Schemes of the operation's alternatives for which no credential is configured.
    pub(super) lacking: Vec<String>,
    /// Server against which a relative token endpoint is resolved.
    pub(super) server: Option<Url>,
}

/// One credential of an alternative.
#[derive(Debug, Clone)]
pub(super) struct SchemeCredential {
    pub(super) name: String,
    pub(super) scheme: SecurityScheme,
    pub(super) credential: Credential,
    /// Scopes that the operation requires.
    pub(super) scopes: Vec<String>,
}

impl CallCredentials {
    /// Collects the credentials of an operation. A scheme that the document does not define is ignored; the load
    /// report names it.
    pub(crate) fn new(operation: &Operation, toolset: &Toolset) -> Self {
        let mut security: Vec<Vec<Requirement>> = operation.security.clone();
        for alternative in &mut security {
            alternative.retain(|required| toolset.security_schemes.contains_key(&required.scheme));
        }
        let mut collected = Self {
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
                    (Some(scheme), Some(credential)) => needed.push(SchemeCredential {
                        name: required.scheme.clone(),
                        scheme: scheme.clone(),
                        credential: credential.clone(),
                        scopes: required.scopes.clone(),
                    }),
                    _ if collected.lacking.contains(&required.scheme) => {}
                    _ => collected.lacking.push(required.scheme.clone()),
                }
            }
            if needed.len() == alternative.len() {
                collected.alternatives.push(needed);
            }
        }
        collected
    }

    pub(super) fn is_lacking(&self) -> bool {
        self.alternatives.is_empty() && !self.is_optional
    }

    /// Returns the schemes without a credential of the operation's first alternative.
    pub(super) fn first_lacking_schemes<'o>(&self, operation: &'o Operation) -> impl Iterator<Item = &'o str> {
        let first = operation.security.iter().find(|alternative| !alternative.is_empty());
        let schemes = first.into_iter().flatten().map(|required| required.scheme.as_str());
        schemes.filter(|scheme| self.lacking.iter().any(|lacking| lacking == scheme))
    }

    /// Returns the description of the missing credentials for the operator.
    pub(super) fn lacking_description(&self) -> String {
        format!(
            "none is configured for the security scheme {} of toolset `{}`; set it under `toolsets.{}.credentials`, \
             or set `missing_credentials = \"send\"` to send such calls without credentials",
            self.lacking.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or "),
            self.toolset,
            self.entry
        )
    }
}
