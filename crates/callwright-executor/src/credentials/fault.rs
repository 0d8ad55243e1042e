//! Did a call fail because of the toolset's own credential?

use super::wanted::Wanted;
use callwright_openapi::{Operation, Toolset};
use callwright_types::Outcome;
use callwright_types::outcome::{ApiAnswer, CredentialFault};

/// Words by which an answer with status 403 says that it is the credential that does not suffice, and not the request.
const AUTHORISATION: [&str; 18] = [
    "access denied",
    "access token",
    "api key",
    "api_key",
    "apikey",
    "credential",
    "insufficient permission",
    "insufficient privilege",
    "insufficient right",
    "_scope",
    "missing scope",
    "insufficient scope",
    "required scope",
    "not authorised",
    "not authorized",
    "permission",
    "unauthorised",
    "unauthorized",
];

/// Bytes of an answer in which they are looked for.
const MAX_READ: usize = 4_000;

/// What is wrong with the toolset's credential, where the call failed because of that: none was to be had, the API refused it (401), or
/// it does not reach far enough (403, RFC 9110 section 15.5.4). An API also says 403 of what its rules forbid to anybody: that is no
/// fault of the credential where the documentation explains it (`is_explained`) and the answer does not speak of authorisation. `None`
/// where the operation asks for no credential.
pub fn fault(
    operation: &Operation,
    toolset: &Toolset,
    outcome: &Outcome,
    is_explained: bool,
) -> Option<CredentialFault> {
    let wanted = Wanted::of(operation, toolset);
    let is_given = !wanted.alternatives.is_empty();
    match outcome {
        Outcome::Unauthorised { .. } if is_given => Some(CredentialFault::Unavailable),
        Outcome::Unauthorised { .. } => Some(CredentialFault::Missing),
        Outcome::Answered(answer) if is_given || !wanted.lacking.is_empty() => {
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
    let text = String::from_utf8_lossy(answer.body.get(..MAX_READ).unwrap_or(&answer.body)).to_lowercase();
    answer.header("www-authenticate").is_some() || AUTHORISATION.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_403_speaks_of_authorisation_in_its_words_or_header() {
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
