//! Security schemes and requirements of a toolset's API.

pub(crate) mod credential;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{ApiDocument, LoadNotes, LocatedValue, Location, Version};

/// One security scheme of a document (OpenAPI 3.0.4 and Swagger 2.0, Security Scheme Object).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecurityScheme {
    /// A key in a header, query or cookie parameter.
    ApiKey {
        /// Header, query or cookie.
        location: Location,
        /// The parameter's name on the wire.
        name: String,
    },
    /// `Authorization: Basic` (RFC 7617) with the credential `user:password`.
    Basic,
    /// `Authorization: Bearer` (RFC 6750).
    Bearer,
    /// OAuth 2: a token is sent as with [`SecurityScheme::Bearer`]. It is obtained with client credentials (RFC 6749
    /// section 4.4), or configured by the operator.
    OAuth2 {
        /// Token endpoint of the client credentials flow as written; `None` if the document has no such flow.
        token_url: Option<String>,
    },
    /// OpenID Connect: a token configured by the operator is sent as with [`SecurityScheme::Bearer`].
    OpenIdConnect,
    /// An unsupported scheme. Operations that require it are loaded, and the report mentions it.
    Unsupported {
        /// Description of the scheme: `http digest`, `mutualTLS`.
        kind: String,
    },
}

/// One security scheme that an operation requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Requirement {
    /// The scheme's name.
    pub scheme: String,
    /// Scopes that a token must have; empty for schemes without scopes.
    pub scopes: Vec<String>,
}

impl From<&str> for Requirement {
    fn from(scheme: &str) -> Self {
        Self { scheme: scheme.to_owned(), scopes: Vec::new() }
    }
}

/// Returns the security schemes of a document by name. Reports unsupported schemes in `notes`.
pub(crate) fn schemes(document: &ApiDocument, notes: &mut LoadNotes) -> BTreeMap<String, SecurityScheme> {
    let mut schemes = BTreeMap::new();
    let holders: Vec<LocatedValue<'_>> = definitions(document).collect();
    for (name, entry) in holders.iter().flat_map(LocatedValue::members) {
        let scheme = match entry.follow() {
            Ok(scheme) => scheme_of(&scheme),
            Err(error) => SecurityScheme::Unsupported { kind: error.to_string() },
        };
        if let SecurityScheme::Unsupported { kind } = &scheme {
            notes.remark_at(&entry.at, format_args!("security scheme `{name}` ({kind}) is not supported"));
        }
        schemes.insert(name.clone(), scheme);
    }
    schemes
}

/// Returns the requirements of `operation`: its own, otherwise the document's (OpenAPI 3.0.4, Security Requirement
/// Object).
pub(crate) fn requirements(operation: &LocatedValue<'_>, notes: &mut LoadNotes) -> Vec<Vec<Requirement>> {
    let Some(list) = operation.member("security").or_else(|| operation.document.member("security")) else {
        return Vec::new();
    };
    let defined: Vec<LocatedValue<'_>> = definitions(operation.document).collect();
    let mut alternatives = Vec::new();
    // A single alternative without a list is accepted: otherwise requests would be sent without credentials.
    let alone = list.value.is_object().then(|| list.clone());
    for alternative in list.items().chain(alone) {
        let mut required = Vec::new();
        for (name, scopes) in alternative.members() {
            if defined.iter().all(|schemes| schemes.member(name).is_none()) {
                notes.remark_at(&alternative.at, format_args!("the security scheme `{name}` is not defined"));
            }
            let scopes = scopes.items().filter_map(|scope| Some(scope.value.as_str()?.to_owned())).collect();
            required.push(Requirement { scheme: name.clone(), scopes });
        }
        alternatives.push(required);
    }
    alternatives
}

/// Returns the objects that define security schemes. Documents that were migrated by hand may use the location of the
/// other version.
fn definitions(document: &ApiDocument) -> impl Iterator<Item = LocatedValue<'_>> {
    let components = document.member("components").and_then(|components| components.follow().ok());
    let of_3 = components.and_then(|components| components.member("securitySchemes"));
    let of_2 = document.member("securityDefinitions");
    let ordered = if document.version == Version::V2_0 { [of_3, of_2] } else { [of_2, of_3] };
    // If two schemes have the same name, the later one is used: that of the document's own version.
    ordered.into_iter().flatten().filter_map(|holder| holder.follow().ok())
}

fn scheme_of(scheme: &LocatedValue<'_>) -> SecurityScheme {
    let kind = scheme.text("type").unwrap_or_default();
    let http = scheme.text("scheme").unwrap_or_default();
    match kind.to_ascii_lowercase().as_str() {
        "apikey" => api_key(scheme),
        // Swagger 2.0.
        "basic" => SecurityScheme::Basic,
        // Not in any version of the specification, but unambiguous.
        "bearer" => SecurityScheme::Bearer,
        "http" if http.eq_ignore_ascii_case("basic") => SecurityScheme::Basic,
        "http" if http.eq_ignore_ascii_case("bearer") => SecurityScheme::Bearer,
        "oauth2" => SecurityScheme::OAuth2 { token_url: token_url(scheme) },
        "openidconnect" => SecurityScheme::OpenIdConnect,
        "http" => SecurityScheme::Unsupported { kind: format!("http {http}") },
        "" => SecurityScheme::Unsupported { kind: "no type".to_owned() },
        _ => SecurityScheme::Unsupported { kind: kind.to_owned() },
    }
}

/// The token endpoint of the client credentials flow, which Swagger 2.0 calls `application`.
fn token_url(scheme: &LocatedValue<'_>) -> Option<String> {
    let flow = scheme.member("flows").and_then(|flows| flows.member("clientCredentials"));
    let holder = flow.or_else(|| (scheme.text("flow") == Some("application")).then(|| scheme.clone()))?;
    holder.text("tokenUrl").map(str::to_owned)
}

fn api_key(scheme: &LocatedValue<'_>) -> SecurityScheme {
    let locations = [Location::Header, Location::Query, Location::Cookie];
    let given = scheme.text("in").unwrap_or_default();
    let location = locations.into_iter().find(|location| location.as_str().eq_ignore_ascii_case(given));
    match (location, scheme.text("name")) {
        (Some(location), Some(name)) => SecurityScheme::ApiKey { location, name: name.to_owned() },
        _ => SecurityScheme::Unsupported { kind: "apiKey without `in` or `name`".to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use serde_json::json;

    #[test]
    fn requirements_are_parsed_and_unsatisfiable_ones_are_reported() {
        let root = json!({
            "openapi": "3.0.0",
            "security": [{"key": []}],
            "components": {"securitySchemes": {
                "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
                "user": {"type": "http", "scheme": "Basic"},
                "alias": {"$ref": "#/components/securitySchemes/user"},
                "digest": {"type": "http", "scheme": "digest"},
                "nowhere": {"type": "apiKey", "in": "body", "name": "k"},
                "token": {"type": "oauth2", "flows": {}},
                "machine": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "https://a.example.com/t"}}},
                "older": {"type": "oauth2", "flow": "application", "tokenUrl": "https://b.example.com/t"}
            }},
            "securityDefinitions": {"old": {"type": "APIKEY", "in": "Query", "name": "k"}, "key": {"type": "basic"}},
            "alone": {"security": {"key": []}},
            "open": {"security": []},
            "either": {"security": [{"key": [], "user": []}, {}, {"missing": ["read", 5, "write"]}]}
        });
        let document = ApiDocument::new(root, Path::new("api.json")).unwrap();
        let mut notes = LoadNotes::default();
        let schemes = schemes(&document, &mut notes);
        let key = SecurityScheme::ApiKey { location: Location::Header, name: "X-Key".to_owned() };
        assert_eq!(schemes["key"], key);
        assert_eq!(schemes["alias"], SecurityScheme::Basic);
        let old = SecurityScheme::ApiKey { location: Location::Query, name: "k".to_owned() };
        assert_eq!(schemes["old"], old, "a scheme in the place of another version");
        let tokens_from = |url: Option<&str>| SecurityScheme::OAuth2 { token_url: url.map(str::to_owned) };
        assert_eq!(schemes["token"], tokens_from(None));
        assert_eq!(schemes["machine"], tokens_from(Some("https://a.example.com/t")));
        assert_eq!(schemes["older"], tokens_from(Some("https://b.example.com/t")));
        assert_eq!(schemes["digest"], SecurityScheme::Unsupported { kind: "http digest".to_owned() });
        let mut of = |name: &str| requirements(&document.member(name).unwrap(), &mut notes);
        assert!(of("open").is_empty());
        assert_eq!(of("alone"), [vec!["key".into()]], "an object in place of the list");
        let missing = Requirement { scheme: "missing".to_owned(), scopes: vec!["read".to_owned(), "write".to_owned()] };
        assert_eq!(of("either"), [vec!["key".into(), "user".into()], vec![], vec![missing]]);
        assert_eq!(of("components"), [vec!["key".into()]]);
        assert_eq!(notes.finish().0.len(), 3);
    }
}
