//! Documented conventions for parameters that belong to the transport or to authentication, as one table.
//!
//! An entry applies to a parameter by its name, its location and a condition that makes the convention evident. Each
//! entry names its source. `docs/openapi.md` repeats the table for operators; a test compares both.

use crate::Location;
use crate::tool::text::is_among;

/// Parameters that models are not offered, by convention.
#[derive(Debug)]
pub(super) struct Convention {
    /// Name of the convention in reports and in the documentation.
    pub(super) name: &'static str,
    /// Public document that defines the parameters.
    pub(super) source: &'static str,
    /// Names of the parameters, in lower case, separated by spaces.
    pub(super) names: &'static str,
    pub(super) locations: &'static [Location],
    pub(super) condition: Condition,
    /// The names that are keys: the operator configures them, under the name of the parameter if the document has no
    /// security scheme for it. The others are set by the client, are covered by a security scheme, or have no effect
    /// on the result.
    pub(super) keys: &'static str,
}

/// Evidence that a document uses a convention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// The name suffices.
    Name,
    /// The parameter is optional. A required one may have no other source than the model.
    Optional,
    /// The operation has at least this number of the convention's parameters: single names are ambiguous.
    Together(usize),
    /// The parameter's description contains this term, in any case and with any separators.
    Mentions(&'static str),
    /// Every security requirement of the operation includes a token scheme.
    TokenRequired,
}

const QUERY: &[Location] = &[Location::Query];
const HEADER: &[Location] = &[Location::Header];
const QUERY_AND_HEADER: &[Location] = &[Location::Query, Location::Header];

/// Names under which API keys are sent.
const API_KEYS: &str = "access-token api-key api_key apikey api-token api_token apitoken ocp-apim-subscription-key \
    subscription-key app-key app-token app_key app_token auth-token auth_token authtoken x-access-token x-api-key \
    x-api-token x-apikey x-app-key x-app-token x-auth-token";

pub(super) const CONVENTIONS: &[Convention] = &[
    Convention {
        name: "AWS Signature Version 4",
        source: "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-authentication-methods.html",
        names: "x-amz-algorithm x-amz-content-sha256 x-amz-credential x-amz-date x-amz-security-token \
            x-amz-signature x-amz-signedheaders",
        locations: QUERY_AND_HEADER,
        condition: Condition::Name,
        keys: "",
    },
    Convention {
        name: "AWS Signature Version 2",
        source: "https://docs.aws.amazon.com/general/latest/gr/signature-version-2.html",
        names: "awsaccesskeyid securitytoken signature signaturemethod signatureversion timestamp",
        locations: QUERY,
        condition: Condition::Together(3),
        keys: "",
    },
    Convention {
        name: "Google system parameters",
        source: "https://cloud.google.com/apis/docs/system-parameters",
        names: "$.xgafv alt callback pp prettyprint quotauser upload_protocol uploadtype userip access_token \
            bearer_token key oauth_token",
        locations: QUERY,
        condition: Condition::Together(4),
        keys: "key",
    },
    Convention {
        name: "OAuth 1.0 protocol parameters",
        source: "https://www.rfc-editor.org/rfc/rfc5849#section-3.1",
        names: "oauth_consumer_key oauth_nonce oauth_signature oauth_signature_method oauth_timestamp oauth_token \
            oauth_version",
        locations: QUERY_AND_HEADER,
        condition: Condition::Together(3),
        keys: "",
    },
    Convention {
        name: "Bearer tokens as parameters",
        source: "https://www.rfc-editor.org/rfc/rfc6750#section-2",
        names: "access_token bearer_token oauth_token",
        locations: QUERY,
        condition: Condition::TokenRequired,
        keys: "",
    },
    Convention {
        name: "API keys",
        source: "https://swagger.io/docs/specification/v3_0/authentication/api-keys/",
        names: API_KEYS,
        locations: &[Location::Query, Location::Header, Location::Cookie],
        condition: Condition::Name,
        keys: API_KEYS,
    },
    Convention {
        name: "API keys named key",
        source: "https://swagger.io/docs/specification/v3_0/authentication/api-keys/",
        names: "key",
        locations: QUERY,
        condition: Condition::Mentions("apikey"),
        keys: "key",
    },
    Convention {
        name: "HTTP fields that the client sets",
        source: "https://www.rfc-editor.org/rfc/rfc9110 and https://www.rfc-editor.org/rfc/rfc9112",
        names: "accept-charset accept-encoding connection content-length expect host keep-alive \
            proxy-authorization proxy-connection te trailer transfer-encoding upgrade user-agent via",
        locations: HEADER,
        condition: Condition::Name,
        keys: "",
    },
    Convention {
        name: "Trace context",
        source: "https://www.w3.org/TR/trace-context/ and https://github.com/openzipkin/b3-propagation",
        names: "b3 baggage traceparent tracestate x-b3-flags x-b3-parentspanid x-b3-sampled x-b3-spanid \
            x-b3-traceid",
        locations: HEADER,
        condition: Condition::Optional,
        keys: "",
    },
    Convention {
        name: "Request ids",
        source: "https://github.com/microsoft/api-guidelines/blob/vNext/azure/Guidelines.md and \
                 https://http.dev/x-request-id",
        names: "client-request-id return-client-request-id x-correlation-id x-ms-client-request-id \
            x-ms-correlation-request-id x-ms-return-client-request-id x-request-id",
        locations: HEADER,
        condition: Condition::Optional,
        keys: "",
    },
    Convention {
        name: "JSON-P",
        source: "https://en.wikipedia.org/wiki/JSONP",
        names: "$callback callback jsonp",
        locations: QUERY,
        condition: Condition::Mentions("jsonp"),
        keys: "",
    },
    Convention {
        name: "Pretty printing",
        source: "https://kubernetes.io/docs/reference/kubernetes-api/common-parameters/common-parameters/ and \
                 https://www.elastic.co/guide/en/elasticsearch/reference/current/common-options.html",
        names: "pretty pretty_print prettyprint",
        locations: QUERY,
        condition: Condition::Optional,
        keys: "",
    },
];

impl Convention {
    /// Whether `name` (in lower case) in `location` is one of the convention's parameters.
    pub(super) fn has(&self, name: &str, location: Location) -> bool {
        self.locations.contains(&location) && is_among(self.names, name)
    }
}
