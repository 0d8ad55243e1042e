//! Extracts the documentation texts of a document and its operations, with their positions. Failed calls are explained
//! from these texts.
//!
//! Errors come first: descriptions of responses and of error schemas, their allowed values and examples, and
//! extensions that list errors. Parameters and body properties follow, because the API's error messages refer to
//! them.

mod response;
mod schema;

use crate::{ApiDocument, LocatedValue, OperationBody, OperationParameter, Version};
use callwright_types::DocText;
pub(super) use response::is_error;
pub(super) use schema::DocTextCollector;
use schema::PropertySelection;

/// Returns the texts about the document as a whole.
pub(super) fn of_document(document: &ApiDocument) -> Vec<DocText> {
    let mut texts = DocTextCollector::default();
    if let Some(info) = document.member("info") {
        texts.member(&info, "description", "");
    }
    let root = document.root();
    external_docs(&mut texts, &root);
    response::error_lists(&mut texts, &root);
    texts.finish()
}

/// Returns the texts about one operation.
pub(super) fn of_operation(
    path_item: &LocatedValue<'_>,
    operation: &LocatedValue<'_>,
    parameters: &[OperationParameter<'_>],
    body: Option<&OperationBody<'_>>,
) -> Vec<DocText> {
    let mut texts = DocTextCollector::default();
    for holder in [operation, path_item] {
        texts.member(holder, "summary", "");
        texts.member(holder, "description", "");
    }
    external_docs(&mut texts, operation);
    response::error_lists(&mut texts, operation);
    response::responses(&mut texts, operation);
    for parameter in parameters {
        describe_parameter(&mut texts, parameter);
    }
    match operation.document.version {
        Version::V2_0 => body.iter().for_each(|body| swagger_body(&mut texts, body)),
        _ => request_body(&mut texts, operation),
    }
    tags(&mut texts, operation);
    texts.finish()
}

fn external_docs(texts: &mut DocTextCollector, holder: &LocatedValue<'_>) {
    if let Some(docs) = holder.member("externalDocs") {
        texts.member(&docs, "description", "");
    }
}

fn describe_parameter(texts: &mut DocTextCollector, parameter: &OperationParameter<'_>) {
    let label = format!("{} ({} parameter)", parameter.name, parameter.location.as_str());
    texts.member(&parameter.at, "description", &label);
    if let Some(schema) = &parameter.schema {
        if std::ptr::eq(schema.value, parameter.at.value) {
            schema::describe_values(texts, schema, &parameter.name);
        } else {
            schema::describe(texts, schema, &parameter.name, PropertySelection::Request);
        }
    }
}

fn request_body(texts: &mut DocTextCollector, operation: &LocatedValue<'_>) {
    let Some(body) = operation.member("requestBody") else { return };
    let Ok(body) = body.follow() else { return };
    texts.member(&body, "description", "Request body");
    // The media types of a body usually describe the same schema, so only the first is read.
    let content = body.member("content").and_then(|content| content.members().next());
    if let Some(schema) = content.and_then(|(_, media)| media.member("schema")) {
        schema::describe(texts, &schema, "", PropertySelection::Request);
    }
}

/// Adds the texts of `body`: its own, or those of its fields.
fn swagger_body(texts: &mut DocTextCollector, body: &OperationBody<'_>) {
    if body.fields.is_empty() {
        body.at.iter().for_each(|at| texts.member(at, "description", "Request body"));
        body.schema.iter().for_each(|schema| schema::describe(texts, schema, "", PropertySelection::Request));
    }
    for field in &body.fields {
        let Some(schema) = field.schemas.first() else { continue };
        schema::describe(texts, schema, field.name, PropertySelection::Request);
    }
}

fn tags(texts: &mut DocTextCollector, operation: &LocatedValue<'_>) {
    let own = operation.value.get("tags").and_then(serde_json::Value::as_array);
    for tag in operation.document.root().items_of("tags") {
        let Some(name) = tag.value.get("name") else { continue };
        if own.is_some_and(|names| names.contains(name)) {
            texts.member(&tag, "description", "");
            external_docs(texts, &tag);
        }
    }
}

#[cfg(test)]
mod tests;
