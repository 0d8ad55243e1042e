//! Security schemes: how a toolset's API wants to be shown credentials.

use serde::Serialize;

use super::binding::Location;

/// One security scheme of a document (OpenAPI 3.0.4, Security Scheme Object).
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
    /// OAuth 2: a token that the operator obtained is sent as for [`SecurityScheme::Bearer`].
    OAuth2,
    /// OpenID Connect: a token that the operator obtained is sent as for [`SecurityScheme::Bearer`].
    OpenIdConnect,
    /// A scheme that cannot be satisfied; operations that need it are loaded, and the report says so.
    Unsupported {
        /// What the document asks for: `http digest`, `mutualTLS`.
        kind: String,
    },
}
