//! Index of the tools that can supply an argument, by the toolsets and rules of a turn, with the client's own tools.
//!
//! The part of the toolsets is built when documents are loaded, and reused by reloads that do not change them. The
//! combination for a turn is cached for the next one, because an agent sends the same tools with every request.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::Equivalent;

use super::toolset_index::ToolsetIndex;
use callwright_common::cache::{ByteCache, FirstSight, Usage};
use callwright_executor::Permissions;
use callwright_knowledge::planner::Settings;
use callwright_knowledge::planner::drawing::Tools;
use callwright_knowledge::planner::producers::{CatalogProducers, Edges, Producers, Segment, ToolShape};
use callwright_knowledge::planner::when::{Prerequisite, requires_key};
use callwright_openapi::{Catalog, Operation, Toolset};
use callwright_search::embedding::Embedder;
use callwright_types::rules::{ExecuteRule, ExecuteRules, ToolGlobs};
use callwright_types::{OutputField, Tool};

/// Cache size in bytes for sets of toolsets under rules. Aliases and policies determine their number.
const REACHES_BYTES: u64 = 64 * 1024 * 1024;

/// Estimated bytes of one tool in such a set; the tool's data belongs to the catalog.
const REACH_BYTES_PER_TOOL: usize = 256;

/// Estimated memory of an indexed client tool list, per byte of its text (text included) and per tool: twice the parsed
/// list.
const GROUND_BYTES_PER_BYTE: usize = 24;
const GROUND_BYTES_PER_TOOL: usize = 4 * 1024;

/// Maximum size in bytes of a client's tool list that is cached at its first occurrence.
const SMALL_LIST_BYTES: usize = 32 * 1024;

/// Index of the tools that can supply the arguments of a catalog.
#[derive(Debug)]
pub struct ProducerIndex {
    of_catalog: CatalogProducers,
    edges: Arc<Edges>,
    reaches: ByteCache<ReachKey, Arc<Reach>>,
    grounds: ByteCache<GroundKey, Arc<IndexedTools>>,
    /// First occurrences of large client tool lists.
    first_sight: FirstSight,
}

/// The catalog tools that a turn may use: those of its toolsets that the rules allow to be called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ReachKey {
    toolsets: Vec<String>,
    never: Vec<String>,
    execute: Vec<ExecuteRule>,
}

/// The catalog tools of a turn, together with the client's tools of this list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct GroundKey {
    reach: ReachKey,
    list: String,
    narrowed: bool,
}

/// Borrowed form of a [`GroundKey`] for lookups; has the same hash.
#[derive(Hash)]
struct GroundView<'a> {
    reach: &'a ReachKey,
    list: &'a str,
    narrowed: bool,
}

impl Equivalent<GroundKey> for GroundView<'_> {
    fn equivalent(&self, key: &GroundKey) -> bool {
        (self.reach, self.list, self.narrowed) == (&key.reach, key.list.as_str(), key.narrowed)
    }
}

/// The tools and rules of a turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct IndexScope<'a> {
    /// Toolset entries of the configuration that take part.
    pub(super) toolsets: &'a [String],
    /// Tools that are never offered.
    pub(super) never: &'a ToolGlobs,
    /// Rules for execution.
    pub(super) execute: &'a ExecuteRules,
    /// JSON text of the client's own tools.
    pub(super) list: &'a str,
    /// Whether `never` also applies to the client's own tools.
    pub(super) narrowed: bool,
}

impl IndexScope<'_> {
    fn reach_key(&self) -> ReachKey {
        ReachKey {
            toolsets: self.toolsets.to_vec(),
            never: self.never.texts().to_vec(),
            execute: self.execute.rules.clone(),
        }
    }
}

/// The catalog's part of a turn's tools.
#[derive(Debug)]
struct Reach {
    producers: Producers,
    /// The toolsets, each with the position of its first tool.
    toolsets: Vec<(usize, Arc<Toolset>)>,
}

/// The tools of a turn by position, and which of them supply which argument.
#[derive(Debug)]
pub(super) struct IndexedTools {
    pub(super) producers: Producers,
    reach: Arc<Reach>,
    /// The client's own tools; their positions follow the catalog's.
    client: Vec<Arc<Tool>>,
    /// Index of the client's own tools, if any.
    own: Option<Arc<Segment>>,
    /// Cache: whether a tool requires a key, at most one entry per tool.
    requiring: Mutex<HashMap<usize, bool>>,
    /// Cache of the required keys, at most one entry per tool.
    prerequisites: Mutex<HashMap<usize, Arc<[Prerequisite]>>>,
}

impl ProducerIndex {
    /// Builds the index of a catalog. Reuses the unchanged parts of `before`.
    pub fn fill(catalog: &Catalog, edges: Arc<Edges>, settings: &Settings, before: Option<&Self>) -> Self {
        let of_catalog = CatalogProducers::of(catalog, before.map(|before| &before.of_catalog));
        Self::of(of_catalog, edges, settings)
    }

    /// Returns the same index with other edges from the operator.
    #[must_use]
    pub fn with_edges(&self, edges: Arc<Edges>, settings: &Settings) -> Self {
        Self::of(self.of_catalog.clone(), edges, settings)
    }

    fn of(of_catalog: CatalogProducers, edges: Arc<Edges>, settings: &Settings) -> Self {
        let of_ground = |key: &GroundKey, ground: &Arc<IndexedTools>| {
            key.list.len() * GROUND_BYTES_PER_BYTE + ground.client.len() * GROUND_BYTES_PER_TOOL
        };
        let of_reach = |_: &ReachKey, reach: &Arc<Reach>| reach.producers.len() * REACH_BYTES_PER_TOOL;
        let reaches = ByteCache::new(REACHES_BYTES, of_reach);
        let grounds = ByteCache::new(settings.client_tools_cache_bytes, of_ground);
        Self { of_catalog, edges, reaches, grounds, first_sight: FirstSight::new(SMALL_LIST_BYTES) }
    }

    /// Returns the cache usage.
    pub(super) fn usage(&self) -> Usage {
        self.reaches.usage() + self.grounds.usage()
    }

    /// Returns the tool names in the operator's file that the catalog lacks. Clients may send tools with these names.
    pub fn strangers(&self) -> Vec<&str> {
        if *self.edges == Edges::default() {
            return Vec::new();
        }
        self.of_catalog.all().unknown(&self.edges).into_iter().collect()
    }

    /// Returns the producers among all tools of the catalog, in the order of its toolsets and their operations.
    pub(super) fn of_all(&self) -> Producers {
        self.of_catalog.all().with_edges(&self.edges)
    }

    /// Returns the producers among the tools that a turn may use. `client` parses the client's own tools; it is called
    /// only on a cache miss.
    pub(super) fn ground(
        &self,
        catalog: &Catalog,
        wanted: IndexScope<'_>,
        client: impl FnOnce() -> Vec<Tool>,
    ) -> Arc<IndexedTools> {
        let key = wanted.reach_key();
        let view = GroundView { reach: &key, list: wanted.list, narrowed: wanted.narrowed };
        if let Some(ground) = self.grounds.get(&view) {
            return ground;
        }
        let build = || {
            let reach = self.reaches.get_with(key.clone(), || Arc::new(self.reach(catalog, wanted)));
            Arc::new(IndexedTools::of(reach, client(), wanted, &self.edges))
        };
        if !self.first_sight.admits(&view, wanted.list.len()) {
            return build();
        }
        let owned = GroundKey { reach: key.clone(), list: wanted.list.to_owned(), narrowed: wanted.narrowed };
        self.grounds.get_with(owned, build)
    }

    /// Whether the index for these tools is cached.
    pub(super) fn knows(&self, wanted: IndexScope<'_>) -> bool {
        let key = wanted.reach_key();
        self.grounds.get(&GroundView { reach: &key, list: wanted.list, narrowed: wanted.narrowed }).is_some()
    }

    fn reach(&self, catalog: &Catalog, wanted: IndexScope<'_>) -> Reach {
        let permissions = Permissions::of(wanted.execute);
        let (mut toolsets, mut segments, mut barred) = (Vec::new(), Vec::new(), HashSet::new());
        let mut first = 0;
        for toolset in wanted.toolsets.iter().flat_map(|name| catalog.toolsets_of(name)) {
            let Some(segment) = self.of_catalog.segment(&toolset.name) else { continue };
            for (at, operation) in toolset.operations.iter().enumerate() {
                let name = format!("{}/{}", toolset.name, operation.own_name());
                if wanted.never.name(&name) || !permissions.permit(&operation.method, &name) {
                    barred.insert(first + at);
                }
            }
            segments.push(Arc::clone(segment));
            toolsets.push((first, Arc::clone(toolset)));
            first += segment.len();
        }
        Reach { producers: Producers::new(segments).without(barred).with_edges(&self.edges), toolsets }
    }

    /// Adds the vectors of the toolsets' tools for semantic comparison, as soon as the shelf has them.
    pub(super) fn take_vectors(&self, ground: &IndexedTools, shelf: &ToolsetIndex) {
        for (_, toolset) in &ground.reach.toolsets {
            let Some(segment) = self.of_catalog.segment(&toolset.name).filter(|segment| !segment.has_vectors()) else {
                continue;
            };
            if let Some(vectors) = shelf.of_toolset(&toolset.name).and_then(|tools| tools.meanings()) {
                segment.take_vectors(vectors);
            }
        }
    }
}

impl IndexedTools {
    fn of(reach: Arc<Reach>, client: Vec<Tool>, wanted: IndexScope<'_>, edges: &Edges) -> Self {
        if client.is_empty() {
            return Self::new(reach.producers.clone(), reach, (Vec::new(), None));
        }
        let shapes: Vec<ToolShape<'_>> = client.iter().map(shape).collect();
        let segment = Arc::new(Segment::build(&shapes));
        let first = reach.producers.len();
        let mut barred = HashSet::new();
        for (at, tool) in client.iter().enumerate() {
            // A free-text tool has no argument object; of tools with the same name, the first one is called.
            let is_first = segment.position(&tool.name) == Some(at);
            if tool.free_text || !is_first || wanted.narrowed && wanted.never.name(&tool.name) {
                barred.insert(first + at);
            }
            // A client tool shadows the catalog tool of the same name.
            barred.extend(reach.producers.position(&tool.name));
        }
        let producers = reach.producers.and(Arc::clone(&segment)).without(barred).with_edges(edges);
        Self::new(producers, reach, (client, Some(segment)))
    }

    fn new(producers: Producers, reach: Arc<Reach>, (client, own): (Vec<Tool>, Option<Arc<Segment>>)) -> Self {
        let client = client.into_iter().map(Arc::new).collect();
        let (requiring, prerequisites) = (Mutex::default(), Mutex::default());
        Self { producers, reach, client, own, requiring, prerequisites }
    }

    /// Adds the vectors of the client's own tools if the embedder is immediate. A request does not wait for a slower
    /// one.
    pub(super) async fn take_own_vectors(&self, embedder: &dyn Embedder) {
        let Some(own) = self.own.as_ref().filter(|own| embedder.is_immediate() && !own.has_vectors()) else { return };
        let texts = self.client.iter().map(|tool| shape(tool).embedded()).collect();
        if let Ok(vectors) = embedder.embed(texts).await {
            own.take_vectors(&vectors.into());
        }
    }

    /// Whether the tool at a position requires a key. Cached, because every turn checks every offered tool.
    pub(super) fn requires_key(&self, position: usize, tools: &dyn Tools) -> bool {
        let mut known = self.requiring.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(position).or_insert_with(|| tools.tool(position).is_some_and(|tool| requires_key(&tool)))
    }

    /// Returns the keys that the tool at a position requires, with the tools that clearly supply them, independent of
    /// the request.
    pub(super) fn prerequisites(&self, position: usize, tools: &dyn Tools) -> Arc<[Prerequisite]> {
        let known = || self.prerequisites.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&position).map(Arc::clone);
        found.unwrap_or_else(|| {
            let all: Arc<[Prerequisite]> = Prerequisite::all_of(tools, &self.producers, position).into();
            known().insert(position, Arc::clone(&all));
            all
        })
    }

    /// Returns the tool at a position with the fields of its answers; `None` if it does not exist or may not be called.
    pub(super) fn tool(&self, position: usize) -> Option<(Arc<Tool>, Arc<[OutputField]>)> {
        if self.producers.is_barred(position) {
            return None;
        }
        if let Some(at) = position.checked_sub(self.reach.producers.len()) {
            return Some((Arc::clone(self.client.get(at)?), Arc::default()));
        }
        let operation = self.operation(position)?;
        Some((Arc::clone(&operation.tool), Arc::clone(&operation.outputs)))
    }

    fn operation(&self, position: usize) -> Option<&Operation> {
        let at = self.reach.toolsets.partition_point(|(first, _)| *first <= position).checked_sub(1)?;
        let (first, toolset) = self.reach.toolsets.get(at)?;
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
