//! Translates the JSON Schema of a tool to the Schema Object of OpenAPI 3.0.

use std::collections::BTreeSet;

use openapiv3::{ReferenceOr, Schema};
use serde_json::{Map, Value, json};

use crate::markup::plain_text;
use crate::schema::{DEFINITIONS, KeywordForm, form};

/// Prefix of references to the document's schemas.
const COMPONENTS: &str = "#/components/schemas/";

/// Keywords of JSON Schema that OpenAPI 3.0 does not have. A schema without them accepts more values.
const UNKNOWN: [&str; 15] = [
    "contains",
    "contentEncoding",
    "contentMediaType",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxContains",
    "minContains",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Translates schemas whose definitions are components.
pub(super) struct SchemaExporter<'a> {
    /// Returns the name of the component for a definition of the tool.
    pub(super) component: &'a dyn Fn(&str) -> String,
    /// Keywords that were left out.
    pub(super) losses: BTreeSet<&'static str>,
}

impl SchemaExporter<'_> {
    /// Returns the typed Schema Object.
    ///
    /// # Errors
    ///
    /// Returns the reason if the schema cannot be represented.
    pub(super) fn typed(&mut self, schema: &Value) -> Result<ReferenceOr<Schema>, String> {
        let translated = self.schema(schema);
        serde_json::from_value(translated).map_err(|error| error.to_string())
    }

    fn schema(&mut self, schema: &Value) -> Value {
        match schema {
            Value::Object(members) => self.object(members),
            Value::Bool(false) => json!({"not": {}}),
            _ => json!({}),
        }
    }

    fn object(&mut self, members: &Map<String, Value>) -> Value {
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            let name = reference.strip_prefix(DEFINITIONS).unwrap_or(reference);
            let reference = json!({"$ref": format!("{COMPONENTS}{}", (self.component)(name))});
            if members.len() == 1 {
                return reference;
            }
            // OpenAPI 3.0 ignores what is beside a `$ref`.
            let mut beside = members.clone();
            beside.shift_remove("$ref");
            let mut around = match self.object(&beside) {
                Value::Object(around) => around,
                _ => Map::new(),
            };
            match around.get_mut("allOf") {
                Some(Value::Array(branches)) => branches.insert(0, reference),
                _ => drop(around.insert("allOf".to_owned(), json!([reference]))),
            }
            return Value::Object(around);
        }
        let mut out = Map::new();
        for (keyword, value) in members {
            self.keyword(keyword, value, &mut out);
        }
        Value::Object(out)
    }

    fn keyword(&mut self, keyword: &str, value: &Value, out: &mut Map<String, Value>) {
        if let Some(unknown) = UNKNOWN.iter().find(|unknown| **unknown == keyword) {
            self.losses.insert(unknown);
            return;
        }
        match (keyword, form(keyword)) {
            ("type", _) => types(value, out),
            ("anyOf", _) if out.contains_key("anyOf") => {
                let types = json!({"anyOf": out.shift_remove("anyOf")});
                out.insert("allOf".to_owned(), json!([types]));
                out.insert("anyOf".to_owned(), self.list(value));
            }
            ("allOf", _) if out.contains_key("allOf") => {
                let branches = [out.shift_remove("allOf").unwrap_or_default(), self.list(value)];
                let both = branches.iter().filter_map(Value::as_array).flatten().cloned();
                out.insert("allOf".to_owned(), both.collect::<Vec<Value>>().into());
            }
            ("const", _) => drop(out.insert("enum".to_owned(), json!([value]))),
            ("examples", _) => self.example(value, out),
            ("description", _) => {
                drop(out.insert(keyword.to_owned(), escaped(value.as_str().unwrap_or_default()).into()))
            }
            ("exclusiveMaximum" | "exclusiveMinimum", _) if value.is_number() => {
                let plain = if keyword == "exclusiveMaximum" { "maximum" } else { "minimum" };
                out.insert(plain.to_owned(), value.clone());
                out.insert(keyword.to_owned(), true.into());
            }
            ("maximum", _) if out.contains_key("exclusiveMaximum") => {}
            ("minimum", _) if out.contains_key("exclusiveMinimum") => {}
            ("additionalProperties", _) if value.is_boolean() => drop(out.insert(keyword.to_owned(), value.clone())),
            (_, Some(KeywordForm::Schema)) => drop(out.insert(keyword.to_owned(), self.schema(value))),
            (_, Some(KeywordForm::Schemas)) => {
                out.insert(keyword.to_owned(), self.list(value));
            }
            (_, Some(KeywordForm::SchemaMap)) => {
                let mut properties = Map::new();
                for (name, schema) in value.as_object().into_iter().flatten() {
                    properties.insert(name.clone(), self.schema(schema));
                }
                out.insert(keyword.to_owned(), properties.into());
            }
            (_, Some(_)) => drop(out.insert(keyword.to_owned(), value.clone())),
            (_, None) => {}
        }
    }

    fn list(&mut self, schemas: &Value) -> Value {
        let schemas = schemas.as_array().into_iter().flatten();
        Value::Array(schemas.map(|schema| self.schema(schema)).collect())
    }

    fn example(&mut self, value: &Value, out: &mut Map<String, Value>) {
        let examples = value.as_array().map(Vec::as_slice).unwrap_or_default();
        if examples.len() > 1 {
            self.losses.insert("examples");
        }
        out.extend(examples.first().map(|example| ("example".to_owned(), example.clone())));
    }
}

/// Adds the type. Several types become alternatives, and `null` becomes `nullable`.
fn types(value: &Value, out: &mut Map<String, Value>) {
    let names: Vec<&Value> = value.as_array().map_or_else(|| vec![value], |names| names.iter().collect());
    let (nulls, types): (Vec<&Value>, Vec<&Value>) = names.into_iter().partition(|name| *name == "null");
    match types.as_slice() {
        [] if !nulls.is_empty() => {
            out.insert("enum".to_owned(), json!([null]));
            out.insert("nullable".to_owned(), true.into());
        }
        [] => {}
        [one] => {
            out.insert("type".to_owned(), (*one).clone());
            if !nulls.is_empty() {
                out.insert("nullable".to_owned(), true.into());
            }
        }
        several => {
            let mut branches: Vec<Value> = several.iter().map(|name| json!({"type": name})).collect();
            if !nulls.is_empty() {
                branches.push(json!({"enum": [null], "nullable": true}));
            }
            out.insert("anyOf".to_owned(), branches.into());
        }
    }
}

/// Returns a description that the reader converts to `text`: markup that is text is escaped.
pub(super) fn escaped(text: &str) -> String {
    if plain_text(text) == text {
        return text.to_owned();
    }
    text.replace('&', "&amp;").replace('<', "&lt;")
}
