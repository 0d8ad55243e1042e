//! Swagger 2.0, read natively: its own objects give what those of OpenAPI 3 give, and every place that is reported is a place of
//! the document as it was written.
//!
//! Read [`request`] first. What the two have in common (paths, operations, references, schemas) is read by the room's other files.

mod body;
mod collection;
mod documentation;
mod parameter;
mod server;

use http::Method;

use super::body::Body;
use super::document::{Document, Located};
use super::notes::Notes;
use super::parameter::Parameter;
use super::parameter_list::Lists;
use super::walk::Found;

pub(super) use documentation::{describe_body, describe_response};
pub(super) use parameter::{name, parameter};
pub(super) use server::addresses;

/// Parameters and body of what was found, from its `lists`. An error says what cannot be understood (Swagger 2.0, Parameter Object).
pub(super) fn request<'d>(
    document: &'d Document,
    found: &Found<'d>,
    mut lists: Lists<'d>,
    notes: &mut Notes,
) -> Result<(Vec<Parameter<'d>>, Option<Body<'d>>), String> {
    let Found { method, operation, .. } = found;
    if [Method::GET, Method::HEAD].contains(method) && !lists.fields.is_empty() {
        // Servers read such a field from the query, because these methods have no form.
        notes.remark("form fields of a request without a body are sent in the query");
        let fields = std::mem::take(&mut lists.fields);
        lists.parameters.extend(fields.iter().map(|field| parameter::in_query(document, field, notes)));
    }
    let consumes = media_types(document, operation, "consumes");
    let body = body::body(document, &lists, &consumes, notes)?;
    Ok((lists.parameters, body))
}

/// The media types that `key` (`consumes`, `produces`) lists: the operation's, which replace the document's even where there are
/// none (Swagger 2.0, Operation Object).
pub(super) fn media_types<'d>(document: &'d Document, operation: &Located<'d>, key: &str) -> Vec<&'d str> {
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
