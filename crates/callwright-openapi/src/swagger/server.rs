//! Builds server URLs from `schemes`, `host` and `basePath` (Swagger 2.0, Swagger Object).

use super::super::document::{ApiDocument, LocatedValue};
use super::super::notes::LoadNotes;

/// Supported schemes, best first.
const SCHEMES: [&str; 2] = ["https", "http"];

/// Returns the server URLs of `operation`, or of the document if it is `None`, best first; relative if the document
/// has no `host`. Returns `None` if the operation lists no schemes of its own.
pub(in super::super) fn addresses(
    document: &ApiDocument,
    operation: Option<&LocatedValue<'_>>,
    notes: &mut LoadNotes,
) -> Option<Vec<String>> {
    let own = operation.map(|operation| operation.member("schemes"));
    let listed = match own {
        Some(None) => return None,
        Some(Some(own)) => Some(own),
        None => document.member("schemes"),
    };
    let base_path = text(document, "basePath");
    let host = text(document, "host");
    if host.is_empty() {
        return Some(if base_path.is_empty() { Vec::new() } else { vec![base_path.to_owned()] });
    }
    // Some documents have a whole URL in `host`.
    let (written, host) = host.split_once("://").map_or((None, host), |(scheme, host)| (Some(scheme), host));
    let host = host.trim_start_matches('/').trim_end_matches('/');
    let base_path = base_path.trim_start_matches('/');
    let address = |scheme: &str| match base_path {
        "" => format!("{scheme}://{host}"),
        path => format!("{scheme}://{host}/{path}"),
    };
    let given: Vec<String> = listed
        .iter()
        .flat_map(LocatedValue::items)
        .filter_map(|item| item.value.as_str().map(str::to_ascii_lowercase))
        .chain(written.map(str::to_ascii_lowercase))
        .collect();
    if given.is_empty() {
        // The default is the scheme of the document's own URL, which is unknown for a local file. `https` is assumed.
        return Some(vec![address("https")]);
    }
    let usable: Vec<String> =
        SCHEMES.into_iter().filter(|scheme| given.iter().any(|given| given == scheme)).map(address).collect();
    if usable.is_empty() {
        notes.remark(format!("none of the schemes {} is http or https", given.join(", ")));
    }
    Some(usable)
}

fn text<'d>(document: &'d ApiDocument, key: &str) -> &'d str {
    document.member(key).and_then(|member| member.value.as_str()).map(str::trim).unwrap_or_default()
}
