//! Detection of calls that failed because of the toolset's own credential.

use super::requirement::CallCredentials;
use callwright_common::limits::TEXT_LENGTH;
use callwright_openapi::{Operation, Toolset};
use callwright_types::Outcome;
use callwright_types::outcome::{ApiAnswer, CredentialFault};

/// Phrases in a 403 response that indicate an insufficient credential and not a forbidden request.
const AUTHORISATION: [&str; 18] = [
    "access denied", "access token", "api key", "api_key", "apikey", "credential", "insufficient permission",
    "insufficient privilege", "insufficient right", "_scope", "missing scope", "insufficient scope", "required scope",
    "not authorised", "not authorized", "permission", "unauthorised", "unauthorized",
];

/// Returns the fault of the toolset's credential that made the call fail: it was unavailable, the API rejected it
/// (401), or its permissions are insufficient (403, RFC 9110 section 15.5.4).
///
/// An API also responds with 403 if its rules forbid the request to everyone. This is not a credential fault if the
/// documentation explains the status (`is_explained`) and the response does not mention authorisation. Returns `None`
/// if the operation requires no credential.
pub fn fault(
    operation: &Operation,
    toolset: &Toolset,
    outcome: &Outcome,
    is_explained: bool,
) -> Option<CredentialFault> {
    let required = CallCredentials::new(operation, toolset);
    let is_given = !required.alternatives.is_empty();
    match outcome {
        Outcome::Unauthorised { fault, .. } => Some(*fault),
        Outcome::Answered(answer) if is_given || !required.lacking.is_empty() => {
            let refused = match answer.status {
                401 => true,
                403 => !is_explained || speaks_of_authorisation(answer),
                _ => false,
            };
            refused.then_some(if is_given { CredentialFault::Refused } else { CredentialFault::Missing })
        }
        _ => None,
    }
}

fn speaks_of_authorisation(answer: &ApiAnswer) -> bool {
    let text = String::from_utf8_lossy(answer.body.get(..TEXT_LENGTH).unwrap_or(&answer.body)).to_lowercase();
    answer.header("www-authenticate").is_some() || AUTHORISATION.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_403_about_authorization_is_recognised_by_text_or_header() {
        let answer = |body: &str, headers: &[(&str, &str)]| ApiAnswer {
            status: 403,
            headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            body: body.to_owned().into(),
            truncated: false,
            paging: Default::default(),
        };
        assert!(speaks_of_authorisation(&answer(r#"{"error":"Insufficient scope"}"#, &[])));
        assert!(speaks_of_authorisation(&answer("", &[("www-authenticate", "Bearer error=\"insufficient_scope\"")])));
        assert!(!speaks_of_authorisation(&answer(r#"{"error":"The room is closed"}"#, &[])));
        assert!(!speaks_of_authorisation(&answer(&"ä".repeat(5_000), &[])));
    }
}
