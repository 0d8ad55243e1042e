//! Log lines about unavailable credentials: one per toolset and reason, until a call obtains the credential.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use callwright_common::limits::REMEMBERED;

use super::requirement::CallCredentials;
use super::unavailable::Unavailable;

/// The reasons that were logged.
#[derive(Debug, Default)]
pub(super) struct UnavailableLog {
    /// Names of the schemes of which one is unavailable, by toolset and reason.
    logged: Mutex<HashMap<(String, String), Vec<String>>>,
}

impl UnavailableLog {
    /// Logs that the credentials of an alternative are unavailable, unless this was logged. Returns whether it is
    /// logged.
    pub(super) fn note_unavailable(&self, required: &CallCredentials, alternative: usize, why: &Unavailable) -> bool {
        let key = (required.toolset.clone(), why.detail.clone());
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.contains_key(&key) {
            return false;
        }
        // A reason may hold the answer of a token endpoint. All are forgotten at the bound, and logged again.
        if logged.len() >= REMEMBERED {
            logged.clear();
        }
        logged.insert(key, schemes(required, alternative).map(str::to_owned).collect());
        drop(logged);
        tracing::warn!(
            toolset = required.toolset,
            tool = required.tool,
            "no credential: {}; further calls without it for this reason are not logged until one obtains it",
            why.detail
        );
        true
    }

    /// Forgets the reasons about the credentials of an alternative, which were obtained.
    pub(super) fn note_obtained(&self, required: &CallCredentials, alternative: usize) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        logged.retain(|(toolset, _), unavailable| {
            *toolset != required.toolset
                || !schemes(required, alternative).any(|name| unavailable.iter().any(|other| other == name))
        });
    }
}

fn schemes(required: &CallCredentials, alternative: usize) -> impl Iterator<Item = &str> {
    required.alternatives.get(alternative).into_iter().flatten().map(|needed| needed.name.as_str())
}

#[cfg(test)]
mod tests {
    use callwright_openapi::SecurityScheme;
    use callwright_types::Secret;

    use super::super::requirement::SchemeCredential;
    use super::*;

    fn required(toolset: &str, schemes: &[&str]) -> CallCredentials {
        let needed = |name: &&str| SchemeCredential {
            name: (*name).to_owned(),
            scheme: SecurityScheme::Unsupported { kind: "test".to_owned() },
            credential: Secret::new("secret").into(),
            scopes: Vec::new(),
        };
        let alternatives = schemes.iter().map(|name| vec![needed(name)]).collect();
        CallCredentials { toolset: toolset.to_owned(), alternatives, ..CallCredentials::default() }
    }

    #[test]
    fn a_reason_is_logged_once_until_the_credential_is_obtained() {
        let log = UnavailableLog::default();
        let (shop, other) = (required("shop", &["key", "token"]), required("maps", &["key"]));
        let (lost, busy) = (Unavailable::lasting("the file is gone"), Unavailable::passing("the endpoint is busy"));
        assert!(log.note_unavailable(&shop, 0, &lost));
        assert!(!log.note_unavailable(&shop, 0, &lost), "once");
        assert!(log.note_unavailable(&shop, 0, &busy), "another reason");
        assert!(log.note_unavailable(&other, 0, &lost), "another toolset");
        log.note_obtained(&shop, 1);
        assert!(!log.note_unavailable(&shop, 0, &lost), "another credential was obtained");
        log.note_obtained(&required("shop", &["key"]), 0);
        assert!(log.note_unavailable(&shop, 0, &lost) && log.note_unavailable(&shop, 0, &busy));
        assert!(!log.note_unavailable(&other, 0, &lost));
    }

    #[test]
    fn the_number_of_remembered_reasons_is_bounded() {
        let log = UnavailableLog::default();
        let shop = required("shop", &["key"]);
        for number in 0..=REMEMBERED {
            assert!(log.note_unavailable(&shop, 0, &Unavailable::passing(number.to_string())));
        }
        assert_eq!(log.logged.lock().unwrap().len(), 1);
    }
}
