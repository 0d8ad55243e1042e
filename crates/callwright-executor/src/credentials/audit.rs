//! Checks of a toolset's credentials before any call.

use std::collections::{BTreeMap, HashSet};

use super::requirement::{CallCredentials, SchemeCredential};
use super::secret_file;
use super::token_request::TokenRequest;
use callwright_openapi::{Credential, SecretSource, SecurityScheme, Toolset};

/// A credential that operations require and that is not configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LackingCredential {
    /// Name of the security scheme.
    pub scheme: String,
    /// Whether the scheme takes OAuth 2 client credentials.
    pub takes_client: bool,
    /// Number of operations whose calls are refused.
    pub operations: usize,
}

/// Returns the required credentials of a toolset that are not configured. Of alternatives, only the first is listed.
pub fn lacking_credentials(toolset: &Toolset) -> Vec<LackingCredential> {
    let mut lacking: BTreeMap<&str, usize> = BTreeMap::new();
    for operation in &toolset.operations {
        let required = CallCredentials::new(operation, toolset);
        if !required.is_lacking() {
            continue;
        }
        for scheme in required.first_lacking_schemes(operation) {
            *lacking.entry(scheme).or_default() += 1;
        }
    }
    let lacking = lacking.into_iter().map(|(scheme, operations)| {
        let takes_client =
            matches!(toolset.security_schemes.get(scheme), Some(SecurityScheme::OAuth2 { token_url: Some(_) }));
        LackingCredential { scheme: scheme.to_owned(), takes_client, operations }
    });
    lacking.collect()
}

/// Returns the faults of a toolset's configured credentials for the operator, one sentence each: unreadable files, and
/// credentials whose kind does not match their scheme. Reads the files with secrets; sends no requests.
pub fn audit(toolset: &Toolset) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = HashSet::new();
    for operation in &toolset.operations {
        let required = CallCredentials::new(operation, toolset);
        for needed in required.alternatives.iter().flatten() {
            if seen.insert(needed.name.clone()) {
                faults.extend(fault(&required, needed));
            }
        }
    }
    faults
}

fn fault(required: &CallCredentials, needed: &SchemeCredential) -> Option<String> {
    let name = &needed.name;
    let source = match &needed.credential {
        Credential::Fixed(_) if matches!(needed.scheme, SecurityScheme::Unsupported { .. }) => {
            return Some(format!("the security scheme `{name}` is of a kind that cannot be satisfied"));
        }
        Credential::Fixed(source) => source,
        Credential::Client(client) => match TokenRequest::new(required, needed, client) {
            Ok(_) => &client.client_secret,
            Err(unavailable) => return Some(unavailable.detail),
        },
    };
    let SecretSource::File { file } = source else { return None };
    let why = secret_file::read_now(file).err()?;
    Some(format!("the credential of `{name}` cannot be read from `{file}`: {why}"))
}
