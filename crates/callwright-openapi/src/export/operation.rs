//! Parameters and bodies of exported operations.

use openapiv3::{
    CookieStyle, Encoding as ExportedEncoding, HeaderStyle, MediaType, Operation as ExportedOperation, Parameter,
    ParameterData, ParameterSchemaOrContent, PathStyle, QueryStyle, ReferenceOr, RequestBody, Response, Responses,
    Schema, Server, StatusCode,
};
use serde_json::{Map, Value, json};

use super::schema::{SchemaExporter, escaped};
use super::security;
use crate::arguments::sent_as;
use crate::binding::{Binding, BodyBinding, BodyShape, Content, Encoding, Location, Style};
use crate::content::FILE_HINT;
use crate::description::DEPRECATED;
use crate::{Operation, Toolset};

/// Class of the statuses of successful responses.
const SUCCESSFUL: u16 = 2;

/// Description of the parameter for an idempotency key, by which the reader recognises it.
const KEY_DESCRIPTION: &str = "Idempotency key.";

/// Exports one operation.
pub(super) struct OperationExporter<'a> {
    pub(super) toolset: &'a Toolset,
    pub(super) operation: &'a Operation,
    pub(super) schemas: SchemaExporter<'a>,
    /// Descriptions of what was left out.
    pub(super) losses: Vec<String>,
}

impl OperationExporter<'_> {
    pub(super) fn export(&mut self) -> ExportedOperation {
        let operation = self.operation;
        let description = match operation.deprecated {
            true => operation.tool.description.strip_prefix(DEPRECATED).unwrap_or(&operation.tool.description),
            false => &operation.tool.description,
        };
        let mut exported = ExportedOperation {
            tags: operation.tags.clone(),
            description: Some(escaped(description)),
            operation_id: Some(operation.own_name().to_owned()),
            responses: self.responses(),
            deprecated: operation.deprecated,
            security: Some(security::requirements(&operation.security)),
            ..ExportedOperation::default()
        };
        for binding in &operation.bindings {
            exported.parameters.push(ReferenceOr::Item(self.parameter(binding)));
        }
        exported.request_body = operation.body.as_ref().map(|body| ReferenceOr::Item(self.body(body)));
        if operation.servers != self.toolset.servers {
            for server in &operation.servers {
                exported.servers.push(Server { url: server.to_string(), ..Server::default() });
            }
        }
        exported
    }

    fn responses(&self) -> Responses {
        let mut response = Response { description: "A successful response.".to_owned(), ..Response::default() };
        for media_type in &self.operation.produces {
            response.content.insert(media_type.clone(), MediaType::default());
        }
        let mut responses = Responses::default();
        responses.responses.insert(StatusCode::Range(SUCCESSFUL), ReferenceOr::Item(response));
        responses
    }

    fn parameter(&mut self, binding: &Binding) -> Parameter {
        let schema = self.schema_of(&binding.argument, &binding.name);
        let allows_empty = binding.location == Location::Query && allows_empty(&schema);
        let schema = self.typed(&schema);
        let format = match &binding.media_type {
            None => ParameterSchemaOrContent::Schema(schema),
            Some(media_type) => {
                let media = MediaType { schema: Some(schema), ..MediaType::default() };
                ParameterSchemaOrContent::Content([(media_type.clone(), media)].into_iter().collect())
            }
        };
        if !binding.nested.is_empty() {
            self.losses.push(format!("the delimiters of nested arrays in the parameter `{}`", binding.name));
        }
        let parameter_data = ParameterData {
            name: binding.name.clone(),
            description: None,
            required: binding.required,
            deprecated: None,
            format,
            example: None,
            examples: Default::default(),
            explode: (binding.explode != (binding.style == Style::Form)).then_some(binding.explode),
            extensions: Default::default(),
        };
        match binding.location {
            Location::Path => Parameter::Path {
                parameter_data,
                style: match binding.style {
                    Style::Matrix => PathStyle::Matrix,
                    Style::Label => PathStyle::Label,
                    style => {
                        self.expect(style, &[Style::Simple], &binding.name);
                        PathStyle::Simple
                    }
                },
            },
            Location::Query => Parameter::Query {
                parameter_data,
                allow_reserved: binding.allow_reserved,
                style: self.query_style(binding.style, &binding.name),
                allow_empty_value: allows_empty.then_some(true),
            },
            Location::Header => {
                self.expect(binding.style, &[Style::Simple], &binding.name);
                Parameter::Header { parameter_data, style: HeaderStyle::Simple }
            }
            Location::Cookie => {
                self.expect(binding.style, &[Style::Form], &binding.name);
                Parameter::Cookie { parameter_data, style: CookieStyle::Form }
            }
        }
    }

    fn query_style(&mut self, style: Style, name: &str) -> QueryStyle {
        match style {
            Style::SpaceDelimited => QueryStyle::SpaceDelimited,
            Style::PipeDelimited => QueryStyle::PipeDelimited,
            Style::DeepObject => QueryStyle::DeepObject,
            style => {
                self.expect(style, &[Style::Form, Style::Simple], name);
                QueryStyle::Form
            }
        }
    }

    /// Reports a style of Swagger 2.0 that OpenAPI 3.0 does not have in this location.
    fn expect(&mut self, style: Style, known: &[Style], name: &str) {
        if !known.contains(&style) {
            self.losses.push(format!("the delimiter of the parameter `{name}`"));
        }
    }

    fn body(&mut self, body: &BodyBinding) -> RequestBody {
        let schema = match &body.shape {
            BodyShape::Argument(argument) => self.schema_of(argument, argument),
            BodyShape::Properties(members) => {
                let mut properties = Map::new();
                let mut required: Vec<&str> = Vec::new();
                for member in members {
                    properties.insert(member.name.clone(), self.schema_of(&member.argument, &member.name));
                    if self.is_required(&member.argument) {
                        required.push(&member.name);
                    }
                }
                let mut schema = json!({"type": "object", "properties": properties});
                if !required.is_empty() {
                    schema["required"] = json!(required);
                }
                schema
            }
        };
        if matches!(body.content, Content::Xml(_)) {
            self.losses.push("the names of XML elements and attributes".to_owned());
        }
        let mut media = MediaType { schema: Some(self.typed(&schema)), ..MediaType::default() };
        for (name, encoding) in &body.encoding {
            if let Some(exported) = self.encoding(name, encoding) {
                media.encoding.insert(name.clone(), exported);
            }
        }
        let mut exported = RequestBody { required: body.required, ..RequestBody::default() };
        exported.content.insert(body.media_type.clone(), media);
        exported
    }

    fn encoding(&mut self, name: &str, encoding: &Encoding) -> Option<ExportedEncoding> {
        if !encoding.headers.is_empty() {
            self.losses.push(format!("the header fields of the part `{name}`"));
        }
        let Encoding { content_type, style, explode, allow_reserved, .. } = encoding;
        if content_type.is_none() && style.is_none() && explode.is_none() && allow_reserved.is_none() {
            return None;
        }
        let mut exported = ExportedEncoding {
            content_type: content_type.clone(),
            style: style.map(|style| self.query_style(style, name)),
            explode: explode.unwrap_or(false),
            allow_reserved: allow_reserved.unwrap_or(false),
            ..ExportedEncoding::default()
        };
        if *explode == Some(false) {
            // The type omits `false`, which is not the default of the style `form`.
            exported.extensions.insert("explode".to_owned(), false.into());
        }
        Some(exported)
    }

    fn typed(&mut self, schema: &Value) -> ReferenceOr<Schema> {
        match self.schemas.typed(schema) {
            Ok(schema) => schema,
            Err(reason) => {
                self.losses.push(format!("a schema that OpenAPI 3.0 cannot represent ({reason})"));
                ReferenceOr::Item(any())
            }
        }
    }

    /// Returns the schema of an argument, without the hints that the reader adds. A fixed argument has an enumeration
    /// of one value.
    fn schema_of(&self, argument: &str, name: &str) -> Value {
        if let Some(fixed) = self.operation.fixed.iter().find(|fixed| fixed.argument == argument) {
            return json!({"enum": [fixed.value]});
        }
        let key = self.operation.idempotency_key.as_ref().filter(|key| key.argument == argument);
        if let Some(key) = key {
            return json!({"type": "string", "maxLength": key.max_chars, "description": KEY_DESCRIPTION});
        }
        let property = self.operation.tool.parameters.get("properties").and_then(|all| all.get(argument));
        let mut schema = property.cloned().unwrap_or_else(|| json!({}));
        without_hints(&mut schema, argument, name);
        schema
    }

    fn is_required(&self, argument: &str) -> bool {
        let required = self.operation.tool.parameters.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|name| name == argument))
            || self.operation.fixed.iter().any(|fixed| fixed.argument == argument)
    }
}

/// Whether the reader must be informed that the parameter may be empty: it is any text.
fn allows_empty(schema: &Value) -> bool {
    let is_text = schema.get("type").is_some_and(|name| name == "string");
    let has_bound = schema.get("minLength").and_then(Value::as_u64).is_some_and(|least| least > 0);
    is_text && !has_bound && ["enum", "const"].iter().all(|keyword| schema.get(*keyword).is_none())
}

/// Removes the hints about files and about the argument's name in the API from the end of the description.
fn without_hints(schema: &mut Value, argument: &str, name: &str) {
    let Some(members) = schema.as_object_mut() else { return };
    let Some(description) = members.get("description").and_then(Value::as_str) else { return };
    let mut text = description;
    for hint in [sent_as(argument, name), Some(FILE_HINT.to_owned())].into_iter().flatten() {
        text = text.strip_suffix(&hint).unwrap_or(text).trim_end();
    }
    // For a whole body, the names of its files precede the hint.
    let last = text.lines().next_back().unwrap_or_default();
    if text.len() < description.len() && last.starts_with('`') && last.ends_with("`:") {
        text = text.strip_suffix(last).unwrap_or(text).trim_end();
    }
    if text.len() == description.len() {
        return;
    }
    let text = text.to_owned();
    match text.is_empty() {
        true => drop(members.shift_remove("description")),
        false => drop(members.insert("description".to_owned(), text.into())),
    }
}

/// Returns the schema that accepts any value.
fn any() -> Schema {
    Schema {
        schema_data: openapiv3::SchemaData::default(),
        schema_kind: openapiv3::SchemaKind::Any(openapiv3::AnySchema::default()),
    }
}
