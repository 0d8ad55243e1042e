//! Exports a toolset as a normalised OpenAPI 3.0 document.
//!
//! The document describes the tools, not the text of their source: one operation per tool under the tool's name,
//! absolute servers, the arguments as parameters and body, and fixed values as enumerations of one value. Reading it
//! again makes the same tools. Descriptions of responses are not part of a toolset and are not exported.

mod definitions;
mod operation;
mod schema;
mod security;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};

use http::Method;
use indexmap::IndexMap;
use openapiv3::{Components, Info, OpenAPI, Operation as ExportedOperation, PathItem, ReferenceOr, Schema, Server};
use serde_json::{Map, Value, json};

use self::definitions::ComponentNames;
use self::operation::OperationExporter;
use self::schema::SchemaExporter;
use super::report::Simplification;
use super::{Operation, Toolset};

/// Version of the exported documents.
const OPENAPI: &str = "3.0.3";

/// Extension for operations whose method has no key in OpenAPI 3.0.
const FURTHER_METHODS: &str = "x-oai-additionalOperations";

/// Keyword for the definitions of a tool's schema.
const DEFINITIONS: &str = "$defs";

/// An exported toolset.
#[derive(Debug, Clone)]
pub struct Export {
    /// The document.
    pub document: OpenAPI,
    /// Parts of the tools that OpenAPI 3.0 cannot express and that were left out.
    pub losses: Vec<Simplification>,
}

/// Exports `toolset` as an OpenAPI 3.0 document.
pub fn export(toolset: &Toolset) -> Export {
    let mut exporter = ToolsetExporter::new(toolset);
    for operation in &toolset.operations {
        exporter.operation(operation);
    }
    exporter.finish()
}

struct ToolsetExporter<'a> {
    toolset: &'a Toolset,
    paths: IndexMap<String, ReferenceOr<PathItem>>,
    schemas: IndexMap<String, ReferenceOr<Schema>>,
    names: ComponentNames,
    /// Paths and methods that are taken.
    taken: HashSet<(String, Method)>,
    losses: Vec<Simplification>,
}

impl<'a> ToolsetExporter<'a> {
    fn new(toolset: &'a Toolset) -> Self {
        Self {
            toolset,
            paths: IndexMap::new(),
            schemas: IndexMap::new(),
            names: ComponentNames::default(),
            taken: HashSet::new(),
            losses: Vec::new(),
        }
    }

    fn operation(&mut self, operation: &Operation) {
        let none = Map::new();
        let definitions = operation.tool.parameters.get(DEFINITIONS).and_then(Value::as_object).unwrap_or(&none);
        let (names, new) = self.names.add(definitions);
        let component = |name: &str| names.get(name).map_or_else(|| name.to_owned(), Clone::clone);
        let schemas = SchemaExporter { component: &component, losses: BTreeSet::new() };
        let mut exporter = OperationExporter { toolset: self.toolset, operation, schemas, losses: Vec::new() };
        let exported = exporter.export();
        let OperationExporter { mut schemas, losses, .. } = exporter;
        for name in new {
            let Some(definition) = definitions.get(&name) else { continue };
            // A definition that cannot be represented accepts any value.
            let typed = schemas.typed(definition).or_else(|_| serde_json::from_value(json!({})));
            self.schemas.extend(typed.ok().map(|schema| (component(&name), schema)));
        }
        let keywords = schemas.losses.iter().map(|keyword| format!("the keyword `{keyword}`"));
        for what in losses.into_iter().chain(keywords) {
            let what = format!("OpenAPI 3.0 cannot express {what}; left out of the export");
            self.losses.push(Simplification { operation: operation.label(), what });
        }
        self.insert(operation, exported);
    }

    /// Adds the operation to its path. Paths that differ only in the spelling of the source get a fragment, which is
    /// never sent.
    fn insert(&mut self, operation: &Operation, exported: ExportedOperation) {
        let mut path = operation.path.clone();
        let mut number = 2;
        while !self.taken.insert((path.clone(), operation.method.clone())) {
            path = format!("{}#{number}", operation.path);
            number += 1;
        }
        let item = self.paths.entry(path).or_insert_with(|| ReferenceOr::Item(PathItem::default()));
        let ReferenceOr::Item(item) = item else { return };
        match slot(item, &operation.method) {
            Some(slot) => *slot = Some(exported),
            None => {
                let further = item.extensions.entry(FURTHER_METHODS.to_owned()).or_insert_with(|| json!({}));
                // An operation can always be represented in JSON.
                further[operation.method.as_str()] = serde_json::to_value(exported).unwrap_or_default();
            }
        }
    }

    fn finish(self) -> Export {
        let toolset = self.toolset;
        let mut components = Components { schemas: self.schemas, ..Components::default() };
        for (name, scheme) in &toolset.security_schemes {
            let exported = security::scheme(name, scheme, toolset);
            components.security_schemes.insert(name.clone(), ReferenceOr::Item(exported));
        }
        let mut servers = Vec::with_capacity(toolset.servers.len());
        for server in &toolset.servers {
            servers.push(Server { url: server.to_string(), ..Server::default() });
        }
        let document = OpenAPI {
            openapi: OPENAPI.to_owned(),
            info: Info { title: toolset.title.clone(), version: toolset.version.clone(), ..Info::default() },
            servers,
            paths: openapiv3::Paths { paths: self.paths, extensions: IndexMap::new() },
            components: Some(components),
            ..OpenAPI::default()
        };
        Export { document, losses: self.losses }
    }
}

/// Returns the member for a method's operation; `None` if OpenAPI 3.0 has none.
fn slot<'p>(item: &'p mut PathItem, method: &Method) -> Option<&'p mut Option<ExportedOperation>> {
    Some(match *method {
        Method::GET => &mut item.get,
        Method::PUT => &mut item.put,
        Method::POST => &mut item.post,
        Method::DELETE => &mut item.delete,
        Method::OPTIONS => &mut item.options,
        Method::HEAD => &mut item.head,
        Method::PATCH => &mut item.patch,
        Method::TRACE => &mut item.trace,
        _ => return None,
    })
}
