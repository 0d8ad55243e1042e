//! Success and error responses of OpenAPI documents: their examples, and bodies generated from their schemas.

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

/// Maximum depth of a generated body.
const MAX_DEPTH: usize = 5;
/// Maximum number of members of an object.
const MAX_MEMBERS: usize = 25;
/// Maximum number of responses of one kind per document, so that all documents have similar weight.
const MAX_PER_DOCUMENT: usize = 24;

/// One documented response.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// Whether its status is 400 or more.
    pub(crate) failed: bool,
    pub(crate) status: u16,
    /// Description in the document.
    pub(crate) description: String,
    /// `None` if only the description is known.
    pub(crate) body: Option<Value>,
    /// Whether a success of the same document has the same members.
    pub(crate) like_a_success: bool,
}

/// Returns a number that depends only on the hashed value, so that the sample is the same in every run.
pub(crate) fn chance(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

pub(crate) fn answers(document: &Value) -> Vec<Answer> {
    let mut found = Vec::new();
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    for (_, methods) in paths {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            if ["get", "put", "post", "delete", "patch"].contains(&method.as_str()) {
                found.extend(of_operation(document, operation));
            }
        }
    }
    thinned(found)
}

fn of_operation(document: &Value, operation: &Value) -> Vec<Answer> {
    let mut found = Vec::new();
    for (status, response) in operation.get("responses").and_then(Value::as_object).into_iter().flatten() {
        let Ok(status) = status.parse::<u16>() else { continue };
        if !(200..300).contains(&status) && !(400..600).contains(&status) {
            continue;
        }
        let response = resolved(document, response);
        let description = response.get("description").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        let maker = Maker { document, status, description: &description };
        let answer = |body| Answer {
            failed: status >= 400,
            status,
            description: description.clone(),
            body,
            like_a_success: false,
        };
        let bodies = maker.bodies(response);
        if bodies.is_empty() {
            found.push(answer(None));
        }
        found.extend(bodies.into_iter().map(Some).map(answer));
    }
    found
}

/// Removes duplicates and responses beyond the limit, and marks those that have the members of a success.
fn thinned(found: Vec<Answer>) -> Vec<Answer> {
    let successes: HashSet<BTreeSet<String>> =
        found.iter().filter(|answer| !answer.failed).filter_map(|answer| shape(answer.body.as_ref()?)).collect();
    let mut seen = HashSet::new();
    let mut kept = [0, 0];
    let mut all = found;
    all.retain(|answer| {
        seen.insert((answer.status, answer.description.clone(), answer.body.as_ref().map(Value::to_string)))
    });
    all.sort_by_key(|answer| chance((&answer.description, answer.body.as_ref().map(Value::to_string))));
    all.retain(|answer| {
        let count = &mut kept[usize::from(answer.failed)];
        *count += 1;
        *count <= MAX_PER_DOCUMENT
    });
    for answer in all.iter_mut().filter(|answer| answer.failed) {
        answer.like_a_success =
            answer.body.as_ref().is_some_and(|body| shape(body).is_none_or(|shape| successes.contains(&shape)));
    }
    all
}

/// Returns the member names of a body, or `None` if it has none.
fn shape(body: &Value) -> Option<BTreeSet<String>> {
    let names: BTreeSet<String> = match body {
        Value::Object(members) => members.keys().cloned().collect(),
        Value::Array(items) => items.first()?.as_object()?.keys().cloned().collect(),
        _ => BTreeSet::new(),
    };
    (!names.is_empty()).then_some(names)
}

/// Returns the successful responses of an operation: the examples of the document, and those generated from its
/// schemas.
pub(crate) fn successes(document: &Value, operation: &Value) -> Vec<Success> {
    let mut found = Vec::new();
    for (status, response) in operation.get("responses").and_then(Value::as_object).into_iter().flatten() {
        let Some(status) = status.parse::<u16>().ok().filter(|status| (200..300).contains(status)) else { continue };
        let response = resolved(document, response);
        let description = response.get("description").and_then(Value::as_str).unwrap_or_default();
        let bodies = Maker { document, status, description }.bodies(response);
        let media = response.get("content").and_then(Value::as_object).into_iter().flatten();
        let media = media.filter(|(kind, _)| kind.contains("json")).map(|(_, media)| resolved(document, media));
        let schema = media.filter_map(|media| media.get("schema")).next().or_else(|| response.get("schema"));
        found.extend(bodies.into_iter().map(|body| Success { status, body, schema: schema.cloned() }));
    }
    found
}

/// A documented success and its schema.
pub(crate) struct Success {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) schema: Option<Value>,
}

pub(crate) fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    let mut here = value;
    for _ in 0..8 {
        let Some(target) = here.get("$ref").and_then(Value::as_str) else { break };
        here = target.strip_prefix('#').and_then(|pointer| document.pointer(pointer)).unwrap_or(&Value::Null);
    }
    here
}

struct Maker<'a> {
    document: &'a Value,
    status: u16,
    description: &'a str,
}

impl Maker<'_> {
    /// Returns the examples of a response, and a body generated from its schema.
    fn bodies(&self, response: &Value) -> Vec<Value> {
        let mut bodies = Vec::new();
        let content = response.get("content").and_then(Value::as_object).into_iter().flatten();
        for (_, media) in content.filter(|(kind, _)| kind.contains("json")) {
            let media = resolved(self.document, media);
            bodies.extend(media.get("example").cloned().map(unquoted));
            for (_, example) in media.get("examples").and_then(Value::as_object).into_iter().flatten() {
                bodies.extend(resolved(self.document, example).get("value").cloned().map(unquoted));
            }
            bodies.extend(media.get("schema").map(|schema| self.make(schema, "", 0)));
        }
        for (kind, example) in response.get("examples").and_then(Value::as_object).into_iter().flatten() {
            if kind.contains("json") {
                bodies.push(unquoted(example.clone()));
            }
        }
        bodies.extend(response.get("schema").map(|schema| self.make(schema, "", 0)));
        bodies
    }

    fn make(&self, schema: &Value, name: &str, depth: usize) -> Value {
        let schema = resolved(self.document, schema);
        if let Some(told) = self.told(name, schema) {
            return told;
        }
        for key in ["example", "const", "default"] {
            if let Some(value) = schema.get(key).filter(|value| !value.is_null()) {
                return value.clone();
            }
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty()) {
            return values[(chance((name, self.description)) % values.len() as u64) as usize].clone();
        }
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            let mut all = self.object(schema, depth);
            for part in parts {
                if let Value::Object(members) = self.make(part, name, depth + 1) {
                    all.extend(members);
                }
            }
            return Value::Object(all);
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(first) = schema.get(key).and_then(|parts| parts.get(0)) {
                return self.make(first, name, depth + 1);
            }
        }
        self.typed(schema, name, depth)
    }

    fn typed(&self, schema: &Value, name: &str, depth: usize) -> Value {
        let kind = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.first().and_then(Value::as_str).unwrap_or_default(),
            Some(kind) => kind.as_str().unwrap_or_default(),
            None if schema.get("properties").is_some() => "object",
            None => "string",
        };
        match kind {
            "object" => Value::Object(self.object(schema, depth)),
            "array" => {
                let item = schema.get("items").map(|items| self.make(items, name, depth + 1));
                Value::Array(item.into_iter().collect())
            }
            "integer" | "number" => json!(chance((name, self.status)) % 90 + 1),
            "boolean" => json!(chance(name).is_multiple_of(2)),
            _ => self.string(schema, name),
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Map<String, Value> {
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        properties.take(MAX_MEMBERS).map(|(name, schema)| (name.clone(), self.make(schema, name, depth + 1))).collect()
    }

    fn string(&self, schema: &Value, name: &str) -> Value {
        json!(match schema.get("format").and_then(Value::as_str).unwrap_or_default() {
            "date" => "2024-05-13".to_owned(),
            "date-time" => "2024-05-13T08:15:00Z".to_owned(),
            "uuid" => "5b0a3c1e-7d64-4c39-9d2a-0f8f5f0f7a11".to_owned(),
            "uri" | "url" => "https://example.org/a/17".to_owned(),
            "email" => "mia@example.org".to_owned(),
            _ => format!("{} {}", if name.is_empty() { "item" } else { name }, chance(name) % 90 + 10),
        })
    }

    /// Returns a server's typical value for a member whose name denotes the outcome of the request.
    fn told(&self, name: &str, schema: &Value) -> Option<Value> {
        let failed = self.status >= 400;
        let name: String = name.chars().filter(|letter| letter.is_alphanumeric()).collect::<String>().to_lowercase();
        let kind = schema.get("type").and_then(Value::as_str).unwrap_or("string");
        let is_enum = schema.get("enum").is_some();
        match (name.as_str(), kind) {
            ("ok" | "success" | "successful" | "issuccess" | "succeeded", "boolean") => Some(json!(!failed)),
            ("code" | "status" | "statuscode" | "httpstatus" | "httpcode", "integer" | "number") if failed => {
                Some(json!(self.status))
            }
            ("statuscode" | "httpstatus" | "httpcode", "integer" | "number") => Some(json!(self.status)),
            ("message" | "msg" | "detail" | "errormessage" | "errordescription" | "error" | "title", "string")
                if failed && !is_enum && schema.get("example").is_none() =>
            {
                let reason = http::StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
                let said = if self.description.is_empty() { reason.unwrap_or("Error") } else { self.description };
                Some(json!(said))
            }
            ("message" | "msg", "string") if !failed && schema.get("example").is_none() => Some(json!(
                ["OK", "Success", "The request was processed.", "Created"][(chance(self.description) % 4) as usize]
            )),
            ("error" | "errors" | "fault" | "exception" | "errormessage" | "errorcode" | "errordescription", _)
                if !failed =>
            {
                Some(match (kind, chance((self.description, &name)) % 3) {
                    (_, 0) => Value::Null,
                    ("array", _) => json!([]),
                    ("string", 1) => json!(""),
                    _ => Value::Null,
                })
            }
            _ => None,
        }
    }
}

/// Parses JSON examples that a document contains as text.
fn unquoted(example: Value) -> Value {
    match &example {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            serde_json::from_str(text).unwrap_or(example)
        }
        _ => example,
    }
}
