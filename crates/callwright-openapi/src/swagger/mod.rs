//! Parses Swagger 2.0 directly, without a prior conversion to OpenAPI 3, so that all reported places refer to the
//! original document.
//!
//! Read [`request`] first. The features that both versions share (paths, operations, references, schemas) are handled
//! by the other modules of this crate.

mod body;
mod collection;
mod documentation;
mod parameter;
mod server;

use http::Method;

use super::body::OperationBody;
use super::document::{ApiDocument, LocatedValue};
use super::notes::LoadNotes;
use super::parameter::OperationParameter;
use super::parameter_list::ParameterLists;
use super::walk::DocumentOperation;

pub(super) use documentation::{describe_body, describe_response};
pub(super) use parameter::{name, parameter};
pub(super) use server::addresses;

/// Returns parameters and body of `found` from its `lists`.
///
/// # Errors
///
/// Returns the reason why the request cannot be represented (Swagger 2.0, Parameter Object).
pub(super) fn request<'d>(
    document: &'d ApiDocument,
    found: &DocumentOperation<'d>,
    mut lists: ParameterLists<'d>,
    notes: &mut LoadNotes,
) -> Result<(Vec<OperationParameter<'d>>, Option<OperationBody<'d>>), String> {
    let DocumentOperation { method, operation, .. } = found;
    if [Method::GET, Method::HEAD].contains(method) && !lists.fields.is_empty() {
        // Servers read such a field from the query, because these methods have no body.
        notes.remark("form fields of a request without a body are sent in the query");
        let fields = std::mem::take(&mut lists.fields);
        lists.parameters.extend(fields.iter().map(|field| parameter::in_query(document, field, notes)));
    }
    let consumes = media_types(document, operation, "consumes");
    let body = body::body(document, &lists, &consumes, notes)?;
    Ok((lists.parameters, body))
}

/// Returns the media types in `key` (`consumes`, `produces`). The operation's list replaces the document's even if it
/// is empty (Swagger 2.0, Operation Object).
pub(super) fn media_types<'d>(document: &'d ApiDocument, operation: &LocatedValue<'d>, key: &str) -> Vec<&'d str> {
    let Some(list) = operation.member(key).or_else(|| document.member(key)) else { return Vec::new() };
    let mut found = Vec::new();
    for media_type in list.items().filter_map(|item| item.value.as_str()).map(str::trim) {
        if !media_type.is_empty() && !found.contains(&media_type) {
            found.push(media_type);
        }
    }
    found
}

#[cfg(test)]
mod tests;
