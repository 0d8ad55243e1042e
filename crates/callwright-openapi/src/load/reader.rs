//! Converts one operation of a document to an [`Operation`].

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use crate::hidden::HiddenParameterRules;
use crate::load::outputs::{OutputReader, shared};
use crate::load::promise::promises;
use crate::request::arguments::{JoinedArguments, join};
use crate::request::body::body;
use crate::request::idempotency::take_key;
use crate::request::parameter_list::lists;
use crate::request::path_template::{TemplateParameters, match_template};
use crate::schema::{SchemaWriter, ToolSchema};
use crate::server::Servers;
use crate::tool::description::tool_description;
use crate::tool::text::{distinct, strings};
use crate::{
    ApiDocument, DocumentLimits, DocumentOperation, FixedArgument, HiddenParameter, LoadNotes, LocatedValue, Operation,
    OperationBody, OperationParameter, Subtypes, Version, documentation, security, swagger,
};
use callwright_types::{DocText, OperationRef, Owner, Tool, ToolKind};

/// Converts the operations of one document.
pub(crate) struct OperationReader<'d> {
    subtypes: &'d Subtypes<'d>,
    toolset: &'d str,
    limits: &'d DocumentLimits,
    servers: &'d Servers<'d>,
    hidden: &'d HiddenParameterRules,
    schemas: SchemaWriter<'d>,
    texts: HashSet<Arc<DocText>>,
    outputs: OutputReader,
}

impl<'d> OperationReader<'d> {
    pub(crate) fn new(
        document: &'d ApiDocument,
        subtypes: &'d Subtypes<'d>,
        toolset: &'d str,
        limits: &'d DocumentLimits,
        servers: &'d Servers<'d>,
        hidden: &'d HiddenParameterRules,
    ) -> Self {
        Self {
            subtypes,
            toolset,
            limits,
            servers,
            hidden,
            schemas: SchemaWriter::new(document, subtypes, limits),
            texts: HashSet::new(),
            outputs: OutputReader::default(),
        }
    }

    /// Converts `source` to the tool `name`.
    ///
    /// # Errors
    ///
    /// Returns the reason why the operation is skipped.
    pub(crate) fn tool(
        &mut self,
        source: &DocumentOperation<'d>,
        name: String,
        notes: &mut LoadNotes,
    ) -> Result<Operation, String> {
        let DocumentOperation { path_item, operation, .. } = source;
        let (written, mut body) = request(source, notes)?;
        let documentation = documentation::of_operation(path_item, operation, &written, body.as_ref());
        let TemplateParameters { path, mut parameters } = match_template(source, written, notes)?;
        let mut security = security::requirements(operation, notes);
        self.hidden.take(&mut parameters, &mut security, notes);
        self.hidden.take_fields(&mut body, &security, notes);
        let version = self.hidden.version(&parameters);
        let mut joined = join(self.subtypes, parameters, body, notes);
        let idempotency_key = take_key(&source.method, &mut joined, notes);
        let mut fixed: Vec<FixedArgument> =
            version.and_then(|version| take_fixed(&mut joined, version, notes)).into_iter().collect();
        let ToolSchema { schema, single_values } =
            self.schemas.write(&joined.arguments, joined.variants.as_ref(), notes)?;
        fixed.extend(single_values.iter().map(|single| single_value(&joined, single, notes)));
        let tool = Tool {
            description: tool_description(operation, &source.label(), self.limits.description_chars),
            parameters: schema,
            kind: ToolKind::Function,
            reads: Some(source.method.is_safe()),
            owner: Owner::Proxy(OperationRef { toolset: self.toolset.to_owned(), tool: name.clone() }),
            name,
            namespace: None,
        };
        Ok(Operation {
            tool: Arc::new(tool),
            operation_id: operation.text("operationId").map(str::to_owned),
            method: source.method.clone(),
            path,
            servers: self.servers.servers_of(path_item, operation, notes),
            outputs: self.outputs.fields(operation),
            links: Vec::new(),
            promises: promises(operation, &source.method, &joined.bindings),
            bindings: joined.bindings,
            body: joined.body,
            idempotency_key,
            fixed,
            security,
            produces: produces(operation),
            tags: strings(operation.value.get("tags")).map(str::to_owned).collect(),
            deprecated: operation.flag("deprecated") == Some(true),
            documentation: documentation.into_iter().map(|text| shared(&mut self.texts, Arc::new(text))).collect(),
        })
    }
}

/// Returns a required argument that has a single allowed value, and reports it.
fn single_value(
    joined: &JoinedArguments<'_>,
    (argument, value): &(String, Value),
    notes: &mut LoadNotes,
) -> FixedArgument {
    let (name, location) = joined.wire_name(argument);
    let reason = "required, with a single allowed value".to_owned();
    notes.hide(HiddenParameter::new(name, location, Some(value.clone()), reason));
    FixedArgument { argument: argument.clone(), value: value.clone() }
}

/// Removes the argument of a parameter with a fixed value, and returns it with the value.
fn take_fixed(
    joined: &mut JoinedArguments<'_>,
    parameter: HiddenParameter,
    notes: &mut LoadNotes,
) -> Option<FixedArgument> {
    let mut bindings = joined.bindings.iter();
    let binding = bindings
        .find(|binding| binding.location.as_str() == parameter.location && binding.name == parameter.parameter)?;
    let fixed = FixedArgument { argument: binding.argument.clone(), value: parameter.value.clone()? };
    joined.arguments.retain(|other| other.name != fixed.argument);
    notes.hide(parameter);
    Some(fixed)
}

/// Parses parameters and body. A `requestBody` takes precedence over a body among the parameters, which documents
/// migrated from Swagger 2.0 may still have.
pub(crate) fn request<'d>(
    source: &DocumentOperation<'d>,
    notes: &mut LoadNotes,
) -> Result<(Vec<OperationParameter<'d>>, Option<OperationBody<'d>>), String> {
    let lists = lists(source, notes)?;
    let Some(body) = body(&source.operation, notes)? else {
        return swagger::request(source, lists, notes);
    };
    if lists.has_body() {
        notes.remark("the parameters have a body beside `requestBody`; it is left out");
    }
    Ok((lists.parameters, Some(body)))
}

/// Returns the distinct media types of the successful responses; of all responses if the successful ones have no
/// content.
fn produces(operation: &LocatedValue<'_>) -> Vec<String> {
    if operation.document.version == Version::V2_0 {
        return swagger::media_types(operation, "produces").into_iter().map(str::to_owned).collect();
    }
    let mut found: Vec<(bool, String)> = Vec::new();
    for (status, response) in operation.members_of("responses") {
        let Ok(response) = response.follow() else { continue };
        let media_types = response.members_of("content");
        found.extend(media_types.map(|(media_type, _)| (status.starts_with('2'), media_type.clone())));
    }
    let has_successful = found.iter().any(|(is_successful, _)| *is_successful);
    distinct(found.into_iter().filter(|(is_successful, _)| *is_successful || !has_successful).map(|(_, found)| found))
}
