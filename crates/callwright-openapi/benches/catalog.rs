//! Measures the cost of loading a document and its growth with the document's size. `cargo bench --bench catalog`
//! prints a table with one row per format and number of operations. If loading is linear, microseconds and bytes per
//! operation stay about constant.
//!
//! With arguments (`cargo bench --bench catalog -- json 10000`), measures only that format and number of operations.
//! Each row is measured in a separate process, because the peak memory of a process never decreases.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "the table is what it is run for, and a fault ends the run"
)]

use callwright_allocator::Allocator;
use std::fmt::Write;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use callwright_openapi::{Catalog, Offline, ToolsetSettings};
use callwright_types::OperationRef;
use serde_json::{Value, json};

/// The same allocator as in the binary.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Numbers of operations in the generated documents.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Operations of each path: list, create, update and delete.
const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

/// Number of operations per schema of the document.
const OPERATIONS_PER_SCHEMA: usize = 10;

/// Number of properties of each schema.
const PROPERTIES: usize = 10;

/// Number of measured lookups.
const LOOKUPS: usize = 200_000;

/// Maximum size of a document, above the largest generated one.
const DOCUMENT_BYTES: u64 = 1 << 30;

fn main() {
    // Cargo adds options of its own.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    match arguments.as_slice() {
        [form, operations] => return measure(form, operations.parse().unwrap()),
        [form, operations, file] => return generate(Path::new(file), form, operations.parse().unwrap()),
        _ => {}
    }
    println!(
        "| form | operations | document MB | load s | µs per operation | peak MB | kept kB per operation | lookup ns |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|"
    );
    for form in ["json", "yaml"] {
        for operations in SIZES {
            let row = Command::new(std::env::current_exe().unwrap()).args([form, &operations.to_string()]).status();
            assert!(row.unwrap().success(), "{form} {operations}");
        }
    }
}

fn measure(form: &str, operations: usize) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("api.{form}"));
    // Runs in a separate process, so that the generator's memory is not counted.
    let generator =
        Command::new(std::env::current_exe().unwrap()).args([form, &operations.to_string()]).arg(&file).status();
    assert!(generator.unwrap().success());

    let mut settings = ToolsetSettings { document: file.display().to_string(), ..ToolsetSettings::default() };
    settings.limits.document_bytes = DOCUMENT_BYTES;
    let toolsets = [("api".to_owned(), settings)].into();
    let before = status("VmRSS:");
    let start = Instant::now();
    let catalog = Catalog::load(&toolsets, folder.path(), &Offline).unwrap().0;
    let seconds = start.elapsed().as_secs_f64();
    let (peak, kept) = (status("VmHWM:"), status("VmRSS:").saturating_sub(before));
    assert_eq!(catalog.toolset("api").unwrap().operations.len(), operations);

    let bytes = std::fs::metadata(&file).unwrap().len();
    println!(
        "| {form} | {operations} | {:.1} | {seconds:.2} | {:.0} | {:.0} | {:.1} | {:.0} |",
        bytes as f64 / 1e6,
        seconds * 1e6 / operations as f64,
        peak as f64 / 1e6,
        kept as f64 / 1e3 / operations as f64,
        nanoseconds_per_lookup(&catalog, operations)
    );
}

fn nanoseconds_per_lookup(catalog: &Catalog, operations: usize) -> f64 {
    // The step is coprime to the number of operations, so all of them are visited, in an order that caches cannot
    // predict.
    let names = (0..LOOKUPS)
        .map(|lookup| OperationRef { toolset: "api".to_owned(), tool: operation_id(lookup * 7_919 % operations) });
    let names: Vec<OperationRef> = names.collect();
    let start = Instant::now();
    for name in &names {
        assert!(black_box(catalog.operation(black_box(name))).is_some());
    }
    start.elapsed().as_nanos() as f64 / LOOKUPS as f64
}

/// Returns a field of this process's status on Linux, in bytes; 0 on other systems.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

fn generate(file: &Path, form: &str, operations: usize) {
    let document = document(operations);
    let text = if form == "yaml" {
        let mut text = String::new();
        yaml(&document, 0, &mut text);
        text
    } else {
        document.to_string()
    };
    std::fs::write(file, text).unwrap();
}

fn operation_id(number: usize) -> String {
    format!("{}Thing{number}", METHODS[number % METHODS.len()])
}

/// Generates a typical vendor document: four operations per path, shared parameters, bodies and responses by
/// reference, schemas that refer to their neighbours, and descriptions of every part.
fn document(operations: usize) -> Value {
    let schemas = (operations / OPERATIONS_PER_SCHEMA).max(1);
    let mut paths = serde_json::Map::new();
    for number in 0..operations {
        let path = format!("/v1/accounts/{{account_id}}/things{}", number / METHODS.len());
        let item =
            paths.entry(path).or_insert_with(|| json!({"parameters": [{"$ref": "#/components/parameters/Account"}]}));
        item[METHODS[number % METHODS.len()]] = operation(number, number / OPERATIONS_PER_SCHEMA % schemas);
    }
    let mut document = json!({
        "openapi": "3.0.3",
        "info": {"title": "Things", "version": "1", "description": "Everything about things."},
        "servers": [{"url": "https://api.example.com"}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
            "parameters": {"Account": {"name": "account_id", "in": "path", "required": true,
                "description": "The account's id, as the console shows it.", "schema": {"type": "string"}}},
            "responses": {"Error": {"description": "The request was refused.", "content": {"application/json": {
                "schema": {"$ref": "#/components/schemas/Error"}}}}},
            "schemas": {"Error": {"type": "object", "properties": {
                "code": {"type": "string", "enum": ["not_found", "conflict", "limited"],
                    "description": "What went wrong."},
                "message": {"type": "string", "description": "The same for people."}}}}
        }
    });
    for number in 0..schemas {
        document["components"]["schemas"][format!("Thing{number}")] = schema(number, schemas);
    }
    document
}

fn operation(number: usize, schema: usize) -> Value {
    let answer = json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/Thing{schema}")}}});
    let mut operation = json!({
        "operationId": operation_id(number),
        "summary": format!("Does something with thing {number}"),
        "description": "What it does depends on the account. Things that are locked cannot be changed before they are unlocked.",
        "tags": ["things"],
        "parameters": [
            {"name": "limit", "in": "query", "description": "At most so many, from 1 to 100.",
             "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}},
            {"name": "state", "in": "query", "description": "Only things in this state.",
             "schema": {"type": "string", "enum": ["open", "locked", "gone"]}}
        ],
        "responses": {"200": {"description": "The thing.", "content": answer},
            "404": {"$ref": "#/components/responses/Error"}, "default": {"$ref": "#/components/responses/Error"}}
    });
    if ["post", "put"].contains(&METHODS[number % METHODS.len()]) {
        operation["requestBody"] = json!({"required": true, "content": answer});
    }
    operation
}

/// Returns a schema whose last two properties refer to neighbouring schemas, in a ring.
fn schema(number: usize, schemas: usize) -> Value {
    let mut properties = serde_json::Map::new();
    for property in 0..PROPERTIES - 2 {
        let description = format!("Property {property} of thing {number}, which says more than its name.");
        properties.insert(format!("property{property}"), json!({"type": "string", "description": description}));
    }
    for next in 1..=2 {
        let target = format!("#/components/schemas/Thing{}", neighbour(number, next, schemas));
        properties.insert(format!("next{next}"), json!({"$ref": target}));
    }
    json!({"type": "object", "description": "A thing.", "required": ["property0"], "properties": properties})
}

/// Groups of eight neighbours: real schemas reach a few others, not all.
fn neighbour(number: usize, next: usize, schemas: usize) -> usize {
    ((number & !7) + ((number + next) & 7)).min(schemas - 1)
}

/// Writes YAML in block style. Scalars are written as JSON, which is valid YAML 1.2.
fn yaml(value: &Value, indent: usize, text: &mut String) {
    let entry = |head: String, value: &Value, text: &mut String| {
        write!(text, "{:indent$}{head}", "").unwrap();
        let is_block = value.as_object().is_some_and(|members| !members.is_empty())
            || value.as_array().is_some_and(|items| !items.is_empty());
        if is_block {
            text.push('\n');
            yaml(value, indent + 2, text);
        } else {
            writeln!(text, " {value}").unwrap();
        }
    };
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| entry(format!("{}:", json!(key)), value, text));
        }
        Value::Array(items) => items.iter().for_each(|item| entry("-".to_owned(), item, text)),
        _ => {}
    }
}
