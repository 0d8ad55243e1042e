//! Checks of each request before routing: host, origin, loops, path, and WebSocket upgrades.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, CACHE_CONTROL, CONNECTION, ORIGIN, UPGRADE, VARY,
};
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, Version};
use axum::response::Response;
use hyper::ext::Protocol;
use tower::Service;

use super::browser::{HostFault, HostRules, Initiator, OriginRules};
use super::path::{self, PathFault};
use super::{Settings, error};
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{Endpoint, Label, Listener, RequestRefusal};
use callwright_types::Protocol as Wire;
use callwright_upstream as upstream;

/// Checks the requests of one listener before routing.
#[derive(Debug)]
pub struct RequestGuard {
    listener: Listener,
    /// `None` if every request needs a credential: a page that rebinds a name has none to send.
    hosts: Option<HostRules>,
    origins: OriginRules,
    metrics: Arc<Metrics>,
}

impl RequestGuard {
    /// Creates the guard of the client listener, which is bound to this address.
    pub fn of_clients(settings: &Settings, are_keys_required: bool, bound: IpAddr, metrics: Arc<Metrics>) -> Self {
        let is_open = !settings.requires_client_credential(are_keys_required);
        Self {
            listener: Listener::Client,
            hosts: is_open.then(|| HostRules::new(&settings.hosts, bound)),
            origins: OriginRules::new(&settings.allowed_origins, settings.tls.is_on(), false),
            metrics,
        }
    }

    /// Creates the guard of the operator listener, which is bound to this address. It serves no page but its own
    /// console.
    pub fn of_operators(settings: &Settings, bound: IpAddr, metrics: Arc<Metrics>) -> Self {
        let is_open = !settings.requires_operator_credential();
        Self {
            listener: Listener::Operator,
            hosts: is_open.then(|| HostRules::new(&settings.hosts, bound)),
            origins: OriginRules::new(&[], settings.operator_tls.is_on(), true),
            metrics,
        }
    }

    /// Wraps a router with the guard; its routes see only normalised paths.
    pub(super) fn before(self, router: Router) -> GuardedRouter {
        GuardedRouter { guard: Arc::new(self), router }
    }

    /// Checks a request, and normalises its path.
    fn examine(&self, parts: &mut Parts) -> Result<Initiator, GuardRefusal> {
        if let Some(hosts) = &self.hosts {
            hosts.check(parts).map_err(GuardRefusal::Host)?;
        }
        let initiator = self.origins.initiator(parts);
        if initiator == Initiator::Foreign {
            return Err(GuardRefusal::Origin(self.listener));
        }
        if upstream::is_own_request(&parts.headers) {
            return Err(GuardRefusal::Loop);
        }
        let is_web_socket = is_web_socket(parts);
        let target = match path::normalise(parts.uri.path()) {
            // A WebSocket is refused as such whatever its path is.
            Err(_) if is_web_socket => return Err(GuardRefusal::WebSocket),
            normal => path::canonical(normal.map_err(GuardRefusal::Path)?),
        };
        if is_web_socket {
            return Err(match self.listener {
                Listener::Client if path::is_responses(&target) => GuardRefusal::ResponsesWebSocket(parts.version),
                _ => GuardRefusal::WebSocket,
            });
        }
        if self.listener == Listener::Client
            && target.starts_with("/v1/")
            && let Some(meant) = path::disguised_turn(&target)
        {
            return Err(GuardRefusal::Disguise { path: target.into_owned(), meant });
        }
        if let Some(uri) = rewritten(&parts.uri, target).map_err(GuardRefusal::Path)? {
            parts.uri = uri;
        }
        Ok(initiator)
    }

    fn count(&self, refusal: &GuardRefusal, status: StatusCode) {
        self.metrics.requests_refused.inc(self.listener, refusal.reason());
        if self.listener == Listener::Client {
            self.metrics.requests.inc(Endpoint::Other, status.as_u16());
        }
    }
}

/// A listener's router behind its guard. Not a layer of the router, because a layer around all routes is a router of its
/// own, which boxes every request and response several times.
#[derive(Debug, Clone)]
pub struct GuardedRouter {
    guard: Arc<RequestGuard>,
    router: Router,
}

impl GuardedRouter {
    pub(super) async fn respond(self, request: Request) -> Response {
        let is_messages = self.guard.listener == Listener::Client && path::is_messages(request.uri().path());
        let response = self.checked(request).await;
        if is_messages { error::in_form(Wire::Messages, response) } else { response }
    }

    async fn checked(self, request: Request) -> Response {
        let Self { guard, mut router } = self;
        let (mut parts, body) = request.into_parts();
        let initiator = match guard.examine(&mut parts) {
            Ok(initiator) => initiator,
            Err(refusal) => {
                let mut response = refusal.response();
                response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                guard.count(&refusal, response.status());
                return response;
            }
        };
        let origin = parts.headers.get(ORIGIN).filter(|_| initiator == Initiator::Allowed).cloned();
        let mut response = if origin.is_some() && is_preflight(&parts) {
            preflight(&parts.headers)
        } else {
            let Ok(response) = router.call(Request::from_parts(parts, body)).await;
            response
        };
        if let Some(origin) = origin {
            share(response.headers_mut(), origin);
        }
        response
    }
}

/// Reason why a request is refused.
#[derive(Debug)]
enum GuardRefusal {
    Host(HostFault),
    Origin(Listener),
    /// The proxy sent the request itself.
    Loop,
    WebSocket,
    /// A WebSocket at the endpoint of Responses, whose clients can send the same request over HTTP.
    ResponsesWebSocket(Version),
    Path(PathFault),
    /// The path could be read as that of an endpoint of turns.
    Disguise {
        path: String,
        meant: &'static str,
    },
}

/// Error code of a refused WebSocket.
const UPGRADE_NOT_SUPPORTED: &str = "upgrade_not_supported";

impl GuardRefusal {
    fn reason(&self) -> RequestRefusal {
        match self {
            Self::Host(_) => RequestRefusal::Host,
            Self::Origin(_) => RequestRefusal::Origin,
            Self::Loop => RequestRefusal::Loop,
            Self::WebSocket | Self::ResponsesWebSocket(_) => RequestRefusal::Upgrade,
            Self::Path(_) | Self::Disguise { .. } => RequestRefusal::Path,
        }
    }

    fn response(&self) -> Response {
        let (status, message, code) = match self {
            Self::Host(HostFault::Invalid) => {
                (StatusCode::BAD_REQUEST, "a request needs one valid `Host` field".to_owned(), "invalid_host")
            }
            // RFC 9110, section 15.5.20: the server does not serve the request's authority.
            Self::Host(HostFault::Foreign(host)) => {
                // No DNS name has more characters.
                let shown: String = host.chars().take(253).collect();
                let message = format!(
                    "the host `{shown}` is not served: without required credentials this listener serves `localhost`, its own addresses and \
                     the names in `server.hosts`; add the name there if it belongs to the proxy"
                );
                (StatusCode::MISDIRECTED_REQUEST, message, "host_not_allowed")
            }
            Self::Origin(listener) => {
                let key = match listener {
                    Listener::Client => "add the page's origin to `server.allowed_origins` if it may use the proxy",
                    Listener::Operator => {
                        "open the console at this listener's own address; `server.allowed_origins` applies to the client listener only"
                    }
                };
                let message =
                    format!("a web page of another origin made this request ({} side): {key}", listener.label());
                (StatusCode::FORBIDDEN, message, "origin_not_allowed")
            }
            // RFC 5842, section 7.2. A retry, which SDKs make after a 5xx status, would loop again.
            Self::Loop => {
                let message = "the proxy received its own request: the `base_url` of an upstream is an address of this proxy; set \
                               `upstreams.NAME.base_url`, or CALLWRIGHT_UPSTREAM_URL where OPENAI_BASE_URL names the proxy, to the address \
                               of the provider";
                let mut response = error::invalid_request(StatusCode::LOOP_DETECTED, message, "loop_detected");
                upstream::forbid_retry(response.headers_mut());
                return response;
            }
            Self::WebSocket => {
                let message = "WebSocket connections are not proxied; use HTTP requests, with `stream: true` for streaming, or connect to \
                               the provider directly";
                (StatusCode::NOT_IMPLEMENTED, message.to_owned(), UPGRADE_NOT_SUPPORTED)
            }
            // Codex sends its requests over HTTP at once after 426, and repeats the handshake for seconds after any other
            // status. RFC 9110, section 15.5.22, means 426 for other cases: the server requires another protocol, which
            // `Upgrade` names. Here that is HTTP itself; HTTP/2 has no such field (RFC 9113, section 8.2.2).
            Self::ResponsesWebSocket(version) => {
                let message = "the proxy serves Responses without WebSockets; send the request with POST, and `stream: true` for streaming";
                let mut response = error::invalid_request(StatusCode::UPGRADE_REQUIRED, message, UPGRADE_NOT_SUPPORTED);
                if *version < Version::HTTP_2 {
                    response.headers_mut().insert(UPGRADE, HeaderValue::from_static("HTTP/1.1"));
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
                }
                return response;
            }
            Self::Path(fault) => {
                let message = format!("the request path is refused: {fault}; send the path as in the API reference");
                (StatusCode::BAD_REQUEST, message, "invalid_path")
            }
            Self::Disguise { path, meant } => {
                let message = format!("unknown request URL: {path}; did you mean `{meant}`?");
                (StatusCode::NOT_FOUND, message, "unknown_url")
            }
        };
        error::invalid_request(status, message, code)
    }
}

/// Whether a request opens a WebSocket: by `Upgrade` of HTTP/1.1 (RFC 6455) or extended CONNECT of HTTP/2 (RFC 8441).
fn is_web_socket(parts: &Parts) -> bool {
    let upgrades = parts.headers.get_all(UPGRADE).iter().filter_map(|value| value.to_str().ok());
    parts.extensions.get::<Protocol>().is_some()
        || upgrades.flat_map(|value| value.split(',')).any(|name| name.trim().eq_ignore_ascii_case("websocket"))
}

/// Returns the URI with the path `target`; `None` if it has that path already.
fn rewritten(uri: &Uri, target: Cow<'_, str>) -> Result<Option<Uri>, PathFault> {
    if *target == *uri.path() {
        return Ok(None);
    }
    let text = match uri.query() {
        Some(query) => format!("{target}?{query}"),
        None => target.into_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(text).map_err(|_| PathFault::Escape)?);
    Uri::from_parts(parts).map(Some).map_err(|_| PathFault::Escape)
}

/// Seconds for which a browser caches a preflight response.
const PREFLIGHT_SECONDS: HeaderValue = HeaderValue::from_static("600");

/// Whether a request is a CORS preflight (<https://fetch.spec.whatwg.org/#cors-preflight-request>).
fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS && parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}

/// Allows the method and header fields that an allowed origin requests: the request itself is checked like any other.
fn preflight(asked: &HeaderMap) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    for (field, answer) in [
        (ACCESS_CONTROL_REQUEST_METHOD, ACCESS_CONTROL_ALLOW_METHODS),
        (ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_ALLOW_HEADERS),
    ] {
        if let Some(value) = asked.get(field) {
            headers.insert(answer, value.clone());
        }
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, PREFLIGHT_SECONDS);
    response
}

/// Adds the CORS header fields that let an allowed origin read the response, without credentials such as cookies.
fn share(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
    headers.append(VARY, HeaderValue::from_static("origin"));
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::routing::any;
    use http_body_util::BodyExt;

    use super::*;

    /// Returns a router that responds with the request target, behind the guard of open listeners on loopback.
    fn guarded(listener: Listener, metrics: &Arc<Metrics>) -> GuardedRouter {
        let settings = Settings { allowed_origins: vec!["https://chat.example".to_owned()], ..Settings::default() };
        let bound = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let guard = match listener {
            Listener::Client => RequestGuard::of_clients(&settings, false, bound, metrics.clone()),
            Listener::Operator => RequestGuard::of_operators(&settings, bound, metrics.clone()),
        };
        guard.before(Router::new().fallback(any(|uri: Uri| async move { uri.to_string() })))
    }

    async fn answer(request: Request) -> (StatusCode, HeaderMap, String) {
        let response = guarded(Listener::Client, &Arc::default()).respond(request).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (parts.status, parts.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    fn request(method: Method, target: &str, fields: &[(&str, &str)]) -> Request {
        let request = Request::builder().method(method).uri(target).header("host", "localhost");
        let request = fields.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.body(Body::empty()).unwrap()
    }

    #[tokio::test]
    async fn routes_see_the_normal_path_and_the_query_as_it_came() {
        let (status, _, seen) = answer(request(Method::GET, "/openai/v1//files/%61%c3%a9/?a=%2f..//&b", &[])).await;
        assert_eq!((status, seen.as_str()), (StatusCode::OK, "/v1/files/a%C3%A9?a=%2f..//&b"));
        let (status, _, seen) = answer(request(Method::GET, "http://localhost/v1/./models", &[])).await;
        assert_eq!((status, seen.as_str()), (StatusCode::OK, "http://localhost/v1/models"));
    }

    #[tokio::test]
    async fn an_extended_connect_is_answered_with_501() {
        let mut web_socket = request(Method::CONNECT, "https://localhost/v1/realtime", &[]);
        web_socket.extensions_mut().insert(Protocol::from_static("websocket"));
        let (status, _, body) = answer(web_socket).await;
        assert_eq!(status, StatusCode::NOT_IMPLEMENTED);
        assert!(body.contains("upgrade_not_supported"), "{body}");
    }

    #[tokio::test]
    async fn a_web_socket_of_responses_is_answered_with_426() {
        let upgrade = [("upgrade", "websocket"), ("connection", "upgrade")];
        for (target, expected) in [
            ("/v1/responses", 426),
            ("/v1//responses/", 426),
            ("/responses", 426),
            ("/openai/v1/responses?model=m", 426),
            ("/v1/responses/resp_1", 426),
            ("/v1/responses2", 501),
            ("/v1/Responses", 501),
            ("/v1/realtime", 501),
            ("/v1/../responses", 501),
        ] {
            let (status, headers, body) = answer(request(Method::GET, target, &upgrade)).await;
            assert_eq!(status.as_u16(), expected, "{target}");
            let error: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(error["error"]["code"], "upgrade_not_supported", "{target}");
            assert_eq!(headers.contains_key(UPGRADE), expected == 426, "{target}");
        }
        let mut connect = request(Method::CONNECT, "https://localhost/v1/responses", &[]);
        connect.extensions_mut().insert(Protocol::from_static("websocket"));
        *connect.version_mut() = Version::HTTP_2;
        let (status, headers, _) = answer(connect).await;
        assert_eq!((status, headers.contains_key(UPGRADE)), (StatusCode::UPGRADE_REQUIRED, false));
        let operator = guarded(Listener::Operator, &Arc::default());
        let response = operator.respond(request(Method::GET, "/v1/responses", &upgrade)).await;
        assert_eq!(response.status(), StatusCode::NOT_IMPLEMENTED);
    }

    #[tokio::test]
    async fn an_allowed_origin_may_ask_and_read() {
        let fields = [
            ("origin", "https://chat.example"),
            ("sec-fetch-site", "cross-site"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type"),
        ];
        let (status, headers, body) = answer(request(Method::OPTIONS, "/v1/chat/completions", &fields)).await;
        assert_eq!((status, body.as_str()), (StatusCode::NO_CONTENT, ""));
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "https://chat.example");
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_METHODS], "POST");
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_HEADERS], "authorization,content-type");
        let (status, headers, _) = answer(request(Method::POST, "/v1/chat/completions", &fields[..2])).await;
        assert_eq!((status, &headers[ACCESS_CONTROL_ALLOW_ORIGIN]), (StatusCode::OK, &fields[0].1.parse().unwrap()));
        let (_, headers, _) = answer(request(Method::POST, "/v1/chat/completions", &[])).await;
        assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
    }

    #[tokio::test]
    async fn refusals_are_counted_and_never_cached() {
        let metrics: Arc<Metrics> = Arc::default();
        for (listener, target, fields, status) in [
            (Listener::Client, "/v1/../x", &[][..], 400),
            (Listener::Operator, "/admin/switch", &[("origin", "https://chat.example")], 403),
            (Listener::Client, "/v1/realtime", &[("upgrade", "foo, WebSocket")], 501),
        ] {
            let response = guarded(listener, &metrics).respond(request(Method::POST, target, fields)).await;
            assert_eq!(
                (response.status().as_u16(), &response.headers()[CACHE_CONTROL]),
                (status, &"no-store".parse().unwrap())
            );
        }
        let text = metrics.render();
        for series in ["listener=\"client\",reason=\"path\"} 1", "listener=\"operator\",reason=\"origin\"} 1"] {
            assert!(text.contains(&format!("callwright_requests_refused_total{{{series}")), "{text}");
        }
    }
}
