//! Index of the tools that can supply an argument, by the toolsets and rules of a turn, with the client's own tools.
//!
//! The part of the toolsets is built when documents are loaded, and reused by reloads that do not change them. The
//! combination for a turn is cached for the next one, because an agent sends the same tools with every request. A turn
//! that comes before many operations are indexed does not wait: it goes on without argument sources.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use callwright_common::cache::{ByteCache, FirstSight, Usage};
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

/// Cache size in bytes for indexes of clients' own tool lists, which take about 24 times their text. The least recently
/// used lists are indexed again at their next use.
const INDEXED_TOOLS_BYTES: u64 = 16 * 1024 * 1024;

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
    callable: ByteCache<CallableScope, Arc<CallableTools>>,
    indexed: ByteCache<IndexScope, Arc<IndexedTools>>,
    /// First occurrences of large client tool lists.
    first_sight: FirstSight,
    /// Sets of toolsets that a background task indexes.
    building: Mutex<HashSet<CallableScope>>,
}

/// The catalog tools that a turn may use: those of its toolsets that the rules allow to be called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CallableScope {
    /// Toolset entries of the configuration that take part.
    pub(crate) toolsets: Vec<String>,
    /// Tools that are never offered.
    pub(crate) never: ToolGlobs,
    pub(crate) execute: ExecuteRules,
}

/// The catalog tools of a turn, together with the client's tools of a list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct IndexScope {
    pub(crate) callable: CallableScope,
    pub(crate) list: String,
    /// Whether the rules apply to the client's tools too.
    pub(crate) narrowed: bool,
}

impl CallableScope {
    fn toolsets_in<'a>(&'a self, catalog: &'a Catalog) -> impl Iterator<Item = &'a Arc<Toolset>> {
        self.toolsets.iter().flat_map(|name| catalog.toolsets_of(name))
    }

    fn operation_count(&self, catalog: &Catalog) -> usize {
        self.toolsets_in(catalog).map(|toolset| toolset.operations.len()).sum()
    }
}

/// The catalog's part of a turn's tools.
#[derive(Debug)]
struct CallableTools {
    producers: Producers,
    /// The toolsets, each with the position of its first tool.
    toolsets: Vec<(usize, Arc<Toolset>)>,
}

/// The tools of a turn by position, and which of them supply which argument.
#[derive(Debug)]
pub(crate) struct IndexedTools {
    pub(crate) producers: Producers,
    callable: Arc<CallableTools>,
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
            callable: ByteCache::new(CATALOG_TOOLS_BYTES as u64, |_, callable: &Arc<CallableTools>| {
                catalog_tools_bytes(callable.producers.len())
            }),
            indexed: ByteCache::new(INDEXED_TOOLS_BYTES, indexed_bytes),
            first_sight: FirstSight::new(SMALL_LIST_BYTES),
            building: Mutex::default(),
        }
    }

    /// Returns the cache usage.
    pub(crate) fn usage(&self) -> Usage {
        self.callable.usage() + self.indexed.usage()
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
    pub(crate) fn is_ready(&self, catalog: &Catalog, scope: &CallableScope) -> bool {
        let operations = scope.operation_count(catalog);
        operations <= MAX_INDEXED_IN_PLACE
            || operations <= MAX_COMBINED_IN_PLACE && self.has_segments(catalog, scope)
            || self.callable.get(scope).is_some()
    }

    /// Builds the part of the catalog for later turns in the background, unless that is in progress. Needs a Tokio
    /// runtime.
    pub(crate) fn build_in_background(self: &Arc<Self>, catalog: &Arc<Catalog>, scope: &CallableScope) {
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if building.len() >= MAX_BACKGROUND_BUILDS || !building.insert(scope.clone()) {
            return;
        }
        let (toolsets, operations) = (scope.toolsets.join(", "), scope.operation_count(catalog));
        tracing::info!(toolsets, operations, "argument sources are being indexed; until then, turns have no plans");
        let (index, catalog, scope) = (Arc::clone(self), Arc::clone(catalog), scope.clone());
        tokio::task::spawn_blocking(move || {
            let started = Instant::now();
            index.callable.get_with(scope.clone(), || Arc::new(index.callable(&catalog, &scope)));
            tracing::info!(toolsets, seconds = started.elapsed().as_secs_f64(), "argument sources are indexed");
            // After a panic, the set stays marked and is not tried again.
            index.building.lock().unwrap_or_else(PoisonError::into_inner).remove(&scope);
        });
    }

    fn has_segments(&self, catalog: &Catalog, scope: &CallableScope) -> bool {
        scope.toolsets_in(catalog).all(|toolset| self.of_catalog.is_ready(&toolset.name))
    }

    /// Indexes the tools that a turn may use, with the `client`'s own tools.
    pub(crate) fn build(&self, catalog: &Catalog, scope: &IndexScope, client: Vec<Tool>) -> Arc<IndexedTools> {
        let of_catalog = &scope.callable;
        let callable = self.callable.get_with(of_catalog.clone(), || Arc::new(self.callable(catalog, of_catalog)));
        let build = || Arc::new(IndexedTools::of(callable, client, scope, &self.edges));
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

    fn callable(&self, catalog: &Catalog, scope: &CallableScope) -> CallableTools {
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
        CallableTools { producers: Producers::new(segments).without(barred).with_edges(&self.edges), toolsets }
    }

    /// Adds the vectors of the toolsets' tools for semantic comparison, as soon as they are available.
    pub(crate) fn take_vectors(&self, tools: &IndexedTools, toolset_index: &ToolsetIndex) {
        for (_, toolset) in &tools.callable.toolsets {
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
    fn of(callable: Arc<CallableTools>, client: Vec<Tool>, scope: &IndexScope, edges: &Edges) -> Self {
        let (mut producers, mut own) = (callable.producers.clone(), None);
        if !client.is_empty() {
            let shapes: Vec<ToolShape<'_>> = client.iter().map(shape).collect();
            let segment = Arc::new(Segment::build(&shapes));
            let first = producers.len();
            let mut barred = HashSet::new();
            for (at, tool) in client.iter().enumerate() {
                // A later tool of the same name is hidden by the first one.
                let is_first = segment.position(&tool.name) == Some(at);
                if !tool.is_function() || !is_first || scope.narrowed && scope.callable.never.name(&tool.name) {
                    barred.insert(first + at);
                }
                barred.extend(producers.position(&tool.name));
            }
            producers = producers.with_segment(Arc::clone(&segment)).without(barred).with_edges(edges);
            own = Some(segment);
        }
        Self {
            producers,
            callable,
            client: client.into_iter().map(Arc::new).collect(),
            own,
            requiring: Mutex::default(),
            has_confirmed_edges: !edges.confirmed.is_empty(),
            may_need_plan: OnceLock::new(),
            prerequisites: Mutex::default(),
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
            let is_undocumented = self.callable.producers.is_empty() && !self.has_confirmed_edges;
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
        if let Some(at) = position.checked_sub(self.callable.producers.len()) {
            return Some((Arc::clone(self.client.get(at)?), Arc::default()));
        }
        let operation = self.operation(position)?;
        Some((Arc::clone(&operation.tool), Arc::clone(&operation.outputs)))
    }

    fn operation(&self, position: usize) -> Option<&Operation> {
        let at = self.callable.toolsets.partition_point(|(first, _)| *first <= position).checked_sub(1)?;
        let (first, toolset) = self.callable.toolsets.get(at)?;
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
