//! Conversion of a call's arguments to an HTTP request.

mod body;
mod content;
mod detour;
mod disguise;
mod file;
mod form;
mod header;
mod multipart;
mod path;
mod style;
mod target;
mod xml;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, COOKIE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Map, Value};
use url::Url;

pub(super) use self::style::encode;
use super::refusal::{CallRefusal, refuse};
use callwright_openapi::{Binding, BodyFormat, Location, Operation};

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
/// [`CallRefusal`] if the arguments cannot be encoded safely, or the operation has no usable server.
pub(super) fn build(operation: &Operation, arguments: &Map<String, Value>) -> Result<ApiRequest, CallRefusal> {
    let placement = operation.place(arguments);
    let at = |location: Location| -> Vec<(&Binding, &Value)> {
        placement.parameters.iter().copied().filter(|(binding, _)| binding.location == location).collect()
    };
    let path = path::expand(&operation.path, &at(Location::Path))?;
    let mut query: Vec<String> = path.query.into_iter().collect();
    let from_arguments = style::query(&at(Location::Query));
    disguise::check_pairs(&operation.method, from_arguments.iter().map(String::as_str))?;
    query.extend(from_arguments);
    let url = target::join(operation, &path.path, &query)?;

    let mut headers = header::parameters(&at(Location::Header))?;
    let cookies = style::cookies(&at(Location::Cookie));
    if !cookies.is_empty() {
        headers.insert(COOKIE, sensitive(&cookies.join("; "))?);
    }
    headers.insert(ACCEPT, header::accept(&operation.produces));
    let body = body::encode(operation.body.as_ref(), placement.body.as_ref())?;
    if let Some((media_type, bytes)) = &body {
        let value = placement.body.as_ref().unwrap_or(&Value::Null);
        disguise::check_members(&operation.method, value)?;
        match operation.body.as_ref().map(|body| body.format) {
            Some(BodyFormat::Form) => {
                disguise::check_pairs(&operation.method, String::from_utf8_lossy(bytes).split('&'))?;
            }
            // An exploded member contributes its own members as parts.
            Some(BodyFormat::Multipart) => {
                let members = value.as_object().into_iter().flat_map(Map::values);
                members.into_iter().try_for_each(|member| disguise::check_members(&operation.method, member))?;
            }
            _ => {}
        }
        headers.insert(CONTENT_TYPE, media_type.clone());
    }
    Ok(ApiRequest { method: operation.method.clone(), url, headers, body: body.map(|(_, bytes)| bytes) })
}

/// Returns a header value that is never logged.
fn sensitive(text: &str) -> Result<HeaderValue, CallRefusal> {
    let mut value = HeaderValue::from_str(text)
        .map_err(|_| refuse!("a cookie contains characters that are invalid in a header"))?;
    value.set_sensitive(true);
    Ok(value)
}
