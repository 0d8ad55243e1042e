//! Request to a token endpoint (RFC 6749 section 4.4.2).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::requirement::{CallCredentials, SchemeCredential};
use super::unavailable::Unavailable;
use crate::request::ApiRequest;
use callwright_common::digest::of_parts;
use callwright_openapi::{ClientAuthentication, ClientCredentials, SecurityScheme};
use callwright_types::Secret;

/// A token request without the client secret.
#[derive(Debug, Clone)]
pub(super) struct TokenRequest<'a> {
    /// Identifies the token and the client that requests it.
    pub(super) key: TokenKey,
    /// The name of the scheme.
    pub(super) scheme: &'a str,
    pub(super) client: &'a ClientCredentials,
}

/// Identity of a token. A token that was issued for one key is never used for another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TokenKey {
    toolset: String,
    scheme: String,
    pub(super) endpoint: Url,
    client_id: String,
    audience: String,
    scopes: Vec<String>,
}

impl<'a> TokenRequest<'a> {
    /// # Errors
    /// Fails if the scheme does not use tokens, or if the token endpoint is not configured.
    pub(super) fn new(
        required: &CallCredentials,
        needed: &'a SchemeCredential,
        client: &'a ClientCredentials,
    ) -> Result<Self, Unavailable> {
        let mut scopes = client.scopes.clone().unwrap_or_else(|| needed.scopes.clone());
        scopes.sort_unstable();
        scopes.dedup();
        let key = TokenKey {
            toolset: required.toolset.clone(),
            scheme: needed.name.clone(),
            endpoint: endpoint(required, needed, client)?,
            client_id: client.client_id.clone(),
            audience: client.audience.clone(),
            scopes,
        };
        Ok(Self { key, scheme: &needed.name, client })
    }

    /// Returns the token's name outside of this process: a hash of all properties of the request. Another process may
    /// use other parameters for the same key.
    pub(super) fn name(&self) -> String {
        let TokenKey { toolset, scheme, endpoint, client_id, audience, scopes } = &self.key;
        let parts = [toolset, scheme, endpoint.as_str(), client_id, audience, &scopes.join(" ")].map(str::to_owned);
        let parameters = self.client.parameters.iter().flat_map(|(name, value)| [name.clone(), value.clone()]);
        of_parts(parts.into_iter().chain(parameters))
    }

    /// Builds the request with the client secret.
    pub(super) fn with_secret(&self, secret: &Secret) -> Result<ApiRequest, Unavailable> {
        let client = self.client;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if !self.key.scopes.is_empty() {
            form.append_pair("scope", &self.key.scopes.join(" "));
        }
        if !client.audience.is_empty() {
            form.append_pair("audience", &client.audience);
        }
        form.extend_pairs(&client.parameters);
        match client.authentication {
            ClientAuthentication::ClientSecretBasic => {
                headers.insert(AUTHORIZATION, basic(&client.client_id, secret)?);
            }
            ClientAuthentication::ClientSecretPost => {
                form.append_pair("client_id", &client.client_id).append_pair("client_secret", secret.expose());
            }
        }
        Ok(ApiRequest {
            method: Method::POST,
            url: self.key.endpoint.clone(),
            headers,
            body: Some(Bytes::from(form.finish())),
        })
    }
}

/// Builds the Basic credentials; both parts are form-encoded first (RFC 6749 section 2.3.1).
fn basic(client_id: &str, secret: &Secret) -> Result<HeaderValue, Unavailable> {
    let [client_id, secret] =
        [client_id, secret.expose()].map(|part| byte_serialize(part.as_bytes()).collect::<String>());
    let pair = format!("{client_id}:{secret}");
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
        .map_err(|_| Unavailable::lasting("the client secret cannot be encoded in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the operator's token endpoint, or else the document's. A relative URL is resolved against the API's
/// server.
fn endpoint(
    required: &CallCredentials,
    needed: &SchemeCredential,
    client: &ClientCredentials,
) -> Result<Url, Unavailable> {
    let name = &needed.name;
    let documented = match &needed.scheme {
        SecurityScheme::OAuth2 { token_url } => token_url.as_deref(),
        SecurityScheme::OpenIdConnect | SecurityScheme::Bearer => None,
        _ => {
            return Err(Unavailable::lasting(format!(
                "the security scheme `{name}` takes no token, so client credentials do not apply to it; configure the secret itself"
            )));
        }
    };
    let written = Some(client.token_url.as_str()).filter(|url| !url.is_empty()).or(documented);
    let Some(written) = written else {
        let lacks = match needed.scheme {
            SecurityScheme::OpenIdConnect => "is of type OpenID Connect, whose discovery is not supported",
            SecurityScheme::Bearer => "is a plain bearer scheme, which has no token endpoint",
            _ => "has no client credentials flow in the document",
        };
        return Err(Unavailable::lasting(format!(
            "the security scheme `{name}` {lacks}; set `token_url` next to `client_id`, or configure a token"
        )));
    };
    let parsed = match (Url::parse(written), &required.server) {
        (Err(url::ParseError::RelativeUrlWithoutBase), Some(server)) => server.join(written),
        (parsed, _) => parsed,
    };
    parsed.ok().filter(is_http_url).ok_or_else(|| {
        Unavailable::lasting(format!("the token endpoint of `{name}` is not an http or https URL; set `token_url`"))
    })
}

/// Whether the URL is an http or https URL without user information.
fn is_http_url(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host() && url.username().is_empty() && url.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_openapi::Credential;

    fn required() -> CallCredentials {
        CallCredentials { server: Some("https://api.example.com/v1/".parse().unwrap()), ..CallCredentials::default() }
    }

    fn needed(scheme: SecurityScheme) -> SchemeCredential {
        let credential = Credential::from(Secret::default());
        SchemeCredential { name: "auth".into(), scheme, credential, scopes: vec!["b".into(), "a".into(), "b".into()] }
    }

    fn oauth(token_url: Option<&str>) -> SecurityScheme {
        SecurityScheme::OAuth2 { token_url: token_url.map(str::to_owned) }
    }

    fn client(token_url: &str) -> ClientCredentials {
        ClientCredentials { client_id: "a b".into(), token_url: token_url.into(), ..ClientCredentials::default() }
    }

    fn sent(client: &ClientCredentials) -> (HeaderMap, String) {
        let needed = needed(oauth(Some("https://auth.example.com/token")));
        let request =
            TokenRequest::new(&required(), &needed, client).unwrap().with_secret(&Secret::new("s:&ü")).unwrap();
        (request.headers, String::from_utf8(request.body.unwrap().to_vec()).unwrap())
    }

    #[test]
    fn the_secret_is_sent_in_the_header_or_in_the_body() {
        let (headers, body) = sent(&client(""));
        let basic = headers[AUTHORIZATION].to_str().unwrap().strip_prefix("Basic ").unwrap();
        assert_eq!(STANDARD.decode(basic).unwrap(), b"a+b:s%3A%26%C3%BC");
        assert!(headers[AUTHORIZATION].is_sensitive());
        assert_eq!(body, "grant_type=client_credentials&scope=a+b");
        let mut posted = client("");
        posted.authentication = ClientAuthentication::ClientSecretPost;
        posted.audience = "https://api.example.com".into();
        posted.scopes = Some(Vec::new());
        posted.parameters.insert("resource".into(), "r&1".into());
        let (headers, body) = sent(&posted);
        assert!(!headers.contains_key(AUTHORIZATION));
        assert_eq!(
            body,
            "grant_type=client_credentials&audience=https%3A%2F%2Fapi.example.com&resource=r%261&client_id=a+b&client_secret=s%3A%26%C3%BC"
        );
    }

    #[test]
    fn the_configured_endpoint_wins_and_a_relative_one_is_resolved() {
        let endpoint = |scheme, token_url: &str| {
            endpoint(&required(), &needed(scheme), &client(token_url)).map(String::from).map_err(|why| why.detail)
        };
        assert_eq!(
            endpoint(oauth(Some("https://a.example.com/t")), "https://b.example.com/t").unwrap(),
            "https://b.example.com/t"
        );
        assert_eq!(endpoint(oauth(Some("/oauth/token")), "").unwrap(), "https://api.example.com/oauth/token");
        assert_eq!(
            endpoint(SecurityScheme::OpenIdConnect, "https://b.example.com/t").unwrap(),
            "https://b.example.com/t"
        );
        assert!(endpoint(SecurityScheme::OpenIdConnect, "").unwrap_err().contains("OpenID Connect"));
        assert!(endpoint(oauth(None), "").unwrap_err().contains("client credentials flow"));
        assert!(endpoint(SecurityScheme::Basic, "https://b.example.com/t").unwrap_err().contains("takes no token"));
        for bad in ["ftp://a.example.com", "https://u:p@a.example.com/", "file:///etc/passwd", "https://"] {
            assert!(endpoint(oauth(Some(bad)), "").is_err(), "{bad}");
        }
    }
}
