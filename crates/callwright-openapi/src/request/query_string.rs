//! Splits a parameter for the whole query string (OpenAPI 3.2, `in: querystring`) into one parameter per property.

use serde_json::Value;

use crate::document::LocatedValue;
use crate::request::binding::{BodyFormat, Location, Style};
use crate::request::media_type::SendableMediaType;
use crate::request::parameter::OperationParameter;

/// Keywords that add properties to those in `properties`, or restrict them.
const FURTHER_PROPERTIES: [&str; 8] =
    ["allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "dependentRequired"];

/// Returns the query parameters for the Parameter Object `at`, whose name is `name`.
///
/// # Errors
///
/// Returns the reason why the parameter cannot be split.
pub(crate) fn parameters<'d>(name: &str, at: &LocatedValue<'d>) -> Result<Vec<OperationParameter<'d>>, String> {
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
    fn query_strings_that_cannot_be_taken_apart_skip_their_operation() {
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
