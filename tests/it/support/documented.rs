//! A local server generated from an OpenAPI document: it accepts valid requests and records complaints about all
//! others.

use std::sync::{Arc, Mutex};

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::reply::Reply;
use super::server::{Received, Server};

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The running server.
pub(crate) struct Documented {
    pub(crate) server: Server,
    complaints: Arc<Mutex<Vec<String>>>,
    visited: Arc<Mutex<Vec<String>>>,
}

impl Documented {
    /// Serves `document` below the path `base`.
    pub(crate) async fn start(document: Value, base: &'static str) -> Self {
        let (complaints, visited) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (all, names) = (complaints.clone(), visited.clone());
        let server = Server::scripted(move |_, received| match judge(&document, base, received) {
            Ok(operation) => {
                names.lock().unwrap().push(operation);
                Reply::json(200, &json!({"ok": true}))
            }
            Err(complaint) => {
                all.lock().unwrap().push(format!("{} {}: {complaint}", received.method, received.target));
                Reply::json(400, &json!({"complaint": complaint}))
            }
        })
        .await;
        Self { server, complaints, visited }
    }

    /// Returns the faults of the requests so far.
    pub(crate) fn complaints(&self) -> Vec<String> {
        self.complaints.lock().unwrap().clone()
    }

    /// Returns `METHOD /template` of every valid request.
    pub(crate) fn visited(&self) -> Vec<String> {
        self.visited.lock().unwrap().clone()
    }
}

/// Returns the number of operations of a document.
pub(crate) fn operation_count(document: &Value) -> usize {
    let items = document["paths"].as_object().into_iter().flatten().map(|(_, item)| item);
    items.map(|item| METHODS.iter().filter(|method| item.get(**method).is_some()).count()).sum()
}

/// Finds the operation of the request and validates the request against it.
fn judge(document: &Value, base: &str, received: &Received) -> Result<String, String> {
    let (path, query) = received.target.split_once('?').unwrap_or((&received.target, ""));
    let path = path.strip_prefix(base).ok_or_else(|| format!("not below {base}"))?;
    let method = received.method.to_ascii_lowercase();
    let (template, item) = find(document, path, &method).ok_or("no such operation")?;
    let operation = &item[&method];
    let parameters = parameters(document, item, operation);
    check_query(document, operation, &parameters, query)?;
    for parameter in parameters.iter().filter(|parameter| parameter["in"] == "header" && parameter["required"] == true)
    {
        let name = parameter["name"].as_str().unwrap_or_default().to_ascii_lowercase();
        if received.header(&name).is_none() && !["accept", "content-type", "authorization"].contains(&name.as_str()) {
            return Err(format!("header {name} is missing"));
        }
    }
    check_body(document, &resolved(document, &operation["requestBody"]), received)?;
    Ok(format!("{} {template}", received.method))
}

/// Returns the matching path template with the most literal segments.
fn find<'a>(document: &'a Value, path: &str, method: &str) -> Option<(&'a str, &'a Value)> {
    let items = document["paths"].as_object()?.iter();
    let fitting = items.filter(|(template, item)| item.get(method).is_some() && fits(template, path));
    fitting.map(|(template, item)| (template.as_str(), item)).min_by_key(|(template, _)| template.matches('{').count())
}

fn fits(template: &str, path: &str) -> bool {
    // The query of a template, as in some documents, is not part of the path.
    let template = template.split(['?', '#']).next().unwrap_or_default();
    let (wanted, given): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
    wanted.len() == given.len() && wanted.iter().zip(given).all(|(wanted, given)| segment_fits(wanted, given))
}

fn segment_fits(wanted: &str, given: &str) -> bool {
    match wanted.split_once('{') {
        None => wanted == percent_decode_str(given).decode_utf8_lossy(),
        Some((before, rest)) => {
            let after = rest.split_once('}').map_or("", |(_, after)| after);
            let after = after.split('{').next().unwrap_or_default();
            given.len() > before.len() && given.starts_with(before) && given.contains(after)
        }
    }
}

fn parameters(document: &Value, item: &Value, operation: &Value) -> Vec<Value> {
    let lists = [&operation["parameters"], &item["parameters"]];
    lists.into_iter().filter_map(Value::as_array).flatten().map(|parameter| resolved(document, parameter)).collect()
}

fn check_query(document: &Value, operation: &Value, parameters: &[Value], query: &str) -> Result<(), String> {
    let given: Vec<String> = url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned()).collect();
    let of_query = || parameters.iter().filter(|parameter| parameter["in"] == "query");
    let names_it = |parameter: &Value, given: &str| {
        let name = parameter["name"].as_str().unwrap_or_default();
        let schema = resolved(document, &parameter["schema"]);
        // Exploded objects have their member names in place of the parameter's name.
        given == name
            || given.starts_with(&format!("{name}["))
            || schema["properties"].get(given).is_some()
            || schema["type"] == "object"
    };
    for name in &given {
        let secret = document["components"]["securitySchemes"].as_object().into_iter().flatten();
        let is_secret = secret.into_iter().any(|(_, scheme)| scheme["in"] == "query" && scheme["name"] == **name);
        if !is_secret && !of_query().any(|parameter| names_it(parameter, name)) {
            return Err(format!("query parameter {name} does not belong to {}", operation["operationId"]));
        }
    }
    match of_query()
        .find(|parameter| parameter["required"] == true && !given.iter().any(|name| names_it(parameter, name)))
    {
        Some(missing) => Err(format!("query parameter {} is missing", missing["name"])),
        None => Ok(()),
    }
}

fn check_body(document: &Value, body: &Value, received: &Received) -> Result<(), String> {
    if received.body.is_empty() {
        return if body["required"] == true { Err("the body is missing".to_owned()) } else { Ok(()) };
    }
    let kind = received.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
    let media = body["content"].as_object().and_then(|content| {
        let fitting = content.iter().find(|(name, _)| name.split(';').next() == Some(kind));
        fitting.or_else(|| content.iter().find(|(name, _)| name.contains('*')))
    });
    let (_, media) = media.ok_or_else(|| format!("media type {kind} was not asked for"))?;
    if kind == "application/x-www-form-urlencoded" {
        let schema = resolved(document, &media["schema"]);
        let given: Vec<String> =
            url::form_urlencoded::parse(&received.body).map(|(name, _)| name.into_owned()).collect();
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        return match required.into_iter().find(|name| !given.iter().any(|given| given == name)) {
            Some(missing) => Err(format!("form field {missing} is missing")),
            None => Ok(()),
        };
    }
    if !kind.ends_with("json") {
        return Ok(());
    }
    let value: Value = serde_json::from_slice(&received.body).map_err(|error| format!("body: {error}"))?;
    let schema = json!({"allOf": [media["schema"]], "components": document["components"]});
    // OpenAPI 3.0 schemas are closest to draft 4 (boolean `exclusiveMinimum`). A schema that the validator rejects
    // accepts all values.
    let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft4).build(&schema);
    let Ok(validator) = validator else { return Ok(()) };
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    if errors.is_empty() { Ok(()) } else { Err(format!("body {value}: {errors:?}")) }
}

/// Resolves local references.
fn resolved(document: &Value, value: &Value) -> Value {
    let mut value = value;
    for _ in 0..16 {
        match value["$ref"].as_str().and_then(|reference| document.pointer(reference.strip_prefix('#')?)) {
            Some(target) => value = target,
            None => break,
        }
    }
    value.clone()
}
