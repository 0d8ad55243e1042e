//! Checks of a toolset's credentials before any call.

use std::collections::{BTreeMap, HashSet};

use super::requirement::{CallCredentials, SchemeCredential};
use super::secret_file;
use super::token_request::TokenRequest;
use callwright_openapi::{Credential, SecretSource, SecurityScheme, Toolset};

/// Returns the faults of a toolset's credentials for the operator, one sentence each: required credentials that are
/// missing, unreadable files, and credentials whose kind does not match their scheme. Reads the files with secrets;
/// sends no requests.
pub fn audit(toolset: &Toolset) -> Vec<String> {
    let mut lacking: BTreeMap<String, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    let mut seen = HashSet::new();
    for operation in &toolset.operations {
        let wanted = CallCredentials::of(operation, toolset);
        if wanted.is_lacking() {
            *lacking.entry(wanted.what_is_lacking()).or_default() += 1;
        }
        for needed in wanted.alternatives.iter().flatten() {
            if seen.insert(needed.name.clone()) {
                faults.extend(fault(&wanted, needed));
            }
        }
    }
    lacking
        .into_iter()
        .map(|(lacking, count)| format!("{count} operations require a credential, and {lacking}"))
        .chain(faults)
        .collect()
}

fn fault(wanted: &CallCredentials, needed: &SchemeCredential) -> Option<String> {
    let name = &needed.name;
    let source = match &needed.credential {
        Credential::Fixed(_) if matches!(needed.scheme, SecurityScheme::Unsupported { .. }) => {
            return Some(format!("the security scheme `{name}` is of a kind that cannot be satisfied"));
        }
        Credential::Fixed(source) => source,
        Credential::Client(client) => match TokenRequest::new(wanted, needed, client) {
            Ok(_) => &client.client_secret,
            Err(unavailable) => return Some(unavailable.detail),
        },
    };
    let SecretSource::File { file } = source else { return None };
    let why = secret_file::read_now(file).err()?;
    Some(format!("the credential of `{name}` cannot be read from `{file}`: {why}"))
}
