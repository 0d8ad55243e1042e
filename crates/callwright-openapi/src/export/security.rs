//! Security schemes and requirements of an exported document.

use std::collections::BTreeSet;

use openapiv3::{
    APIKeyLocation, ClientCredentialsOAuth2Flow, OAuth2Flows, SecurityRequirement, SecurityScheme as ExportedScheme,
};

use crate::binding::Location;
use crate::{Requirement, SecurityScheme, Toolset};

/// Prefix of the kind of an HTTP authentication scheme that is not supported.
const HTTP: &str = "http ";

/// Returns the exported form of a scheme.
pub(super) fn scheme(name: &str, scheme: &SecurityScheme, toolset: &Toolset) -> ExportedScheme {
    match scheme {
        SecurityScheme::ApiKey { location, name } => ExportedScheme::APIKey {
            location: match location {
                Location::Query => APIKeyLocation::Query,
                Location::Cookie => APIKeyLocation::Cookie,
                Location::Header | Location::Path => APIKeyLocation::Header,
            },
            name: name.clone(),
            description: None,
            extensions: Default::default(),
        },
        SecurityScheme::Basic => http("basic"),
        SecurityScheme::Bearer => http("bearer"),
        SecurityScheme::OAuth2 { token_url } => {
            let mut flows = OAuth2Flows::default();
            if let Some(token_url) = token_url {
                let mut flow = ClientCredentialsOAuth2Flow {
                    refresh_url: None,
                    token_url: token_url.clone(),
                    scopes: Default::default(),
                    extensions: Default::default(),
                };
                for scope in scopes(name, toolset) {
                    flow.scopes.insert(scope.to_owned(), String::new());
                }
                flows.client_credentials = Some(flow);
            }
            ExportedScheme::OAuth2 { flows, description: None, extensions: Default::default() }
        }
        SecurityScheme::OpenIdConnect => ExportedScheme::OpenIDConnect {
            open_id_connect_url: "/.well-known/openid-configuration".to_owned(),
            description: None,
            extensions: Default::default(),
        },
        SecurityScheme::Unsupported { kind } => http(kind.strip_prefix(HTTP).unwrap_or(kind)),
    }
}

/// Returns the exported form of security requirements.
pub(super) fn requirements(alternatives: &[Vec<Requirement>]) -> Vec<SecurityRequirement> {
    let mut exported = Vec::with_capacity(alternatives.len());
    for alternative in alternatives {
        let mut requirement = SecurityRequirement::default();
        for Requirement { scheme, scopes } in alternative {
            requirement.insert(scheme.clone(), scopes.clone());
        }
        exported.push(requirement);
    }
    exported
}

fn http(scheme: &str) -> ExportedScheme {
    ExportedScheme::HTTP {
        scheme: scheme.to_owned(),
        bearer_format: None,
        description: None,
        extensions: Default::default(),
    }
}

/// Returns the scopes of the scheme that operations require.
fn scopes<'a>(scheme: &str, toolset: &'a Toolset) -> BTreeSet<&'a str> {
    let mut scopes = BTreeSet::new();
    for required in toolset.operations.iter().flat_map(|operation| &operation.security).flatten() {
        if required.scheme == scheme {
            scopes.extend(required.scopes.iter().map(String::as_str));
        }
    }
    scopes
}
