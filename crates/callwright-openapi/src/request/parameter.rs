//! Parses one parameter of an operation as described by OpenAPI 3.

use serde_json::Value;

use crate::request::content::SendableMediaType;
use crate::{BodyFormat, LoadNotes, LocatedValue, Location, Style};

/// Header parameters that OpenAPI 3.0.4 excludes. They are set from the body, the response media types and the
/// credentials.
const IGNORED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

/// One parameter as described by the document.
#[derive(Debug, Clone)]
pub(crate) struct OperationParameter<'d> {
    pub(crate) name: String,
    /// For a path parameter: the text between the braces of its template expression.
    pub(crate) slot: Option<String>,
    pub(crate) location: Location,
    pub(crate) required: bool,
    pub(crate) style: Style,
    pub(crate) explode: bool,
    pub(crate) allow_reserved: bool,
    /// Whether an empty value may be sent, regardless of the schema.
    pub(crate) allows_empty: bool,
    /// Media type of a parameter described by `content`.
    pub(crate) media_type: Option<String>,
    /// Styles of nested arrays.
    pub(crate) nested: Vec<Style>,
    /// Schema of the parameter; `None` if the document gives none.
    pub(crate) schema: Option<LocatedValue<'d>>,
    pub(crate) description: Option<&'d str>,
    pub(crate) deprecated: bool,
    /// The Parameter Object.
    pub(crate) at: LocatedValue<'d>,
}

/// The parameters of one operation: its own, and those of its path item that it does not override.
#[derive(Default)]
pub(crate) struct ParameterLists<'d> {
    /// Path, query, header and cookie.
    pub(crate) parameters: Vec<OperationParameter<'d>>,
    /// `in: body`.
    pub(crate) bodies: Vec<LocatedValue<'d>>,
    /// `in: formData`.
    pub(crate) fields: Vec<LocatedValue<'d>>,
}

impl ParameterLists<'_> {
    /// Whether there are bodies or form fields.
    pub(crate) fn has_body(&self) -> bool {
        !self.bodies.is_empty() || !self.fields.is_empty()
    }
}

/// Parses the OpenAPI 3 Parameter Object `at` of the parameter `name` in `location`.
pub(crate) fn parameter<'d>(
    at: LocatedValue<'d>,
    name: String,
    location: Location,
    notes: &mut LoadNotes,
) -> OperationParameter<'d> {
    let style = style(&at, location, notes);
    let content = at.member("content").and_then(|content| content.members().next());
    let content = content.map(|(media_type, media)| (media_type, media.follow().unwrap_or(media)));
    let schema = content.as_ref().map_or_else(|| at.member("schema"), |(_, media)| media.member("schema"));
    if schema.is_none() && content.is_none() {
        notes.remark_at(&at.at, format_args!("parameter `{name}` has no schema; any value is accepted"));
    }
    OperationParameter {
        required: location == Location::Path || at.flag("required") == Some(true),
        style,
        explode: at.flag("explode").unwrap_or(style == Style::Form),
        allow_reserved: at.flag("allowReserved") == Some(true),
        allows_empty: location == Location::Query && at.flag("allowEmptyValue") == Some(true),
        media_type: content.map(|(media_type, _)| media_type.clone()),
        nested: Vec::new(),
        schema,
        description: at.text("description"),
        deprecated: at.flag("deprecated") == Some(true),
        slot: None,
        name,
        location,
        at,
    }
}

/// Whether it is a header that a document cannot describe.
pub(crate) fn is_ignored(location: Location, name: &str) -> bool {
    location == Location::Header && IGNORED_HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

/// Returns the parameter's style. Replaces a style that its location does not support by the default, because the
/// parameter must be sent in some style.
fn style(parameter: &LocatedValue<'_>, location: Location, notes: &mut LoadNotes) -> Style {
    let Some(given) = parameter.value.get("style") else { return location.default_style() };
    let style = match (location, given.as_str().unwrap_or_default()) {
        (Location::Path, "matrix") => Some(Style::Matrix),
        (Location::Path, "label") => Some(Style::Label),
        (Location::Path | Location::Header, "simple") => Some(Style::Simple),
        (Location::Query | Location::Cookie, "form") => Some(Style::Form),
        // OpenAPI 3.2: like `form`, except for characters that are not allowed in cookies.
        (Location::Cookie, "cookie") => Some(Style::Form),
        (Location::Query, other) => Style::of_query(other),
        _ => None,
    };
    style.unwrap_or_else(|| {
        notes.remark_at(
            &parameter.at,
            format_args!("style {given} is not allowed for a {} parameter; the default is used", location.as_str()),
        );
        location.default_style()
    })
}

/// Keywords that add properties to those in `properties`, or restrict them.
const FURTHER_PROPERTIES: [&str; 8] =
    ["allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "dependentRequired"];

/// Returns the query parameters for the Parameter Object `at`, whose name is `name`.
///
/// # Errors
///
/// Returns the reason why the parameter cannot be split.
pub(crate) fn query_string_parameters<'d>(
    name: &str,
    at: &LocatedValue<'d>,
) -> Result<Vec<OperationParameter<'d>>, String> {
    let broken = |what: &str| format!("parameter `{name}` ({}) is the query string as a whole, but {what}", at.at);
    let media = at.member("content").and_then(|content| content.members().next());
    let (media_type, media) = media.ok_or_else(|| broken("has no `content`"))?;
    if SendableMediaType::new(media_type).format != BodyFormat::Form {
        return Err(broken(&format!("of the media type {media_type}; application/x-www-form-urlencoded is supported")));
    }
    let schema = media.follow().ok().and_then(|media| media.member("schema"));
    let schema = schema.and_then(|schema| schema.follow().ok()).filter(|schema| schema.value.is_object());
    let schema = schema.ok_or_else(|| broken("has no schema that can be found"))?;
    if let Some(keyword) = FURTHER_PROPERTIES.into_iter().find(|keyword| schema.value.get(keyword).is_some()) {
        return Err(broken(&format!("its schema has `{keyword}`; a plain object is supported")));
    }
    let properties = schema.member("properties").filter(|properties| properties.value.is_object());
    let properties = properties.ok_or_else(|| broken("its schema has no `properties`"))?;
    let required = schema.value.get("required").and_then(Value::as_array);
    let required = required.filter(|_| at.flag("required") == Some(true));
    Ok(properties
        .members()
        .map(|(property, schema)| OperationParameter {
            name: property.clone(),
            slot: None,
            location: Location::Query,
            required: required.is_some_and(|names| names.iter().any(|name| name == property)),
            style: Style::Form,
            explode: true,
            allow_reserved: false,
            allows_empty: false,
            media_type: None,
            nested: Vec::new(),
            description: None,
            deprecated: schema.flag("deprecated") == Some(true),
            at: schema.clone(),
            schema: Some(schema),
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use crate::load::toolset_of;
    use crate::{Location, Style, Toolset, ToolsetSettings};

    fn toolset(parameter: &Value) -> Toolset {
        let root = json!({
            "openapi": "3.2.0",
            "paths": {"/a": {"post": {"operationId": "a", "parameters": [parameter]}}},
            "components": {
                "schemas": {"Filter": {
                    "type": "object", "required": ["floor"],
                    "properties": {"floor": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}
                }},
                "mediaTypes": {"Form": {"schema": {"$ref": "#/components/schemas/Filter"}}}
            }
        });
        toolset_of(root, "api", Path::new("api.json"), &ToolsetSettings::default()).unwrap()
    }

    fn form(media: Value) -> Value {
        json!({"name": "filter", "in": "querystring", "required": true,
            "content": {"application/x-www-form-urlencoded": media}})
    }

    #[test]
    fn the_properties_of_a_query_string_become_query_parameters() {
        for media in [
            json!({"schema": {"$ref": "#/components/schemas/Filter"}}),
            json!({"$ref": "#/components/mediaTypes/Form"}),
        ] {
            let toolset = toolset(&form(media));
            let operation = toolset.operation("a").unwrap();
            let bindings: Vec<_> = operation
                .bindings
                .iter()
                .map(|binding| (binding.name.as_str(), binding.location, binding.style, binding.explode))
                .collect();
            let form = |name| (name, Location::Query, Style::Form, true);
            assert_eq!(bindings, [form("floor"), form("tags")]);
            assert_eq!(operation.tool.parameters["required"], json!(["floor"]));
            assert_eq!(operation.tool.parameters["properties"]["tags"]["items"]["type"], "string");
        }
        let mut optional = form(json!({"schema": {"$ref": "#/components/schemas/Filter"}}));
        optional["required"] = json!(false);
        assert_eq!(toolset(&optional).operation("a").unwrap().tool.parameters.get("required"), None);
    }

    #[test]
    fn query_strings_that_cannot_be_split_skip_their_operation() {
        let json =
            json!({"name": "q", "in": "querystring", "content": {"application/json": {"schema": {"type": "object"}}}});
        for (parameter, words) in [
            (json, "of the media type application/json"),
            (json!({"name": "q", "in": "querystring"}), "has no `content`"),
            (form(json!({})), "has no schema"),
            (form(json!({"schema": {"type": "object"}})), "has no `properties`"),
            (form(json!({"schema": {"allOf": []}})), "has `allOf`"),
        ] {
            let report = toolset(&parameter).report;
            assert_eq!(report.operations_loaded, 0);
            let reason = &report.operations_skipped[0].reason;
            assert!(reason.contains(words) && reason.contains("/paths/~1a/post/parameters/0"), "{reason}");
        }
    }
}
