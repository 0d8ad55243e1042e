//! Conversion of a call's arguments to an HTTP request.

mod body;
mod content;
mod file;
mod form;
mod header;
mod method_override;
mod multipart;
mod path;
mod path_traversal;
mod style;
mod xml;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value};
use url::Url;

pub(super) use self::style::encode;
use super::refusal::{invalid, refuse};
use callwright_openapi::{Binding, BodyFormat, Location, Operation, Placement};
use callwright_types::Refusal;

/// Maximum length of the URL in bytes. The HTTP library's own limit is close to it (65,534); servers commonly accept
/// far less.
const MAX_URL_BYTES: usize = 60_000;

/// Request that is ready to be sent, without credentials.
#[derive(Debug, Clone)]
pub(super) struct ApiRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

/// Whether the method is safe (RFC 9110 section 9.2.1). `TRACE` is excluded because it echoes credentials.
pub(super) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Builds the request of a call: the operation's bindings place the arguments. Credentials are added when it is sent.
///
/// # Errors
/// [`Refusal`] if the arguments cannot be encoded safely, or the operation has no usable server.
pub(super) fn build(operation: &Operation, arguments: &Map<String, Value>) -> Result<ApiRequest, Refusal> {
    let placement = operation.place(arguments);
    let path = path::expand(&operation.path, &at(&placement, Location::Path))?;
    let mut query: Vec<String> = path.query.into_iter().collect();
    let from_arguments = style::query(&at(&placement, Location::Query));
    method_override::check_pairs(&operation.method, from_arguments.iter().map(String::as_str))?;
    query.extend(from_arguments);
    let url = join(operation, &path.path, &query)?;

    let mut headers = header::parameters(&at(&placement, Location::Header))?;
    let cookies = style::cookies(&at(&placement, Location::Cookie));
    if !cookies.is_empty() {
        headers.insert(COOKIE, sensitive(&cookies.join("; "))?);
    }
    headers.insert(ACCEPT, header::accept(&operation.produces));
    let body = body::encode(operation.body.as_ref(), placement.body.as_ref())?;
    if let Some((media_type, bytes)) = &body {
        let value = placement.body.as_ref().unwrap_or(&Value::Null);
        method_override::check_members(&operation.method, value)?;
        match operation.body.as_ref().map(|body| body.format) {
            Some(BodyFormat::Form) => {
                method_override::check_pairs(&operation.method, String::from_utf8_lossy(bytes).split('&'))?;
            }
            // An exploded member contributes its own members as parts.
            Some(BodyFormat::Multipart) => {
                let members = value.as_object().into_iter().flat_map(Map::values);
                members.into_iter().try_for_each(|member| method_override::check_members(&operation.method, member))?;
            }
            _ => {}
        }
        headers.insert(CONTENT_TYPE, media_type.clone());
    }
    Ok(ApiRequest { method: operation.method.clone(), url, headers, body: body.map(|(_, bytes)| bytes) })
}

/// Returns the parameters at this location.
fn at<'a>(placement: &Placement<'a>, location: Location) -> Vec<(&'a Binding, &'a Value)> {
    placement.parameters.iter().copied().filter(|(binding, _)| binding.location == location).collect()
}

/// Returns a header value that is never logged.
fn sensitive(text: &str) -> Result<HeaderValue, Refusal> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| invalid("a cookie contains characters that are invalid in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Joins the server's base URL with the path and the query pairs, which are already encoded.
///
/// # Errors
/// Fails if the operation has no server, its scheme is not HTTP, or the URL is too long.
fn join(operation: &Operation, path: &str, query: &[String]) -> Result<Url, Refusal> {
    let Some(server) = operation.servers.first() else {
        return Err(refuse!(
            NoServer,
            "{} has no absolute server address; set `base_url` of its toolset in the configuration",
            operation.label()
        ));
    };
    if !matches!(server.scheme(), "http" | "https") || server.host().is_none() {
        return Err(refuse!(NoServer, "the server URL of {} is not an http or https URL", operation.label()));
    }
    let mut url = server.clone();
    // Credentials come from the configuration only. Clearing them cannot fail for a URL with a host.
    let cleared = url.set_username("").and_then(|()| url.set_password(None));
    let whole_path = format!("{}{path}", url.path().trim_end_matches('/'));
    url.set_path(&whole_path);
    let pairs: Vec<&str> =
        server.query().into_iter().chain(query.iter().map(String::as_str)).filter(|pair| !pair.is_empty()).collect();
    url.set_query((!pairs.is_empty()).then(|| pairs.join("&")).as_deref());
    url.set_fragment(None);
    if cleared.is_err() || url.path() != whole_path {
        return Err(invalid(format!(
            "the path of {} cannot be represented in a URL without changes",
            operation.label()
        )));
    }
    if url.as_str().len() > MAX_URL_BYTES {
        return Err(invalid(format!("the URL would be longer than {MAX_URL_BYTES} bytes; shorten the arguments")));
    }
    Ok(url)
}
