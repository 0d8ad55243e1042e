//! Index of the tools that can supply an argument, by the toolsets and rules of a turn, with the client's own tools.
//!
//! The part of the toolsets is built when documents are loaded, and reused by reloads that do not change them. The
//! combination for a turn is cached for the next one, because an agent sends the same tools with every request. A turn
//! that comes before many operations are indexed does not wait: it goes on without argument sources.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use callwright_common::cache::{ByteCache, FirstSight, Usage};
use callwright_common::limits::CACHE_BYTES;
use callwright_executor::Permissions;
use callwright_openapi::{Catalog, Operation, Toolset};
use callwright_plan::generation::{PlanTool, Tools};
use callwright_plan::producers::{CatalogProducers, Edges, Producers, Segment, ToolShape};
use callwright_plan::when::{Prerequisite, any_names_a_key, requires_key};
use callwright_search::embedding::Embedder;
use callwright_types::rules::{ExecuteRules, ToolGlobs};
use callwright_types::{OutputField, Tool};

use super::offer::{CATALOG_TOOLS_BYTES, INDEXED_BYTES_PER_BYTE, INDEXED_BYTES_PER_TOOL, catalog_tools_bytes};
use super::toolset_index::ToolsetIndex;
use crate::pipeline::settings::SMALL_LIST_BYTES;

/// Maximum number of operations that a turn indexes itself, which takes some milliseconds once.
const MAX_INDEXED_IN_PLACE: usize = 64;

/// Maximum number of operations that a turn combines itself if their toolsets are indexed: about a millisecond.
const MAX_COMBINED_IN_PLACE: usize = 2_048;

/// Maximum number of sets of toolsets that are indexed in the background at the same time.
const MAX_BACKGROUND_BUILDS: usize = 4;

/// Maximum number of client tools of which each is compared with each, once per list.
const MAX_COMPARED_TOOLS: usize = 256;

/// Index of the tools that can supply the arguments of a catalog.
#[derive(Debug)]
pub struct ProducerIndex {
    of_catalog: CatalogProducers,
    edges: Arc<Edges>,
    /// The catalog's tools of a scope without a list.
    of_scopes: ByteCache<IndexScope, Arc<IndexedTools>>,
    indexed: ByteCache<IndexScope, Arc<IndexedTools>>,
    /// First occurrences of large client tool lists.
    first_sight: FirstSight,
    /// Sets of toolsets that a background task indexes.
    building: Mutex<HashSet<IndexScope>>,
}

/// The tools that a turn may use: those of its toolsets that the rules allow to be called, and the client's list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct IndexScope {
    /// Toolset entries of the configuration that take part.
    pub(crate) toolsets: Vec<String>,
    /// Tools that are never offered.
    pub(crate) never: ToolGlobs,
    pub(crate) execute: ExecuteRules,
    pub(crate) list: String,
    /// Whether the rules apply to the client's tools too.
    pub(crate) narrowed: bool,
}

impl IndexScope {
    /// Returns the scope without the client's tools.
    fn of_catalog(&self) -> Self {
        let (toolsets, never, execute) = (self.toolsets.clone(), self.never.clone(), self.execute.clone());
        Self { toolsets, never, execute, list: String::new(), narrowed: false }
    }

    fn toolsets_in<'a>(&'a self, catalog: &'a Catalog) -> impl Iterator<Item = &'a Arc<Toolset>> {
        self.toolsets.iter().flat_map(|name| catalog.toolsets_of(name))
    }

    fn operation_count(&self, catalog: &Catalog) -> usize {
        self.toolsets_in(catalog).map(|toolset| toolset.operations.len()).sum()
    }
}

/// The tools of a turn by position, and which of them supply which argument.
#[derive(Debug, Default)]
pub(crate) struct IndexedTools {
    pub(crate) producers: Producers,
    /// The toolsets, each with the position of its first tool.
    toolsets: Arc<[(usize, Arc<Toolset>)]>,
    /// Number of the catalog's tools.
    catalog_tools: usize,
    /// The client's own tools; their positions follow the catalog's.
    client: Vec<Arc<Tool>>,
    /// Index of the client's own tools, if any.
    own: Option<Arc<Segment>>,
    /// Cache: whether a tool requires a key, at most one entry per tool.
    requiring: Mutex<HashMap<usize, bool>>,
    /// Whether the operator confirmed sources of arguments.
    has_confirmed_edges: bool,
    /// Cache: whether some request may need a plan.
    may_need_plan: OnceLock<bool>,
    /// Cache of the required keys, at most one entry per tool.
    prerequisites: Mutex<HashMap<usize, Arc<[Prerequisite]>>>,
}

impl ProducerIndex {
    /// Builds the index of a catalog. Reuses the unchanged parts of `before`.
    pub fn fill(catalog: &Catalog, edges: Arc<Edges>, before: Option<&Self>) -> Self {
        let of_catalog = CatalogProducers::new(catalog, before.map(|before| &before.of_catalog));
        Self::of(of_catalog, edges)
    }

    /// Returns the same index with other edges from the operator.
    #[must_use]
    pub fn with_edges(&self, edges: Arc<Edges>) -> Self {
        Self::of(self.of_catalog.clone(), edges)
    }

    fn of(of_catalog: CatalogProducers, edges: Arc<Edges>) -> Self {
        Self {
            of_catalog,
            edges,
            of_scopes: ByteCache::new(CATALOG_TOOLS_BYTES as u64, |_, tools: &Arc<IndexedTools>| {
                catalog_tools_bytes(tools.catalog_tools)
            }),
            indexed: ByteCache::new(CACHE_BYTES, indexed_bytes),
            first_sight: FirstSight::new(SMALL_LIST_BYTES),
            building: Mutex::default(),
        }
    }

    /// Returns the cache usage.
    pub(crate) fn usage(&self) -> Usage {
        self.of_scopes.usage() + self.indexed.usage()
    }

    /// Returns the tool names in the operator's file that the catalog lacks. Clients may send tools with these names.
    pub fn strangers(&self) -> Vec<&str> {
        if *self.edges == Edges::default() {
            return Vec::new();
        }
        self.of_catalog.all().unknown(&self.edges).into_iter().collect()
    }

    /// Returns the producers among all tools of the catalog, in the order of its toolsets and their operations.
    pub(crate) fn of_all(&self) -> Producers {
        self.of_catalog.all().with_edges(&self.edges)
    }

    /// Returns the cached index of the tools that a turn may use.
    pub(crate) fn known(&self, scope: &IndexScope) -> Option<Arc<IndexedTools>> {
        self.indexed.get(scope)
    }

    /// Whether [`Self::build`] takes no longer than a turn may wait: the part of the catalog has few operations or is
    /// built.
    pub(crate) fn is_ready(&self, catalog: &Catalog, scope: &IndexScope) -> bool {
        let operations = scope.operation_count(catalog);
        operations <= MAX_INDEXED_IN_PLACE
            || operations <= MAX_COMBINED_IN_PLACE && self.has_segments(catalog, scope)
            || self.of_scopes.get(&scope.of_catalog()).is_some()
    }

    /// Builds the part of the catalog for later turns in the background, unless that is in progress. Needs a Tokio
    /// runtime.
    pub(crate) fn build_in_background(self: &Arc<Self>, catalog: &Arc<Catalog>, scope: &IndexScope) {
        let scope = scope.of_catalog();
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if building.len() >= MAX_BACKGROUND_BUILDS || !building.insert(scope.clone()) {
            return;
        }
        let (toolsets, operations) = (scope.toolsets.join(", "), scope.operation_count(catalog));
        tracing::info!(toolsets, operations, "argument sources are being indexed; until then, turns have no plans");
        let (index, catalog) = (Arc::clone(self), Arc::clone(catalog));
        tokio::task::spawn_blocking(move || {
            let started = Instant::now();
            index.of_scopes.get_with(scope.clone(), || Arc::new(index.catalog_tools(&catalog, &scope)));
            tracing::info!(toolsets, seconds = started.elapsed().as_secs_f64(), "argument sources are indexed");
            // After a panic, the set stays marked and is not tried again.
            index.building.lock().unwrap_or_else(PoisonError::into_inner).remove(&scope);
        });
    }

    fn has_segments(&self, catalog: &Catalog, scope: &IndexScope) -> bool {
        scope.toolsets_in(catalog).all(|toolset| self.of_catalog.is_ready(&toolset.name))
    }

    /// Indexes the tools that a turn may use, with the `client`'s own tools.
    pub(crate) fn build(&self, catalog: &Catalog, scope: &IndexScope, client: Vec<Tool>) -> Arc<IndexedTools> {
        let catalog_tools = || Arc::new(self.catalog_tools(catalog, scope));
        let of_catalog = self.of_scopes.get_with(scope.of_catalog(), catalog_tools);
        let build = || match client.is_empty() {
            true => of_catalog,
            false => Arc::new(of_catalog.with_client(client, scope, &self.edges)),
        };
        match self.first_sight.admits(scope, scope.list.len()) {
            true => self.indexed.get_with(scope.clone(), build),
            false => build(),
        }
    }

    /// Builds the parts of these configuration entries before a turn needs them.
    pub fn prepare<'a>(&self, catalog: &Catalog, entries: impl IntoIterator<Item = &'a String>) {
        let toolsets = entries.into_iter().flat_map(|entry| catalog.toolsets_of(entry));
        self.of_catalog.prepare(&toolsets.map(|toolset| toolset.name.as_str()).collect::<Vec<_>>());
    }

    fn catalog_tools(&self, catalog: &Catalog, scope: &IndexScope) -> IndexedTools {
        self.prepare(catalog, &scope.toolsets);
        let permissions = Permissions::new(&scope.execute);
        let (mut toolsets, mut segments, mut barred) = (Vec::new(), Vec::new(), HashSet::new());
        let mut first = 0;
        for toolset in scope.toolsets_in(catalog) {
            let Some(segment) = self.of_catalog.segment(&toolset.name) else { continue };
            for (at, operation) in toolset.operations.iter().enumerate() {
                let name = format!("{}/{}", toolset.name, operation.own_name());
                if scope.never.name(&name) || !permissions.permit(&operation.method, &name) {
                    barred.insert(first + at);
                }
            }
            segments.push(Arc::clone(segment));
            toolsets.push((first, Arc::clone(toolset)));
            first += segment.len();
        }
        IndexedTools {
            producers: Producers::new(segments).without(barred).with_edges(&self.edges),
            toolsets: toolsets.into(),
            catalog_tools: first,
            has_confirmed_edges: !self.edges.confirmed.is_empty(),
            ..IndexedTools::default()
        }
    }

    /// Adds the vectors of the toolsets' tools for semantic comparison, as soon as they are available.
    pub(crate) fn take_vectors(&self, tools: &IndexedTools, toolset_index: &ToolsetIndex) {
        for (_, toolset) in &*tools.toolsets {
            let Some(segment) = self.of_catalog.segment(&toolset.name).filter(|segment| !segment.has_vectors()) else {
                continue;
            };
            if let Some(vectors) = toolset_index.by_toolset.get(&toolset.name).and_then(|tools| tools.meanings()) {
                segment.take_vectors(vectors);
            }
        }
    }
}

fn indexed_bytes(key: &IndexScope, tools: &Arc<IndexedTools>) -> usize {
    key.list.len() * INDEXED_BYTES_PER_BYTE + tools.client.len() * INDEXED_BYTES_PER_TOOL
}

impl IndexedTools {
    /// Returns these tools of the catalog with the client's own tools.
    fn with_client(&self, client: Vec<Tool>, scope: &IndexScope, edges: &Edges) -> Self {
        let shapes: Vec<ToolShape<'_>> = client.iter().map(shape).collect();
        let segment = Arc::new(Segment::build(&shapes));
        let mut barred = HashSet::new();
        for (at, tool) in client.iter().enumerate() {
            // A later tool of the same name is hidden by the first one.
            let is_first = segment.position(&tool.name) == Some(at);
            if !tool.is_function() || !is_first || scope.narrowed && scope.never.name(&tool.name) {
                barred.insert(self.catalog_tools + at);
            }
            barred.extend(self.producers.position(&tool.name));
        }
        let producers = self.producers.clone().with_segment(Arc::clone(&segment)).without(barred).with_edges(edges);
        Self {
            producers,
            toolsets: Arc::clone(&self.toolsets),
            catalog_tools: self.catalog_tools,
            client: client.into_iter().map(Arc::new).collect(),
            own: Some(segment),
            has_confirmed_edges: self.has_confirmed_edges,
            ..Self::default()
        }
    }

    /// Adds the vectors of the client's own tools if the embedder is immediate. A request does not wait for a slower
    /// one.
    pub(crate) async fn take_own_vectors(&self, embedder: &dyn Embedder) {
        let Some(own) = self.own.as_ref().filter(|own| embedder.is_immediate() && !own.has_vectors()) else { return };
        let texts = self.client.iter().map(|tool| shape(tool).embedded()).collect();
        if let Ok(vectors) = embedder.embed(texts).await {
            own.take_vectors(&vectors.into());
        }
    }

    /// Whether the tool at a position requires a key. Cached, because every turn checks every offered tool.
    pub(crate) fn requires_key(&self, position: usize, tools: &dyn Tools) -> bool {
        let mut known = self.requiring.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(position).or_insert_with(|| tools.tool(position).is_some_and(|tool| requires_key(&tool)))
    }

    /// Whether some request may need a plan. Cached, because it depends on the tools alone, and the analysis of a request
    /// compares it with every tool.
    pub(crate) fn may_need_plan(&self, tools: &dyn Tools) -> bool {
        *self.may_need_plan.get_or_init(|| {
            let is_undocumented = self.catalog_tools == 0 && !self.has_confirmed_edges;
            if !is_undocumented || self.client.len() > MAX_COMPARED_TOOLS {
                return true;
            }
            let tools: Vec<PlanTool> = (0..self.client.len()).filter_map(|position| tools.tool(position)).collect();
            any_names_a_key(&tools)
        })
    }

    /// Returns the keys that the tool at a position requires, with the tools that clearly supply them, independent of
    /// the request.
    pub(crate) fn prerequisites(&self, position: usize, tools: &dyn Tools) -> Arc<[Prerequisite]> {
        let known = self.prerequisites.lock().unwrap_or_else(PoisonError::into_inner).get(&position).map(Arc::clone);
        known.unwrap_or_else(|| {
            let found: Arc<[Prerequisite]> = Prerequisite::of_tool(tools, &self.producers, position).into();
            let mut known = self.prerequisites.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(position, Arc::clone(&found));
            found
        })
    }

    /// Returns the tool at a position with the fields of its answers; `None` if it does not exist or may not be called.
    pub(crate) fn tool(&self, position: usize) -> Option<(Arc<Tool>, Arc<[OutputField]>)> {
        if self.producers.is_barred(position) {
            return None;
        }
        if let Some(at) = position.checked_sub(self.catalog_tools) {
            return Some((Arc::clone(self.client.get(at)?), Arc::default()));
        }
        let operation = self.operation(position)?;
        Some((Arc::clone(&operation.tool), Arc::clone(&operation.outputs)))
    }

    fn operation(&self, position: usize) -> Option<&Operation> {
        let at = self.toolsets.partition_point(|(first, _)| *first <= position).checked_sub(1)?;
        let (first, toolset) = self.toolsets.get(at)?;
        toolset.operations.get(position - first)
    }
}

fn shape(tool: &Tool) -> ToolShape<'_> {
    ToolShape {
        name: &tool.name,
        description: &tool.description,
        parameters: &tool.parameters,
        outputs: &[],
        http: None,
        links: &[],
    }
}
