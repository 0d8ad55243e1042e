//! Parses Swagger 2.0 directly, without a prior conversion to OpenAPI 3, so that all reported positions refer to the
//! original document.
//!
//! Read [`request`] first. The features that both versions share (paths, operations, references, schemas) are handled
//! by the other modules of this crate.

mod body;
mod parameter;

use http::Method;

use crate::request::parameter::ParameterLists;
use crate::{ApiDocument, DocumentOperation, LoadNotes, LocatedValue, OperationBody, OperationParameter};

use crate::tool::text::distinct;
pub(super) use parameter::{name, parameter};

/// Supported schemes, best first.
const SCHEMES: [&str; 2] = ["https", "http"];

/// Returns parameters and body of `source` from its `lists`.
///
/// # Errors
///
/// Returns the reason why the request cannot be represented (Swagger 2.0, Parameter Object).
pub(super) fn request<'d>(
    source: &DocumentOperation<'d>,
    mut lists: ParameterLists<'d>,
    notes: &mut LoadNotes,
) -> Result<(Vec<OperationParameter<'d>>, Option<OperationBody<'d>>), String> {
    let DocumentOperation { method, operation, .. } = source;
    if [Method::GET, Method::HEAD].contains(method) && !lists.fields.is_empty() {
        // Servers read such a field from the query, because these methods have no body.
        notes.remark("form fields of a request without a body are sent in the query");
        let fields = std::mem::take(&mut lists.fields);
        lists.parameters.extend(fields.iter().map(|field| parameter::in_query(field, notes)));
    }
    let consumes = media_types(operation, "consumes");
    let body = body::body(&lists, &consumes, notes)?;
    Ok((lists.parameters, body))
}

/// Returns the media types in `key` (`consumes`, `produces`). The operation's list replaces the document's even if it
/// is empty (Swagger 2.0, Operation Object).
pub(super) fn media_types<'d>(operation: &LocatedValue<'d>, key: &str) -> Vec<&'d str> {
    let Some(list) = operation.member(key).or_else(|| operation.document.member(key)) else { return Vec::new() };
    let listed = list.items().filter_map(|item| item.value.as_str()).map(str::trim);
    distinct(listed.filter(|media_type| !media_type.is_empty()))
}

/// Returns the server URLs of `operation`, or of the document if it is `None`, best first; relative if the document
/// has no `host`. Returns `None` if the operation lists no schemes of its own.
pub(super) fn addresses(
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
    let separator = if base_path.is_empty() { "" } else { "/" };
    let given: Vec<String> = listed
        .iter()
        .flat_map(LocatedValue::items)
        .filter_map(|item| item.value.as_str().map(str::to_ascii_lowercase))
        .chain(written.map(str::to_ascii_lowercase))
        .collect();
    if given.is_empty() {
        // The default is the scheme of the document's own URL, which is unknown for a local file. `https` is assumed.
        return Some(vec![format!("https://{host}{separator}{base_path}")]);
    }
    let usable = SCHEMES.into_iter().filter(|scheme| given.iter().any(|given| given == scheme));
    let usable: Vec<String> = usable.map(|scheme| format!("{scheme}://{host}{separator}{base_path}")).collect();
    if usable.is_empty() {
        notes.remark(format!("none of the schemes {} is http or https", given.join(", ")));
    }
    Some(usable)
}

fn text<'d>(document: &'d ApiDocument, key: &str) -> &'d str {
    document.member(key).and_then(|member| member.value.as_str()).map(str::trim).unwrap_or_default()
}

#[cfg(test)]
mod tests;
