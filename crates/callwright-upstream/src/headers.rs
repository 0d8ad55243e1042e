//! Headers that are forwarded to the upstream and back.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use super::client_headers::is_of_connection;
use super::echo::Echo;
use super::{BuildError, Settings, client_headers, via};

/// Rules for the headers of requests to one upstream.
#[derive(Debug)]
pub(super) struct HeaderRules {
    /// Configured headers, which replace those of the client.
    configured: HeaderMap,
    forwarded: ForwardedHeaders,
}

/// Headers of clients that are forwarded.
#[derive(Debug)]
enum ForwardedHeaders {
    /// All, with the client's own credential.
    All,
    /// Those of known clients, and these.
    Known(Vec<HeaderName>),
}

impl HeaderRules {
    /// Builds the rules from the configuration.
    pub(super) fn build(upstream: &str, settings: &Settings, is_default: bool) -> Result<Self, BuildError> {
        let mut configured = HeaderMap::new();
        for (name, value) in &settings.headers {
            set(&mut configured, name, value.expose()).map_err(|why| BuildError::setting(upstream, "headers", why))?;
        }
        let bearer = settings.api_key_header.eq_ignore_ascii_case("authorization") && !settings.api_key.is_empty();
        let api_key = format!("{}{}", if bearer { "Bearer " } else { "" }, settings.api_key.expose());
        for (key, name, value) in [
            ("organization", "openai-organization", &settings.organization),
            ("project", "openai-project", &settings.project),
            ("api_key", &settings.api_key_header, &api_key),
        ] {
            set(&mut configured, name, value).map_err(|why| BuildError::setting(upstream, key, why))?;
        }
        let further = client_headers::further(&settings.forward_headers);
        let further = further.map_err(|why| BuildError::setting(upstream, "forward_headers", why))?;
        let forwarded = match is_default && !settings.has_credential() {
            true => ForwardedHeaders::All,
            false => ForwardedHeaders::Known(further),
        };
        Ok(Self { configured, forwarded })
    }

    /// Returns the masking of the configured keys.
    pub(super) fn echo(&self) -> Echo {
        Echo::of(&self.configured)
    }

    /// Returns the headers of a request that the proxy makes: with a JSON body, and a response in identity encoding.
    pub(super) fn of_chat(&self, client: &HeaderMap) -> HeaderMap {
        let mut headers = self.of_forward(client);
        headers.remove(header::CONTENT_LENGTH);
        headers.remove(header::CONTENT_ENCODING);
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers
    }

    /// Returns the headers of a request that is passed through.
    pub(super) fn of_forward(&self, client: &HeaderMap) -> HeaderMap {
        let room = client.len() + self.configured.len() + ADDED_HEADERS;
        let mut headers = match &self.forwarded {
            ForwardedHeaders::All => copied(client, room, |name| {
                !is_of_connection(name.as_str()) && *name != header::HOST && *name != header::EXPECT
            }),
            ForwardedHeaders::Known(further) => {
                copied(client, room, |name| client_headers::is_forwarded(name.as_str()) || further.contains(name))
            }
        };
        for (name, value) in &self.configured {
            headers.insert(name, value.clone());
        }
        via::add(&mut headers);
        headers
    }
}

/// Sets a header to a value that is never logged; an empty value is not set. Returns the reason why it is invalid.
fn set(configured: &mut HeaderMap, name: &str, value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Ok(());
    }
    let name: HeaderName =
        name.parse().map_err(|_| format!("`{name}` is not a header name (RFC 9110, section 5.1)"))?;
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| format!("the value of `{name}` has characters not allowed in a header; check for a line break"))?;
    value.set_sensitive(true);
    configured.insert(name, value);
    Ok(())
}

/// Number of headers that a request receives in addition to the client's and the configured ones: content type,
/// accepted encoding, `Via`, and the host and length that the HTTP client writes.
const ADDED_HEADERS: usize = 5;

/// Returns the headers of a response for the client.
pub(super) fn of_answer(upstream: &HeaderMap, body_is_untouched: bool) -> HeaderMap {
    copied(upstream, upstream.len() + OWN_HEADERS, |name| {
        !is_of_connection(name.as_str()) && (body_is_untouched || *name != header::CONTENT_LENGTH)
    })
}

/// Copies the values. Received ones share the read buffer of their connection, which they keep from reuse.
pub fn detach(headers: &mut HeaderMap) {
    for value in headers.values_mut() {
        // A received value is valid.
        if let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes()) {
            copy.set_sensitive(value.is_sensitive());
            *value = copy;
        }
    }
}

/// Number of the proxy's own headers that a response may receive.
const OWN_HEADERS: usize = 4;

/// Returns the headers that `goes_on` accepts, without those named by `Connection`. `room` is the expected final number,
/// because a map that grows is rehashed.
fn copied(headers: &HeaderMap, room: usize, goes_on: impl Fn(&HeaderName) -> bool) -> HeaderMap {
    let named: Vec<&str> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(str::trim))
        .collect();
    let mut kept = HeaderMap::with_capacity(room);
    for (name, value) in headers {
        if goes_on(name) && !named.iter().any(|named| named.eq_ignore_ascii_case(name.as_str())) {
            kept.append(name, value.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::client_headers::CREDENTIALS;
    use super::*;
    use callwright_types::Secret;

    fn map(headers: &[(&str, &str)]) -> HeaderMap {
        let parse =
            |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap());
        headers.iter().map(parse).collect()
    }

    fn client() -> HeaderMap {
        map(&[
            ("authorization", "Bearer client"),
            ("api-key", "client"),
            ("openai-organization", "client"),
            ("openai-project", "client"),
            ("cookie", "client"),
            ("user-agent", "sdk"),
        ])
    }

    /// Returns these headers with the proxy's `Via`.
    fn via(mut headers: HeaderMap) -> HeaderMap {
        via::add(&mut headers);
        headers
    }

    fn rules(settings: &Settings, is_default: bool) -> HeaderRules {
        HeaderRules::build("u", settings, is_default).unwrap()
    }

    #[test]
    fn without_a_key_the_default_upstream_gets_client_credentials() {
        assert_eq!(rules(&Settings::default(), true).of_forward(&client()), via(client()));
    }

    #[test]
    fn other_upstreams_never_get_the_clients_credentials() {
        let headers = rules(&Settings::default(), false).of_chat(&client());
        assert!(CREDENTIALS.iter().all(|name| !headers.contains_key(*name)), "{headers:?}");
        assert_eq!(headers["user-agent"], "sdk");
    }

    #[test]
    fn a_configured_key_replaces_all_of_the_clients_credentials() {
        let settings = Settings { api_key: Secret::new("sk-own"), project: "p".into(), ..Settings::default() };
        let headers = rules(&settings, true).of_forward(&client());
        assert_eq!(headers["authorization"], "Bearer sk-own");
        assert_eq!(headers["openai-project"], "p");
        assert!(["api-key", "openai-organization", "cookie"].iter().all(|name| !headers.contains_key(*name)));
        assert!(!format!("{headers:?}").contains("sk-own"));
    }

    #[test]
    fn with_a_key_only_known_and_configured_headers_are_forwarded() {
        let sent = map(&[
            ("accept", "application/json"),
            ("x-stainless-lang", "js"),
            ("anthropic-beta", "b"),
            ("anthropic-workspace-id", "w"),
            ("x-team", "blue"),
            ("x-other", "1"),
            ("x-forwarded-for", "10.0.0.1"),
            ("x-amz-security-token", "t"),
            ("connection", "accept"),
        ]);
        let settings = Settings {
            api_key: Secret::new("sk-own"),
            forward_headers: vec!["x-team".to_owned()],
            ..Settings::default()
        };
        let mut headers = rules(&settings, true).of_forward(&sent);
        headers.remove("authorization");
        let expected = map(&[("x-stainless-lang", "js"), ("anthropic-beta", "b"), ("x-team", "blue")]);
        assert_eq!(headers, via(expected));
    }

    #[test]
    fn a_key_may_stand_in_a_header_of_its_own() {
        let settings = Settings { api_key: Secret::new("k"), api_key_header: "api-key".into(), ..Settings::default() };
        let headers = rules(&settings, true).of_forward(&client());
        assert_eq!(headers["api-key"], "k");
        assert!(!headers.contains_key("authorization"));
    }

    #[test]
    fn headers_of_the_connection_and_of_the_proxy_go_no_further() {
        let client = map(&[
            ("connection", "close, X-Secret-Hop"),
            ("connection", "te"),
            ("x-secret-hop", "1"),
            ("keep-alive", "5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("proxy-authorization", "Basic x"),
            ("expect", "100-continue"),
            ("host", "proxy"),
            ("x-callwright-session", "s"),
            ("x-callwright-debug", "true"),
            ("accept-encoding", "br"),
            ("x-custom", "kept"),
            ("x-custom", "twice"),
        ]);
        let headers = rules(&Settings::default(), true).of_forward(&client);
        assert_eq!(headers, via(map(&[("accept-encoding", "br"), ("x-custom", "kept"), ("x-custom", "twice")])));
    }

    #[test]
    fn where_answers_are_judged_they_are_asked_for_unencoded() {
        let client = map(&[
            ("accept-encoding", "gzip, br"),
            ("content-length", "7"),
            ("content-encoding", "gzip"),
            ("content-type", "text/plain"),
        ]);
        let headers = rules(&Settings::default(), true).of_chat(&client);
        assert_eq!(headers, via(map(&[("accept-encoding", "identity"), ("content-type", "application/json")])));
    }

    #[test]
    fn configured_headers_replace_the_clients() {
        let headers = [("User-Agent".to_owned(), Secret::new("own")), ("x-title".to_owned(), Secret::new("t"))].into();
        let rules = rules(&Settings { headers, ..Settings::default() }, true);
        let sent = rules.of_forward(&client());
        assert_eq!(
            (&sent["user-agent"], &sent["x-title"]),
            (&HeaderValue::from_static("own"), &HeaderValue::from_static("t"))
        );
    }

    #[test]
    fn settings_that_make_no_header_are_named_without_their_value() {
        let settings = Settings { api_key: Secret::new("sk-canary\n"), ..Settings::default() };
        let error = HeaderRules::build("u", &settings, true).unwrap_err().to_string();
        assert!(error.starts_with("upstreams.u.api_key: ") && !error.contains("canary"), "{error}");
        let headers = [("no name".to_owned(), Secret::new("x"))].into();
        let error =
            HeaderRules::build("u", &Settings { headers, ..Settings::default() }, true).unwrap_err().to_string();
        assert!(error.starts_with("upstreams.u.headers: `no name`"), "{error}");
    }

    #[test]
    fn an_answer_keeps_what_clients_rely_on() {
        let upstream = map(&[
            ("retry-after", "7"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-request-id", "r"),
            ("content-length", "10"),
            ("connection", "keep-alive"),
        ]);
        let kept = [("retry-after", "7"), ("x-ratelimit-remaining-requests", "0"), ("x-request-id", "r")];
        assert_eq!(of_answer(&upstream, false), map(&kept));
        assert_eq!(of_answer(&upstream, true)["content-length"], "10");
    }
}
