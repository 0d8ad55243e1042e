//! The catalog's operations as producers see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::index::Producers;
use super::segment::Segment;
use super::shape::{Http, ToolShape};
use crate::catalog::{Catalog, Location, Operation, Toolset};
use crate::domain::OutputLink;

/// The producers of a catalog: a segment for each toolset, and which it was made from.
#[derive(Debug, Clone, Default)]
pub struct CatalogProducers {
    segments: BTreeMap<String, (Arc<Toolset>, Arc<Segment>)>,
}

impl CatalogProducers {
    /// Reads the toolsets of a catalog. Those that are as they were `before` keep their segments, which costs nothing.
    pub fn of(catalog: &Catalog, before: Option<&Self>) -> Self {
        let segment = |toolset: &Arc<Toolset>| {
            let known = before.and_then(|before| before.segments.get(&toolset.name));
            let same =
                known.filter(|(made_from, _)| Arc::ptr_eq(made_from, toolset)).map(|(_, segment)| Arc::clone(segment));
            let segment = same.unwrap_or_else(|| Arc::new(segment_of(toolset)));
            (toolset.name.clone(), (Arc::clone(toolset), segment))
        };
        Self { segments: catalog.toolsets().map(segment).collect() }
    }

    /// The segment of a toolset.
    pub fn segment(&self, toolset: &str) -> Option<&Arc<Segment>> {
        self.segments.get(toolset).map(|(_, segment)| segment)
    }

    /// The producers among the tools of all toolsets, in the order of their names.
    pub fn all(&self) -> Producers {
        Producers::new(self.segments.values().map(|(_, segment)| Arc::clone(segment)))
    }
}

/// The tools of one toolset, in its order and by the names under which they are offered.
pub fn segment_of(toolset: &Toolset) -> Segment {
    let operations: Vec<Described<'_>> =
        toolset.operations.iter().map(|operation| Described::of(operation, toolset)).collect();
    Segment::build(&operations.iter().map(Described::shape).collect::<Vec<_>>())
}

/// What of an operation has to be told in other words.
struct Described<'a> {
    operation: &'a Operation,
    path: String,
    links: Vec<OutputLink>,
}

impl<'a> Described<'a> {
    fn of(operation: &'a Operation, toolset: &Toolset) -> Self {
        let mut path = operation.path.clone();
        for binding in operation.bindings.iter().filter(|binding| binding.location == Location::Path) {
            path = path.replace(&format!("{{{}}}", binding.name), &format!("{{{}}}", binding.argument));
        }
        let offered = |link: &OutputLink| {
            let target = toolset.operations.iter().find(|operation| operation.own_name() == link.tool)?;
            Some(OutputLink { tool: target.tool.name.clone(), ..link.clone() })
        };
        Self { operation, path, links: operation.links.iter().filter_map(offered).collect() }
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
