//! One operation of a document, read.

use std::sync::Arc;

use super::arguments::join;
use super::binding::{Location, Style};
use super::body::{Body, body};
use super::description::tool_description;
use super::document::{Document, Located, Version};
use super::idempotency::take_key;
use super::notes::Notes;
use super::parameter::{Parameter, parameters};
use super::path_template::{Slot, slots};
use super::schema::SchemaWriter;
use super::server::Servers;
use super::settings::DocumentLimits;
use super::walk::Found;
use super::{Operation, documentation, security, swagger};
use crate::domain::{OperationRef, Owner, Tool};

/// Reads the operations of one document.
pub(super) struct OperationReader<'d> {
    document: &'d Document,
    toolset: &'d str,
    limits: &'d DocumentLimits,
    servers: &'d Servers<'d>,
    schemas: SchemaWriter<'d>,
}

impl<'d> OperationReader<'d> {
    pub(super) fn new(
        document: &'d Document,
        toolset: &'d str,
        limits: &'d DocumentLimits,
        servers: &'d Servers<'d>,
    ) -> Self {
        Self { document, toolset, limits, servers, schemas: SchemaWriter::new(document, limits) }
    }

    /// Makes the tool `name` from what was found; an error says why that cannot be.
    pub(super) fn read(&mut self, found: &Found<'d>, name: String, notes: &mut Notes) -> Result<Operation, String> {
        let Found { path_item, operation, .. } = found;
        let (written, body) = request(self.document, found, notes)?;
        let documentation = documentation::of_operation(self.document, path_item, operation, &written, body.as_ref());
        let parameters = in_slots(written, &slots(found.path)?, operation, notes);
        let mut joined = join(self.document, parameters, body, notes);
        let idempotency_key = take_key(self.document, &found.method, &mut joined, notes);
        let schema = self.schemas.write(&joined.arguments, notes)?;
        let tool = Tool {
            description: tool_description(operation, &found.label(), self.limits.description_chars),
            parameters: Arc::new(schema),
            free_text: false,
            owner: Owner::Proxy(OperationRef { toolset: self.toolset.to_owned(), tool: name.clone() }),
            name,
        };
        Ok(Operation {
            tool: Arc::new(tool),
            operation_id: operation.text("operationId").map(str::to_owned),
            method: found.method.clone(),
            path: found.path.to_owned(),
            servers: self.servers.of(path_item, operation, notes),
            bindings: joined.bindings,
            body: joined.body,
            idempotency_key,
            security: security::requirements(self.document, operation, notes),
            produces: produces(self.document, operation),
            deprecated: operation.flag("deprecated") == Some(true),
            documentation,
        })
    }
}

/// Parameters and body, as the document's version describes them.
pub(super) fn request<'d>(
    document: &'d Document,
    found: &Found<'d>,
    notes: &mut Notes,
) -> Result<(Vec<Parameter<'d>>, Option<Body<'d>>), String> {
    if document.version == Version::V2_0 {
        return swagger::request(document, found, notes);
    }
    let parameters = parameters(document, &found.path_item, &found.operation, notes)?;
    Ok((parameters, body(document, &found.operation, notes)?))
}

/// Gives every slot of the path its parameter and drops path parameters without a slot, which could not be sent. A slot that the
/// document forgot to describe is a text.
fn in_slots<'d>(
    mut parameters: Vec<Parameter<'d>>,
    slots: &[Slot],
    operation: &Located<'d>,
    notes: &mut Notes,
) -> Vec<Parameter<'d>> {
    let mut missing = Vec::new();
    for slot in slots {
        let is_meant = |parameter: &&mut Parameter<'_>| {
            parameter.location == Location::Path && [&slot.token, &slot.name].contains(&&parameter.name)
        };
        match parameters.iter_mut().find(is_meant) {
            Some(parameter) => {
                parameter.slot = Some(slot.token.clone());
                parameter.allow_reserved |= slot.is_reserved;
            }
            None => missing.push(described_nowhere(slot, operation)),
        }
    }
    parameters.retain(|parameter| {
        let has_place = parameter.location != Location::Path || parameter.slot.is_some();
        if !has_place {
            notes.remark(format!("path parameter `{}` has no place in the path; left out", parameter.name));
        }
        has_place
    });
    for parameter in &missing {
        notes.remark(format!("path parameter `{}` is not described; any text is accepted", parameter.name));
    }
    missing.extend(parameters);
    missing
}

fn described_nowhere<'d>(slot: &Slot, operation: &Located<'d>) -> Parameter<'d> {
    Parameter {
        name: slot.name.clone(),
        slot: Some(slot.token.clone()),
        location: Location::Path,
        required: true,
        style: Style::Simple,
        explode: false,
        allow_reserved: slot.is_reserved,
        allows_empty: false,
        media_type: None,
        nested: Vec::new(),
        schema: None,
        description: None,
        deprecated: false,
        at: operation.clone(),
    }
}

/// The media types of all responses, each once.
fn produces(document: &Document, operation: &Located<'_>) -> Vec<String> {
    if document.version == Version::V2_0 {
        return swagger::media_types(document, operation, "produces").into_iter().map(str::to_owned).collect();
    }
    let mut media_types: Vec<String> = Vec::new();
    for (_, response) in operation.member("responses").iter().flat_map(Located::members) {
        let Ok(response) = document.follow(response) else { continue };
        for (media_type, _) in response.member("content").iter().flat_map(Located::members) {
            if !media_types.contains(media_type) {
                media_types.push(media_type.clone());
            }
        }
    }
    media_types
}
