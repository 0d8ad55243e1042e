//! Builds producer segments from the catalog's operations.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::index::Producers;
use super::segment::Segment;
use super::tool::{Http, ToolShape};
use callwright_common::parallel::map_all;
use callwright_openapi::{Catalog, Location, Operation, Toolset};
use callwright_types::OutputLink;

/// Producers of a catalog: one segment per toolset, built when it is needed first.
#[derive(Debug, Clone, Default)]
pub struct CatalogProducers {
    segments: BTreeMap<String, DeferredSegment>,
}

/// Segment of a toolset, shared with the catalogs of other reloads that have the same toolset.
#[derive(Debug, Clone)]
struct DeferredSegment {
    toolset: Arc<Toolset>,
    segment: Arc<OnceLock<Arc<Segment>>>,
}

impl DeferredSegment {
    fn get(&self) -> &Arc<Segment> {
        self.segment.get_or_init(|| Arc::new(segment_of(&self.toolset)))
    }
}

impl CatalogProducers {
    /// Prepares the index of the toolsets of a catalog. Segments of unchanged toolsets are reused from `before`.
    pub fn new(catalog: &Catalog, before: Option<&Self>) -> Self {
        let segments = catalog.toolsets().map(|toolset| {
            let existing = before.and_then(|before| before.segments.get(&toolset.name));
            let existing = existing.filter(|existing| Arc::ptr_eq(&existing.toolset, toolset));
            let segment = existing.map(|existing| Arc::clone(&existing.segment)).unwrap_or_default();
            (toolset.name.clone(), DeferredSegment { toolset: Arc::clone(toolset), segment })
        });
        Self { segments: segments.collect() }
    }

    /// Returns the segment of a toolset.
    pub fn segment(&self, toolset: &str) -> Option<&Arc<Segment>> {
        self.segments.get(toolset).map(DeferredSegment::get)
    }

    /// Whether the segment of a toolset is built.
    pub fn is_ready(&self, toolset: &str) -> bool {
        self.segments.get(toolset).is_none_or(|deferred| deferred.segment.get().is_some())
    }

    /// Builds the segments of these toolsets in parallel, as far as they are not built.
    pub fn prepare(&self, toolsets: &[&str]) {
        let is_missing =
            |name: &&str| self.segments.get(*name).is_some_and(|deferred| deferred.segment.get().is_none());
        let missing: Vec<&str> = toolsets.iter().copied().filter(is_missing).collect();
        if missing.len() > 1 {
            map_all(&missing, |toolset| self.segment(toolset));
        }
    }

    /// Returns the producers of all toolsets, ordered by name.
    pub fn all(&self) -> Producers {
        let names: Vec<&str> = self.segments.keys().map(String::as_str).collect();
        self.prepare(&names);
        Producers::new(names.iter().filter_map(|name| self.segment(name)).map(Arc::clone))
    }
}

/// Builds the segment of one toolset, with its tools in order and under their offered names.
pub fn segment_of(toolset: &Toolset) -> Segment {
    let operations: Vec<OperationParts<'_>> =
        toolset.operations.iter().map(|operation| OperationParts::new(operation, toolset)).collect();
    Segment::build(&operations.iter().map(OperationParts::shape).collect::<Vec<_>>())
}

/// Parts of an operation that need conversion for a [`ToolShape`].
struct OperationParts<'a> {
    operation: &'a Operation,
    path: String,
    links: Vec<OutputLink>,
}

impl<'a> OperationParts<'a> {
    fn new(operation: &'a Operation, toolset: &Toolset) -> Self {
        let mut path = operation.path.clone();
        for binding in operation.bindings.iter().filter(|binding| binding.location == Location::Path) {
            path = path.replace(&format!("{{{}}}", binding.name), &format!("{{{}}}", binding.argument));
        }
        let links = operation.links.iter().filter_map(|link| {
            let target = toolset.operations.iter().find(|operation| operation.own_name() == link.tool)?;
            Some(OutputLink { tool: target.tool.name.clone(), ..link.clone() })
        });
        Self { operation, path, links: links.collect() }
    }

    fn shape(&self) -> ToolShape<'_> {
        let tool = &self.operation.tool;
        ToolShape {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
            outputs: &self.operation.outputs,
            http: Some(Http { method: self.operation.method.as_str(), path: &self.path }),
            links: &self.links,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use serde_json::{Value, json};

    use super::super::{Evidence, Request};
    use super::*;
    use callwright_openapi::{Changes, Offline, ToolsetSettings};

    fn document(paths: Value) -> String {
        json!({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}).to_string()
    }

    fn users() -> Value {
        let answer =
            |schema: Value| json!({"200": {"description": "", "content": {"application/json": {"schema": schema}}}});
        let user = json!({"type": "object", "title": "User", "properties": {"id": {"type": "string"}}});
        let id = json!([{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}]);
        json!({
            "/users": {"get": {"operationId": "listUsers", "responses": answer(json!({"type": "array", "items": user}))}},
            "/users/{id}": {"get": {"operationId": "getUser", "parameters": id, "responses": answer(user)}},
        })
    }

    #[test]
    fn operations_supply_arguments_and_reloads_keep_equal_segments() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("users.json"), document(users())).unwrap();
        fs::write(file("other.json"), document(json!({"/x": {"get": {"responses": {}}}}))).unwrap();
        let of = |name: &str| {
            (name.to_owned(), ToolsetSettings { document: format!("{name}.json"), ..ToolsetSettings::default() })
        };
        let settings: BTreeMap<_, _> = [of("users"), of("other")].into();
        let (catalog, _) = Catalog::load(&settings, folder.path(), &Offline).unwrap();
        let before = CatalogProducers::new(&catalog, None);

        let producers = before.all();
        let tool = producers.position("getUser").unwrap();
        let candidates = producers.candidates(tool, "id", &producers.score(&Request::parse("get a user"), &[]), 5);
        assert_eq!(
            (Some(candidates[0].tool), candidates[0].output.as_str()),
            (producers.position("listUsers"), "/0/id")
        );
        assert!(candidates[0].reasons.iter().any(|reason| reason.evidence == Evidence::Collection));

        fs::write(file("other.json"), document(json!({"/y": {"get": {"responses": {}}}}))).unwrap();
        let changes = Changes::Files([fs::canonicalize(file("other.json")).unwrap()].into());
        let (catalog, errors) = catalog.reload(&settings, folder.path(), &Offline, &changes).unwrap();
        assert!(errors.is_empty());
        let after = CatalogProducers::new(&catalog, Some(&before));
        let same = |name: &str| Arc::ptr_eq(before.segment(name).unwrap(), after.segment(name).unwrap());
        assert!(same("users") && !same("other"));
    }
}
