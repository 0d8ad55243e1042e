//! Credentials that an operator configures for a toolset's API.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use callwright_types::Secret;

/// A credential for one security scheme: `[toolsets.NAME.credentials]` in the configuration.
///
/// In the configuration file it is a string (the secret itself), `{ file = "..." }` (a file that contains the
/// secret), or a table with `client_id` and `client_secret` (OAuth 2 client credentials).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Credential {
    /// The value to send: the key (`apiKey`), `user:password` (HTTP basic) or the token (HTTP bearer, OAuth 2, OpenID
    /// Connect).
    Fixed(SecretSource),
    /// Client credentials with which a token is obtained (RFC 6749 section 4.4).
    Client(Box<ClientCredentials>),
}

/// Source of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SecretSource {
    /// The secret itself, usually substituted from the environment; empty: none.
    Given(Secret),
    /// A file that is read on every use, so that a mounted secret may change at any time.
    File {
        /// Path of the file; relative paths are resolved against the configuration file's folder.
        file: String,
    },
}

/// OAuth 2 client credentials and the parameters of the token request (RFC 6749 sections 2.3.1 and 4.4).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ClientCredentials {
    /// Client identifier.
    pub client_id: String,
    /// Client secret.
    pub client_secret: SecretSource,
    /// URL of the token endpoint; empty: the `tokenUrl` of the document's client credentials flow.
    #[schemars(default)]
    pub token_url: String,
    /// Scopes to request; absent: those that the operation's security requirement names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,
    /// Client authentication method.
    #[schemars(default)]
    pub authentication: ClientAuthentication,
    /// The `audience` parameter that some authorization servers require; empty: not sent.
    #[schemars(default)]
    pub audience: String,
    /// Additional parameters of the token request, such as `resource` (RFC 8707).
    #[schemars(default)]
    pub parameters: BTreeMap<String, String>,
}

/// Client authentication method at the token endpoint. The names are those of the OAuth registry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClientAuthentication {
    /// In the `Authorization` header (RFC 6749 section 2.3.1), which every authorization server supports.
    #[default]
    ClientSecretBasic,
    /// In the request body.
    ClientSecretPost,
}

impl Credential {
    /// Whether a credential is configured. Does not check whether its file is readable or a token can be obtained.
    pub fn is_given(&self) -> bool {
        match self {
            Self::Fixed(source) => source.is_given(),
            Self::Client(client) => !client.client_id.is_empty() && client.client_secret.is_given(),
        }
    }

    /// Returns the paths of the files that the credential names, for resolving relative paths.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let source = match self {
            Self::Fixed(source) => source,
            Self::Client(client) => &mut client.client_secret,
        };
        match source {
            SecretSource::File { file } => Some(file),
            SecretSource::Given(_) => None,
        }
        .into_iter()
    }
}

impl SecretSource {
    /// Whether the source is a file or a secret that is not empty.
    pub fn is_given(&self) -> bool {
        match self {
            Self::Given(secret) => !secret.is_empty(),
            Self::File { .. } => true,
        }
    }
}

impl Default for SecretSource {
    fn default() -> Self {
        Self::Given(Secret::default())
    }
}

impl From<Secret> for Credential {
    fn from(secret: Secret) -> Self {
        Self::Fixed(SecretSource::Given(secret))
    }
}

/// The table form of a secret.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretFileTable {
    file: String,
}

/// The table forms of a credential, distinguished by `file`.
#[derive(Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CredentialTable {
    file: Option<String>,
    client_id: Option<String>,
    client_secret: Option<SecretSource>,
    token_url: Option<String>,
    scopes: Option<Vec<String>>,
    authentication: Option<ClientAuthentication>,
    audience: Option<String>,
    parameters: Option<BTreeMap<String, String>>,
}

impl CredentialTable {
    fn credential(self) -> Result<Credential, &'static str> {
        let Some(file) = self.file.clone() else {
            return Ok(Credential::Client(Box::new(ClientCredentials {
                client_id: self.client_id.ok_or(
                    "a table holds either `file`, or `client_id` and `client_secret` of OAuth 2 client credentials",
                )?,
                client_secret: self.client_secret.ok_or("`client_secret` is missing beside `client_id`")?,
                token_url: self.token_url.unwrap_or_default(),
                scopes: self.scopes,
                authentication: self.authentication.unwrap_or_default(),
                audience: self.audience.unwrap_or_default(),
                parameters: self.parameters.unwrap_or_default(),
            })));
        };
        if (Self { file: None, ..self }) != Self::default() {
            return Err(
                "no other key is allowed beside `file`; `client_secret = { file = \"...\" }` reads a client's secret",
            );
        }
        Ok(Credential::Fixed(SecretSource::File { file }))
    }
}

impl<'de> Deserialize<'de> for Credential {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a secret, `{ file = \"...\" }`, or a table with `client_id` and `client_secret`";
        match deserializer.deserialize_any(SecretOr::<CredentialTable>(expected, PhantomData))? {
            Ok(secret) => Ok(secret.into()),
            Err(table) => table.credential().map_err(D::Error::custom),
        }
    }
}

impl<'de> Deserialize<'de> for SecretSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let either = SecretOr::<SecretFileTable>("a secret or `{ file = \"...\" }`", PhantomData);
        let given = deserializer.deserialize_any(either)?;
        Ok(given.map_or_else(|SecretFileTable { file }| Self::File { file }, Self::Given))
    }
}

/// Reads a secret, or else a table. The text names what is expected.
struct SecretOr<T>(&'static str, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for SecretOr<T> {
    type Value = Result<Secret, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Ok(Secret::new(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Err)
    }
}

impl JsonSchema for Credential {
    fn schema_name() -> Cow<'static, str> {
        "Credential".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let client = generator.subschema_for::<ClientCredentials>();
        json_schema!({ "anyOf": [secret_text(), secret_file(), client] })
    }
}

impl JsonSchema for SecretSource {
    fn schema_name() -> Cow<'static, str> {
        "SecretSource".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [secret_text(), secret_file()] })
    }
}

fn secret_text() -> Schema {
    json_schema!({ "type": "string", "description": "The secret, usually `${NAME}` from the environment." })
}

fn secret_file() -> Schema {
    json_schema!({
        "type": "object",
        "description": "A file that contains the secret.",
        "properties": {
            "file": {
                "type": "string",
                "description": "Path of the file, read on every use; relative paths start at the configuration file.",
            },
        },
        "required": ["file"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: serde_json::Value) -> Result<Credential, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn each_form_is_recognised_by_its_keys() {
        assert_eq!(read(json!("k")).unwrap(), Secret::new("k").into());
        let file = read(json!({"file": "/run/secrets/key"})).unwrap();
        assert_eq!(file, Credential::Fixed(SecretSource::File { file: "/run/secrets/key".into() }));
        let client = read(json!({"client_id": "me", "client_secret": {"file": "s"}, "scopes": [],
            "authentication": "client_secret_post", "parameters": {"resource": "r"}}));
        let Credential::Client(client) = client.unwrap() else { panic!("no client") };
        assert_eq!((client.client_id.as_str(), client.scopes.as_deref()), ("me", Some(&[][..])));
        assert_eq!(client.client_secret, SecretSource::File { file: "s".into() });
        assert_eq!(client.authentication, ClientAuthentication::ClientSecretPost);
    }

    #[test]
    fn an_invalid_credential_is_an_error_without_the_secret() {
        for (value, expected) in [
            (json!({}), "`client_id`"),
            (json!({"client_id": "me"}), "`client_secret` is missing"),
            (json!({"file": "f", "client_id": "me"}), "beside `file`"),
            (json!({"files": "f"}), "unknown field `files`"),
            (json!({"client_id": "me", "client_secret": "canary", "authentication": "basic"}), "unknown variant"),
            (json!(5), "a secret"),
        ] {
            let error = read(value.clone()).unwrap_err();
            assert!(error.contains(expected) && !error.contains("canary"), "{value}: {error}");
        }
    }

    #[test]
    fn a_credential_shows_no_secret() {
        let client = ClientCredentials {
            client_id: "me".into(),
            client_secret: SecretSource::Given(Secret::new("canary")),
            ..ClientCredentials::default()
        };
        for credential in [Secret::new("canary").into(), Credential::Client(Box::new(client))] {
            let text = format!("{credential:?} {}", serde_json::to_string(&credential).unwrap());
            assert!(!text.contains("canary"), "{text}");
        }
    }

    #[test]
    fn an_empty_secret_is_none() {
        assert!(!Credential::from(Secret::new("")).is_given() && Credential::from(Secret::new("k")).is_given());
        assert!(!read(json!({"client_id": "me", "client_secret": ""})).unwrap().is_given());
        assert!(!read(json!({"client_id": "", "client_secret": "s"})).unwrap().is_given());
        assert!(read(json!({"file": "f"})).unwrap().is_given());
    }
}
