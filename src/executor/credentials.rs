//! The credentials of one toolset, in the form that its API wants.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::refusal::{Refusal, refuse};
use super::request::encode;
use crate::catalog::{Location, Operation, SecurityScheme, Toolset};
use crate::domain::Secret;

/// What is added to a request so that the API accepts it. Empty where nothing is asked for or nothing is configured.
#[derive(Default)]
pub(super) struct Credentials {
    headers: Vec<(HeaderName, HeaderValue)>,
    query: Vec<(String, String)>,
    cookies: Vec<(String, String)>,
}

impl Credentials {
    /// The first alternative of the operation's security for which the toolset has every credential.
    ///
    /// # Errors
    /// Where a credential has characters that a header cannot carry.
    pub(super) fn select(operation: &Operation, toolset: &Toolset) -> Result<Self, Refusal> {
        let given = |scheme: &String| toolset.credentials.get(scheme).filter(|secret| !secret.is_empty());
        let mut alternatives = operation.security.iter().filter(|alternative| !alternative.is_empty());
        let Some(schemes) = alternatives.find(|schemes| schemes.iter().all(|scheme| given(scheme).is_some())) else {
            return Ok(Self::default());
        };
        let mut credentials = Self::default();
        for name in schemes {
            if let (Some(scheme), Some(secret)) = (toolset.security_schemes.get(name), given(name)) {
                credentials.add(name, scheme, secret)?;
            }
        }
        Ok(credentials)
    }

    /// Adds the encoded `name=value` pairs of the query; pairs of the same name that arguments made are dropped.
    pub(super) fn add_query(&self, pairs: &mut Vec<String>) {
        add_pairs(&self.query, pairs);
    }

    /// Adds the encoded `name=value` pairs of the cookies; pairs of the same name that arguments made are dropped.
    pub(super) fn add_cookies(&self, pairs: &mut Vec<String>) {
        add_pairs(&self.cookies, pairs);
    }

    /// Sets the header fields, over what arguments may have set.
    pub(super) fn add_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
    }

    fn add(&mut self, name: &str, scheme: &SecurityScheme, secret: &Secret) -> Result<(), Refusal> {
        let key = secret.expose();
        match scheme {
            SecurityScheme::ApiKey { location: Location::Query, name } => {
                self.query.push((name.clone(), key.to_owned()))
            }
            SecurityScheme::ApiKey { location: Location::Cookie, name } => {
                self.cookies.push((name.clone(), key.to_owned()))
            }
            SecurityScheme::ApiKey { location: Location::Header, name: field } => {
                let field = HeaderName::from_bytes(field.as_bytes())
                    .map_err(|_| refuse!("the security scheme `{name}` names no header field"))?;
                self.headers.push((field, field_value(name, key)?));
            }
            SecurityScheme::ApiKey { location: Location::Path, .. } | SecurityScheme::Unsupported { .. } => {
                return Err(refuse!("the security scheme `{name}` is of a kind that cannot be satisfied"));
            }
            SecurityScheme::Basic => {
                self.headers.push((AUTHORIZATION, field_value(name, &format!("Basic {}", STANDARD.encode(key)))?));
            }
            SecurityScheme::Bearer | SecurityScheme::OAuth2 | SecurityScheme::OpenIdConnect => {
                self.headers.push((AUTHORIZATION, field_value(name, &format!("Bearer {key}"))?));
            }
        }
        Ok(())
    }
}

fn add_pairs(parameters: &[(String, String)], pairs: &mut Vec<String>) {
    for (name, value) in parameters {
        let key = format!("{}=", encode(name));
        pairs.retain(|pair| !pair.starts_with(&key));
        pairs.push(format!("{key}{}", encode(value)));
    }
}

/// The value of a header field, marked so that it is never printed nor put into a compression table.
fn field_value(scheme: &str, text: &str) -> Result<HeaderValue, Refusal> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        refuse!("the credential of the security scheme `{scheme}` has characters that a header cannot carry")
    })?;
    value.set_sensitive(true);
    Ok(value)
}
