//! Credentials as they are sent with one call.

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::token::CallToken;
use super::unavailable::Unavailable;
use crate::refusal::invalid;
use crate::request::{ApiRequest, encode};
use callwright_common::limits::MIN_SECRET_BYTES;
use callwright_openapi::{Location, SecurityScheme};
use callwright_types::outcome::{ApiAnswer, Paging};
use callwright_types::{Refusal, Secret, written_forms};

/// Replacement for a secret in a response.
const HIDDEN: &str = "***";

/// Data that is added to a request so that the API accepts it. Empty if the operation requires no credentials.
#[derive(Default)]
pub(crate) struct Credentials {
    headers: Vec<(HeaderName, HeaderValue)>,
    query: Vec<(String, String)>,
    cookies: Vec<(String, String)>,
    /// Index of the alternative of the operation's security requirements.
    pub(super) alternative: usize,
    /// Whether at least one secret comes from a file, which may have changed since.
    pub(super) from_file: bool,
    /// Requested tokens: scheme, token number, and whether this call requested the token.
    tokens: Vec<(String, u64, bool)>,
    /// The secrets, in every encoding in which a response could repeat them.
    forms: Vec<String>,
}

impl Credentials {
    /// Creates an empty set of credentials for an alternative of the operation's security requirements.
    pub(super) fn for_alternative(alternative: usize) -> Self {
        Self { alternative, ..Self::default() }
    }

    /// Adds the credentials to the request. They replace values that arguments set under the same names.
    ///
    /// # Errors
    /// Fails if the cookies are not a valid header value.
    pub(crate) fn apply(&self, request: &mut ApiRequest) -> Result<(), Refusal> {
        for (name, value) in &self.headers {
            request.headers.insert(name.clone(), value.clone());
        }
        if !self.query.is_empty() {
            let pairs = with_pairs(request.url.query().unwrap_or_default(), '&', &self.query);
            request.url.set_query(Some(&pairs.join("&")));
        }
        if !self.cookies.is_empty() {
            let before = request.headers.get(COOKIE).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let pairs = with_pairs(before, ';', &self.cookies);
            let mut value = HeaderValue::from_str(&pairs.join("; "))
                .map_err(|_| invalid("the cookies contain characters that are invalid in a header"))?;
            value.set_sensitive(true);
            request.headers.insert(COOKIE, value);
        }
        Ok(())
    }

    /// Redacts the secrets in a response that repeats them, as test APIs and some error messages do.
    pub(crate) fn hide_in(&self, answer: &mut ApiAnswer) {
        if self.forms.is_empty() {
            return;
        }
        let Ok(finder) = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&self.forms) else {
            // Not expected for a few short patterns. A response that cannot be searched is withheld.
            answer.body.clear();
            answer.paging = Paging::default();
            answer.truncated = true;
            return;
        };
        let replacements = vec![HIDDEN; self.forms.len()];
        for body in std::iter::once(&mut answer.body).chain(&mut answer.paging.later) {
            if finder.is_match(&body[..]) {
                *body = finder.replace_all_bytes(body, &replacements).into();
            }
        }
        if answer.truncated {
            let cut = self.forms.iter().map(|form| begun_at_end(&answer.body, form.as_bytes())).max().unwrap_or(0);
            answer.body.truncate(answer.body.len() - cut);
        }
        let arguments = answer.paging.next.iter_mut().flat_map(|next| &mut next.arguments);
        for (_, value) in answer.headers.iter_mut().chain(arguments) {
            if finder.is_match(value.as_str()) {
                *value = finder.replace_all(value, &replacements);
            }
        }
    }

    /// Whether a renewal could yield different credentials.
    pub(super) fn may_be_renewed(&self) -> bool {
        self.from_file || self.tokens.iter().any(|(_, _, is_new)| !is_new)
    }

    /// Whether a request with `other` would be identical.
    pub(super) fn sends_the_same_as(&self, other: &Self) -> bool {
        self.headers == other.headers && self.query == other.query && self.cookies == other.cookies
    }

    /// Returns the number of the token that was used for the scheme `name`, unless this call requested it.
    pub(super) fn token_number(&self, name: &str) -> Option<u64> {
        self.tokens.iter().find(|(scheme, _, is_new)| scheme == name && !is_new).map(|(_, number, _)| *number)
    }

    pub(super) fn add_token(&mut self, name: &str, lent: &CallToken) -> Result<(), Unavailable> {
        self.tokens.push((name.to_owned(), lent.number, lent.is_new));
        self.add(name, &SecurityScheme::Bearer, &lent.secret)
    }

    pub(super) fn add(&mut self, name: &str, scheme: &SecurityScheme, secret: &Secret) -> Result<(), Unavailable> {
        let key = secret.expose();
        self.remember(key);
        match scheme {
            SecurityScheme::ApiKey { location: Location::Query, name } => {
                self.query.push((name.clone(), key.to_owned()))
            }
            SecurityScheme::ApiKey { location: Location::Cookie, name } => {
                self.cookies.push((name.clone(), key.to_owned()))
            }
            SecurityScheme::ApiKey { location: Location::Header, name: field } => {
                let field = HeaderName::from_bytes(field.as_bytes()).map_err(|_| {
                    Unavailable::lasting(format!("the security scheme `{name}` has an invalid header field name"))
                })?;
                self.headers.push((field, field_value(name, key)?));
            }
            SecurityScheme::ApiKey { location: Location::Path, .. } | SecurityScheme::Unsupported { .. } => {
                return Err(Unavailable::lasting(format!(
                    "the security scheme `{name}` is of a kind that cannot be satisfied"
                )));
            }
            SecurityScheme::Basic => {
                let encoded = STANDARD.encode(key);
                self.remember(&encoded);
                self.remember(key.split_once(':').map_or("", |(_, password)| password));
                self.headers.push((AUTHORIZATION, field_value(name, &format!("Basic {encoded}"))?));
            }
            SecurityScheme::Bearer | SecurityScheme::OAuth2 { .. } | SecurityScheme::OpenIdConnect => {
                self.headers.push((AUTHORIZATION, field_value(name, &format!("Bearer {key}"))?));
            }
        }
        Ok(())
    }

    fn remember(&mut self, secret: &str) {
        for form in written_forms(secret) {
            if form.len() >= MIN_SECRET_BYTES && !self.forms.contains(&form) {
                self.forms.push(form);
            }
        }
    }
}

/// Returns the `name=value` pairs of `text` with those of `parameters` instead of pairs with the same names.
fn with_pairs(text: &str, separator: char, parameters: &[(String, String)]) -> Vec<String> {
    let mut pairs: Vec<String> =
        text.split(separator).map(str::trim).filter(|pair| !pair.is_empty()).map(str::to_owned).collect();
    for (name, value) in parameters {
        pairs.retain(|pair| {
            let key = pair.split_once('=').map_or(pair.as_str(), |(key, _)| key);
            percent_decode_str(key).decode_utf8_lossy() != *name
        });
        pairs.push(format!("{}={}", encode(name), encode(value)));
    }
    pairs
}

/// Returns the number of bytes at the end of `text` that are a prefix of `form`; short prefixes do not count.
fn begun_at_end(text: &[u8], form: &[u8]) -> usize {
    let longest = form.len().saturating_sub(1).min(text.len());
    (MIN_SECRET_BYTES..=longest)
        .rev()
        .find(|length| text.ends_with(form.get(..*length).unwrap_or_default()))
        .unwrap_or(0)
}

/// Returns the value of a header field, marked as sensitive: it is never logged and never enters an HPACK table.
fn field_value(scheme: &str, text: &str) -> Result<HeaderValue, Unavailable> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        Unavailable::lasting(format!(
            "the credential of the security scheme `{scheme}` contains characters that are invalid in a header"
        ))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;

    fn with(scheme: SecurityScheme, secret: &str) -> Credentials {
        let mut credentials = Credentials::default();
        credentials.add("s", &scheme, &Secret::new(secret)).unwrap();
        credentials
    }

    fn answer(body: &str, truncated: bool) -> ApiAnswer {
        let headers = vec![("link".to_owned(), "</r?key=s3cret%2Fcanary>".to_owned())];
        ApiAnswer { status: 200, headers, body: body.to_owned().into(), truncated, paging: Default::default() }
    }

    #[test]
    fn pairs_of_the_same_name_are_replaced_and_others_stay() {
        let key = |location| SecurityScheme::ApiKey { location, name: "k".into() };
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, HeaderValue::from_static("k=evil; kk=1"));
        let url = "https://a.example.com/r?k=evil&kk=1&k&K=2".parse().unwrap();
        let mut request = ApiRequest { method: Method::GET, url, headers, body: None };
        with(key(Location::Query), "g&d").apply(&mut request).unwrap();
        with(key(Location::Cookie), "g;d").apply(&mut request).unwrap();
        assert_eq!(request.url.query(), Some("kk=1&K=2&k=g%26d"));
        assert_eq!(request.headers[COOKIE], "kk=1; k=g%3Bd");
        assert!(request.headers[COOKIE].is_sensitive());
    }

    #[test]
    fn a_repeated_secret_is_redacted_in_every_form() {
        let secret = "s3cret/canary";
        let credentials = with(SecurityScheme::Bearer, secret);
        let mut echoed =
            answer(r#"{"a":"Bearer s3cret/canary","b":"s3cret\/canary","c":"s3cret%2Fcanary","d":"s3cret"}"#, false);
        credentials.hide_in(&mut echoed);
        assert_eq!(echoed.text(), r#"{"a":"Bearer ***","b":"***","c":"***","d":"s3cret"}"#);
        assert_eq!(echoed.header("link"), Some("</r?key=***>"));

        let mut page = answer("<p>s3cret&amp;&lt;canary&gt;</p>", false);
        with(SecurityScheme::Bearer, "s3cret&<canary>").hide_in(&mut page);
        assert_eq!(page.text(), "<p>***</p>");

        let basic = with(SecurityScheme::Basic, "user:pa55w0rd-long");
        let mut echoed = answer(&format!("{} pa55w0rd-long user", STANDARD.encode("user:pa55w0rd-long")), false);
        basic.hide_in(&mut echoed);
        assert_eq!(echoed.text(), "*** *** user");
    }

    #[test]
    fn a_truncated_secret_is_redacted() {
        let credentials = with(SecurityScheme::Bearer, "s3cret/canary");
        let mut cut = answer("echo s3cret/ca", true);
        credentials.hide_in(&mut cut);
        assert_eq!(cut.text(), "echo ");
    }

    #[test]
    fn a_short_secret_changes_no_answer() {
        let mut untouched = answer("1234567", false);
        with(SecurityScheme::Bearer, "1234567").hide_in(&mut untouched);
        assert_eq!(untouched.text(), "1234567");
    }
}
