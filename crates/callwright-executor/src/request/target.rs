//! Assembly of the request URL from the server's base URL, a path and a query.

use url::Url;

use crate::refusal::{CallRefusal, refuse};
use callwright_openapi::Operation;

/// Maximum length of the URL in bytes. The HTTP library's own limit is close to it (65,534); servers commonly accept
/// far less.
const MAX_URL_BYTES: usize = 60_000;

/// Joins the server's base URL with the path and the query pairs, which are already encoded.
///
/// # Errors
/// Fails if the operation has no server, its scheme is not HTTP, or the URL is too long.
pub(super) fn join(operation: &Operation, path: &str, query: &[String]) -> Result<Url, CallRefusal> {
    let Some(server) = operation.servers.first() else {
        return Err(refuse!(
            "{} has no absolute server address; set `base_url` of its toolset in the configuration",
            operation.label()
        ));
    };
    if !matches!(server.scheme(), "http" | "https") || server.host().is_none() {
        return Err(refuse!("the server URL of {} is not an http or https URL", operation.label()));
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
        return Err(refuse!("the path of {} cannot be represented in a URL without changes", operation.label()));
    }
    if url.as_str().len() > MAX_URL_BYTES {
        return Err(refuse!("the URL would be longer than {MAX_URL_BYTES} bytes; shorten the arguments"));
    }
    Ok(url)
}
