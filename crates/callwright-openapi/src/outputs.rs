//! Extracts the documented fields of successful responses, and the links between operations.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::Operation;
use super::binding::BodyFormat;
use super::document::{ApiDocument, LocatedValue, Version};
use super::media_type::SendableMediaType;
use super::walk::DocumentOperation;
use callwright_types::output::{SchemaNode, fields_of};
use callwright_types::{OutputField, OutputLink};

/// Maximum number of links of one operation.
const MAX_LINKS: usize = 64;

/// Reads the fields of responses. Operations that share a response schema share its fields.
#[derive(Debug, Default)]
pub(super) struct OutputReader {
    known: HashMap<OutputKey, Arc<[OutputField]>>,
}

/// Identifies a schema of a document. Memory addresses do not move while the document is read.
#[derive(Debug, PartialEq, Eq, Hash)]
enum OutputKey {
    /// The address of a schema.
    Schema(usize),
    /// A reference, with the address of the file that contains it.
    Reference(usize, String),
}

impl OutputReader {
    /// Returns the fields of the first successful response with a JSON body.
    pub(super) fn read<'d>(&mut self, document: &'d ApiDocument, operation: &LocatedValue<'d>) -> Arc<[OutputField]> {
        let Some(schema) = responses(document, operation).find_map(|response| schema_of(document, &response)) else {
            return Arc::default();
        };
        let known = self.known.entry(OutputKey::of(&schema));
        Arc::clone(known.or_insert_with(|| fields_of(OutputSchema { document, at: schema }).into()))
    }
}

impl OutputKey {
    fn of(schema: &LocatedValue<'_>) -> Self {
        let is_alone = schema.value.as_object().is_some_and(|members| members.len() == 1);
        match schema.reference().filter(|_| is_alone) {
            Some(reference) => Self::Reference(std::ptr::from_ref(schema.at.file()) as usize, reference.to_owned()),
            None => Self::Schema(std::ptr::from_ref(schema.value) as usize),
        }
    }
}

/// A schema of a document.
#[derive(Clone)]
struct OutputSchema<'d> {
    document: &'d ApiDocument,
    at: LocatedValue<'d>,
}

impl<'d> SchemaNode<'d> for OutputSchema<'d> {
    fn value(&self) -> &'d Value {
        self.at.value
    }

    fn inside(&self, value: &'d Value) -> Self {
        // Keeps the place of the parent: only its file matters, for resolving references.
        Self { document: self.document, at: LocatedValue { value, at: self.at.at.clone() } }
    }

    fn target(&self, reference: &str) -> Option<Self> {
        let at = self.document.lookup(reference, self.at.at.file()).ok()?;
        Some(Self { document: self.document, at })
    }
}

/// Returns the successful responses, those with a single status first.
fn responses<'d>(document: &'d ApiDocument, operation: &LocatedValue<'d>) -> impl Iterator<Item = LocatedValue<'d>> {
    let mut found: Vec<(&str, LocatedValue<'d>)> = Vec::new();
    for (status, response) in operation.member("responses").iter().flat_map(LocatedValue::members) {
        if !status.starts_with('2') {
            continue;
        }
        found.extend(document.follow(response).ok().map(|response| (status.as_str(), response)));
    }
    found.sort_by_key(|(status, _)| status.bytes().all(|byte| byte.is_ascii_digit()).then_some(*status).is_none());
    found.into_iter().map(|(_, response)| response)
}

fn schema_of<'d>(document: &ApiDocument, response: &LocatedValue<'d>) -> Option<LocatedValue<'d>> {
    if document.version == Version::V2_0 {
        return response.member("schema");
    }
    let content = response.member("content")?;
    let mut media =
        content.members().filter(|(media_type, _)| SendableMediaType::of(media_type).format == BodyFormat::Json);
    media.find_map(|(_, media)| media.member("schema"))
}

/// Sets the links of each operation's successful responses (OpenAPI 3.1, section 4.8.20). Omits links that do not use
/// a value of the body, and links to operations that are not tools.
pub(super) fn attach_links(document: &ApiDocument, loaded: &mut [(&DocumentOperation<'_>, Operation)]) {
    let mut links: Vec<Vec<OutputLink>> = Vec::with_capacity(loaded.len());
    for (found, _) in loaded.iter() {
        let mut of_operation = Vec::new();
        for response in responses(document, &found.operation) {
            for (_, link) in response.member("links").iter().flat_map(LocatedValue::members) {
                let Ok(link) = document.follow(link) else { continue };
                of_operation.extend(links_of(&link, loaded));
            }
        }
        of_operation.truncate(MAX_LINKS);
        links.push(of_operation);
    }
    for ((_, operation), links) in loaded.iter_mut().zip(links) {
        operation.links = links;
    }
}

fn links_of(link: &LocatedValue<'_>, loaded: &[(&DocumentOperation<'_>, Operation)]) -> Vec<OutputLink> {
    let Some(target) = target_of(link, loaded) else { return Vec::new() };
    let parameters = link.member("parameters");
    let taken = parameters.iter().flat_map(LocatedValue::members).filter_map(|(name, expression)| {
        let pointer = expression.value.as_str()?.strip_prefix("$response.body#")?;
        Some(OutputLink {
            tool: target.own_name().to_owned(),
            argument: argument_of(target, name)?.to_owned(),
            pointer: pointer.to_owned(),
        })
    });
    taken.collect()
}

fn target_of<'a>(link: &LocatedValue<'_>, loaded: &'a [(&DocumentOperation<'_>, Operation)]) -> Option<&'a Operation> {
    if let Some(id) = link.text("operationId") {
        let mut operations = loaded.iter().map(|(_, operation)| operation);
        return operations.find(|operation| operation.operation_id.as_deref() == Some(id));
    }
    let reference = link.text("operationRef")?;
    let pointer = reference.split_once('#')?.1;
    let tokens: Vec<String> = callwright_common::json::Pointer::from(pointer).tokens();
    let [.., path, method] = tokens.as_slice() else { return None };
    let found =
        loaded.iter().find(|(found, _)| found.path == path && found.method.as_str().eq_ignore_ascii_case(method));
    found.map(|(_, operation)| operation)
}

/// Returns the argument of a parameter. A link may prefix the name with the location (`path.id`).
fn argument_of<'a>(operation: &'a Operation, parameter: &str) -> Option<&'a str> {
    let by_name = operation.bindings.iter().find(|binding| binding.name == parameter);
    let found = by_name.or_else(|| {
        let (location, name) = parameter.split_once('.')?;
        operation.bindings.iter().find(|binding| binding.name == name && binding.location.as_str() == location)
    });
    found.map(|binding| binding.argument.as_str())
}
