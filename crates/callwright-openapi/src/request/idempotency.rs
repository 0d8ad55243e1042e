//! Detects the idempotency key parameter of an operation, by which the API recognises a repeated request.

use http::Method;
use serde::Serialize;
use serde_json::Value;

use crate::request::arguments::JoinedArguments;
use crate::schema::{ArgumentSchema, ObjectArgument, RequestPart};
use crate::{BodyShape, LoadNotes, LocatedValue, Location};
use callwright_common::text::letters;

/// Names, without case and separators, that suffice to identify the parameter: `Idempotency-Key` (an IETF draft,
/// draft-ietf-httpapi-idempotency-key-header), `X-Idempotency-Key`, `idempotency_key`, `IdempotencyToken`, ...
const NAMES: [&str; 5] = ["idempotencykey", "idempotencytoken", "idempotencyid", "idempotentkey", "idempotenttoken"];

/// Name parts that identify the parameter if its description also mentions idempotency: one of `OWNERS` followed by
/// one of `KINDS`, as in `X-Amz-Client-Token`, `clientToken` or `request_id`.
const OWNERS: [&str; 2] = ["client", "request"];
const KINDS: [&str; 5] = ["token", "key", "id", "uuid", "guid"];

/// Length of a generated key: a UUID in text form.
const KEY_CHARS: u64 = 36;

/// Minimum length of a generated key if the document limits it: 64 random bits in hexadecimal digits.
const MIN_KEY_CHARS: u64 = 16;

/// The idempotency key parameter of an operation. It is not an argument of the tool, because only the sender can
/// determine whether a request is a retry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IdempotencyKey {
    /// Name of the argument in the operation's bindings or body, under which the key is inserted.
    pub argument: String,
    /// Maximum length of the key, in characters.
    pub max_chars: usize,
}

/// Finds the idempotency key of an operation that changes state, and removes it from the tool's arguments.
///
/// The key is a string: a header or query parameter, or a member of a body whose members are arguments. It is
/// identified by its name ([`NAMES`]), or by name and description together ([`OWNERS`], [`KINDS`]). A parameter that
/// cannot hold a UUID (because of enumeration, pattern, format or length) stays an argument.
pub(crate) fn take_key(
    method: &Method,
    joined: &mut JoinedArguments<'_>,
    notes: &mut LoadNotes,
) -> Option<IdempotencyKey> {
    if matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE) {
        return None;
    }
    let found = joined.arguments.iter().enumerate().find_map(|(position, argument)| {
        let wire_name = wire_name(joined, argument)?;
        let schema = match &argument.schema {
            ArgumentSchema::Document(schema) => schema.follow().ok(),
            ArgumentSchema::Alternatives(_) | ArgumentSchema::Object(_) | ArgumentSchema::Own(_) => None,
        };
        let descriptions =
            argument.description.into_iter().chain(schema.as_ref().and_then(|schema| schema.text("description")));
        is_key(wire_name, descriptions)
            .then(|| max_chars(schema.as_ref()))
            .flatten()
            .map(|max_chars| (position, max_chars))
    });
    let (position, max_chars) = found?;
    let argument = joined.arguments.remove(position).name;
    notes.remark(format!("`{argument}` is an idempotency key; the executor generates it, and it is not offered"));
    Some(IdempotencyKey { argument, max_chars })
}

/// Returns the argument's name on the wire if its location can carry a key.
fn wire_name<'a>(joined: &'a JoinedArguments<'_>, argument: &'a ObjectArgument<'_>) -> Option<&'a str> {
    if argument.part == RequestPart::Body {
        let is_member = matches!(joined.body.as_ref().map(|body| &body.shape), Some(BodyShape::Properties(_)));
        return is_member.then_some(argument.name.as_str());
    }
    let binding = joined.bindings.iter().find(|binding| binding.argument == argument.name)?;
    matches!(binding.location, Location::Header | Location::Query).then_some(binding.name.as_str())
}

fn is_key<'a>(name: &str, mut descriptions: impl Iterator<Item = &'a str>) -> bool {
    let plain = letters(name);
    if NAMES.iter().any(|known| plain.ends_with(known)) {
        return true;
    }
    let names_a_token = OWNERS.iter().any(|owner| {
        plain.split_once(owner).is_some_and(|(_, behind)| KINDS.iter().any(|kind| behind.ends_with(kind)))
    });
    names_a_token && descriptions.any(|text| text.to_ascii_lowercase().contains("idempoten"))
}

/// Returns the maximum length of a key that the schema allows; `None` if it allows no generated key.
fn max_chars(schema: Option<&LocatedValue<'_>>) -> Option<usize> {
    let Some(schema) = schema else { return usize::try_from(KEY_CHARS).ok() };
    let is_string = match schema.value.get("type") {
        None => true,
        Some(Value::String(name)) => name == "string",
        Some(Value::Array(names)) => names.iter().any(|name| name == "string"),
        Some(_) => false,
    };
    let is_uuid = schema.text("format").is_some_and(|format| format.eq_ignore_ascii_case("uuid"));
    let is_free =
        ["enum", "const", "allOf", "anyOf", "oneOf", "not"].iter().all(|word| schema.value.get(*word).is_none())
            && (is_uuid || schema.value.get("pattern").is_none() && schema.text("format").is_none());
    let [min, max] = ["minLength", "maxLength"].map(|keyword| schema.value.get(keyword).and_then(Value::as_u64));
    let longest = max.unwrap_or(KEY_CHARS).min(KEY_CHARS);
    let least = if is_uuid { KEY_CHARS } else { MIN_KEY_CHARS }.max(min.unwrap_or(0));
    if is_string && is_free && least <= longest { usize::try_from(longest).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use crate::load::toolset_of;
    use crate::{IdempotencyKey, Operation, ToolsetSettings};

    fn operation(method: &str, parameter: serde_json::Value, body: serde_json::Value) -> Operation {
        let root = json!({
            "openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "servers": [{"url": "https://api.example.com"}],
            "paths": {"/pay": {method: {
                "operationId": "pay",
                "parameters": [parameter],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": body}}}},
                "responses": {"200": {"description": "ok"}}
            }}}
        });
        let toolset = toolset_of(root, "api", Path::new("api.json"), &ToolsetSettings::default()).unwrap();
        toolset.operations.into_iter().next().unwrap()
    }

    fn of_header(name: &str, schema: serde_json::Value, description: &str) -> Operation {
        operation(
            "post",
            json!({"name": name, "in": "header", "schema": schema, "description": description}),
            json!({}),
        )
    }

    #[test]
    fn a_parameter_named_as_a_key_is_one_and_is_not_offered() {
        for name in ["Idempotency-Key", "X-Idempotency-Key", "idempotency_key", "IdempotencyToken", "x-idempotent-key"]
        {
            let operation = of_header(name, json!({"type": "string"}), "");
            assert_eq!(
                operation.idempotency_key,
                Some(IdempotencyKey { argument: name.into(), max_chars: 36 }),
                "{name}"
            );
            assert!(operation.tool.parameters["properties"].get(name).is_none(), "{}", operation.tool.parameters);
            assert_eq!(operation.bindings.len(), 1, "it is still bound");
        }
    }

    #[test]
    fn a_required_key_is_no_longer_required_of_the_model() {
        let parameter =
            json!({"name": "Idempotency-Key", "in": "header", "required": true, "schema": {"type": "string"}});
        let operation = operation("post", parameter, json!({"amount": {"type": "integer"}}));
        let required = operation.tool.parameters.get("required").cloned().unwrap_or_default();
        assert!(!required.to_string().contains("Idempotency"), "{required}");
    }

    #[test]
    fn a_token_is_a_key_where_its_description_says_so() {
        let description = "A unique token that you provide to ensure the idempotency of the request.";
        for name in ["X-Amz-Client-Token", "clientToken", "ClientRequestToken", "request_id"] {
            assert!(of_header(name, json!({"type": "string"}), description).idempotency_key.is_some(), "{name}");
            assert!(of_header(name, json!({"type": "string"}), "A token.").idempotency_key.is_none(), "{name}");
        }
        for name in ["id", "sequence", "key", "name", "accessToken"] {
            assert!(of_header(name, json!({"type": "string"}), description).idempotency_key.is_none(), "{name}");
        }
    }

    #[test]
    fn a_member_of_the_body_and_a_query_parameter_may_be_one() {
        let none = json!({"name": "a", "in": "query", "schema": {"type": "string"}});
        let of_body =
            operation("post", none, json!({"idempotency_key": {"type": "string", "maxLength": 20}, "amount": {}}));
        assert_eq!(of_body.idempotency_key, Some(IdempotencyKey { argument: "idempotency_key".into(), max_chars: 20 }));
        assert!(of_body.tool.parameters["properties"].get("amount").is_some());
        let of_query = json!({"name": "idempotencyKey", "in": "query", "schema": {"type": "string"}});
        assert!(operation("delete", of_query, json!({})).idempotency_key.is_some());
        let of_cookie = json!({"name": "idempotencyKey", "in": "cookie", "schema": {"type": "string"}});
        assert!(operation("post", of_cookie, json!({})).idempotency_key.is_none());
    }

    #[test]
    fn a_key_that_cannot_hold_a_uuid_stays_an_argument() {
        for schema in [
            json!({"type": "integer"}),
            json!({"type": "string", "enum": ["a"]}),
            json!({"type": "string", "pattern": "^[0-9]{4}$"}),
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "string", "maxLength": 8}),
            json!({"type": "string", "minLength": 64}),
            json!({"type": "string", "format": "uuid", "maxLength": 32}),
        ] {
            let operation = of_header("Idempotency-Key", schema.clone(), "");
            assert_eq!(operation.idempotency_key, None, "{schema}");
            assert!(operation.tool.parameters["properties"].get("Idempotency-Key").is_some(), "{schema}");
        }
        let uuid = json!({"type": "string", "format": "uuid", "pattern": "^[0-9a-f-]{36}$"});
        assert!(of_header("Idempotency-Key", uuid, "").idempotency_key.is_some());
    }

    #[test]
    fn a_reading_operation_needs_none() {
        let parameter = json!({"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}});
        assert!(operation("get", parameter, json!({})).idempotency_key.is_none());
    }
}
