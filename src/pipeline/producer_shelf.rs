//! What can supply which argument, ready for turns: by the toolsets and rules of a turn, with the client's own tools.
//!
//! The toolsets' part is made when documents are loaded, and shared by reloads that leave them as they were. What is put together of it
//! for a turn is kept for the next one: an agent sends the same tools with every request.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::Equivalent;

use super::tool_shelf::ToolShelf;
use callwright_common::cache::{ByteCache, Usage};
use callwright_executor::Permissions;
use callwright_knowledge::planner::Settings;
use callwright_knowledge::planner::drawing::Tools;
use callwright_knowledge::planner::producers::{CatalogProducers, Edges, Producers, Segment, ToolShape};
use callwright_knowledge::planner::when::{Prerequisite, requires_key};
use callwright_openapi::{Catalog, Operation, Toolset};
use callwright_search::embedding::Embedder;
use callwright_types::rules::{ExecuteRule, ExecuteRules, ToolGlobs};
use callwright_types::{OutputField, Tool};

/// Bytes of the sets of toolsets under rules that are kept ready: there are as many as aliases and policies make.
const REACHES_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes that one tool of such a set takes, about: what is known of it belongs to the catalog.
const REACH_BYTES_PER_TOOL: usize = 256;

/// Bytes of memory that a client's list takes for each byte of its text, the text included, once it can be searched for sources; and each
/// tool besides. Estimated: twice the parsed list.
const GROUND_BYTES_PER_BYTE: usize = 24;
const GROUND_BYTES_PER_TOOL: usize = 4 * 1024;

/// The producers of a catalog's arguments.
#[derive(Debug)]
pub struct ProducerShelf {
    of_catalog: CatalogProducers,
    edges: Arc<Edges>,
    reaches: ByteCache<ReachKey, Arc<Reach>>,
    grounds: ByteCache<GroundKey, Arc<Ground>>,
}

/// Which tools of the catalog a turn may use: those of its toolsets that the rules do not keep from being called.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ReachKey {
    toolsets: Vec<String>,
    never: Vec<String>,
    execute: Vec<ExecuteRule>,
}

/// Those, with the client's tools of this list.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct GroundKey {
    reach: ReachKey,
    list: String,
    narrowed: bool,
}

/// A [`GroundKey`] that is looked for, hashed as that is.
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

/// What a turn may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The entries of the configuration whose toolsets take part.
    pub(super) toolsets: &'a [String],
    /// What is never offered.
    pub(super) never: &'a ToolGlobs,
    /// What may be executed.
    pub(super) execute: &'a ExecuteRules,
    /// The JSON text of the client's own tools.
    pub(super) list: &'a str,
    /// Does `never` hold for the client's own tools?
    pub(super) narrowed: bool,
}

/// The catalog's part.
#[derive(Debug)]
struct Reach {
    producers: Producers,
    /// With the position of the first tool of each.
    toolsets: Vec<(usize, Arc<Toolset>)>,
}

/// The producers among a turn's tools, and the tools by their positions.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) producers: Producers,
    reach: Arc<Reach>,
    /// The client's own, behind the catalog's.
    client: Vec<Arc<Tool>>,
    /// Those, where there are any.
    own: Option<Arc<Segment>>,
    /// Which tools require a key, looked at before: at most an entry for each tool.
    requiring: Mutex<HashMap<usize, bool>>,
    /// What tools need, looked up before: at most an entry for each tool.
    prerequisites: Mutex<HashMap<usize, Arc<[Prerequisite]>>>,
}

impl ProducerShelf {
    /// The producers of a catalog. What is as it was `before` costs nothing.
    pub fn fill(catalog: &Catalog, edges: Arc<Edges>, settings: &Settings, before: Option<&Self>) -> Self {
        let of_catalog = CatalogProducers::of(catalog, before.map(|before| &before.of_catalog));
        Self::of(of_catalog, edges, settings)
    }

    /// The same, by another word of the operator's.
    #[must_use]
    pub fn with_edges(&self, edges: Arc<Edges>, settings: &Settings) -> Self {
        Self::of(self.of_catalog.clone(), edges, settings)
    }

    fn of(of_catalog: CatalogProducers, edges: Arc<Edges>, settings: &Settings) -> Self {
        let of_ground = |key: &GroundKey, ground: &Arc<Ground>| {
            key.list.len() * GROUND_BYTES_PER_BYTE + ground.client.len() * GROUND_BYTES_PER_TOOL
        };
        let of_reach = |_: &ReachKey, reach: &Arc<Reach>| reach.producers.len() * REACH_BYTES_PER_TOOL;
        let reaches = ByteCache::new(REACHES_BYTES, of_reach);
        Self { of_catalog, edges, reaches, grounds: ByteCache::new(settings.client_tools_cache_bytes, of_ground) }
    }

    /// How much is cached.
    pub(super) fn usage(&self) -> Usage {
        self.reaches.usage() + self.grounds.usage()
    }

    /// What the operator's file names and the catalog has not; clients may send tools of these names.
    pub fn strangers(&self) -> Vec<&str> {
        if *self.edges == Edges::default() {
            return Vec::new();
        }
        self.of_catalog.all().unknown(&self.edges).into_iter().collect()
    }

    /// The producers among all tools of the catalog, in the order of its toolsets and their operations.
    pub(super) fn of_all(&self) -> Producers {
        self.of_catalog.all().with_edges(&self.edges)
    }

    /// The producers among the tools that a turn may use. `client` gives the client's own, where they are not known yet.
    pub(super) fn ground(
        &self,
        catalog: &Catalog,
        wanted: Wanted<'_>,
        client: impl FnOnce() -> Vec<Tool>,
    ) -> Arc<Ground> {
        let key = ReachKey {
            toolsets: wanted.toolsets.to_vec(),
            never: wanted.never.texts().to_vec(),
            execute: wanted.execute.rules.clone(),
        };
        let view = GroundView { reach: &key, list: wanted.list, narrowed: wanted.narrowed };
        self.grounds.get(&view).unwrap_or_else(|| {
            let owned = GroundKey { reach: key.clone(), list: wanted.list.to_owned(), narrowed: wanted.narrowed };
            self.grounds.get_with(owned, || {
                let reach = self.reaches.get_with(key, || Arc::new(self.reach(catalog, wanted)));
                Arc::new(Ground::of(reach, client(), wanted, &self.edges))
            })
        })
    }

    fn reach(&self, catalog: &Catalog, wanted: Wanted<'_>) -> Reach {
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

    /// Has the toolsets' tools compared by meaning too, as soon as the shelf knows what they mean.
    pub(super) fn take_vectors(&self, ground: &Ground, shelf: &ToolShelf) {
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

impl Ground {
    fn of(reach: Arc<Reach>, client: Vec<Tool>, wanted: Wanted<'_>, edges: &Edges) -> Self {
        if client.is_empty() {
            return Self::new(reach.producers.clone(), reach, (Vec::new(), None));
        }
        let shapes: Vec<ToolShape<'_>> = client.iter().map(shape).collect();
        let segment = Arc::new(Segment::build(&shapes));
        let first = reach.producers.len();
        let mut barred = HashSet::new();
        for (at, tool) in client.iter().enumerate() {
            // A text is no object of arguments; of tools with one name the first is the one that is called.
            let is_first = segment.position(&tool.name) == Some(at);
            if tool.free_text || !is_first || wanted.narrowed && wanted.never.name(&tool.name) {
                barred.insert(first + at);
            }
            // What the client has a tool of its own for is not called by that name.
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

    /// Has the client's own tools compared by meaning too, where that can be known at once: they come with a request, which waits for nothing
    /// slower.
    pub(super) async fn take_own_vectors(&self, embedder: &dyn Embedder) {
        let Some(own) = self.own.as_ref().filter(|own| embedder.is_immediate() && !own.has_vectors()) else { return };
        let texts = self.client.iter().map(|tool| shape(tool).embedded()).collect();
        if let Ok(vectors) = embedder.embed(texts).await {
            own.take_vectors(&vectors.into());
        }
    }

    /// Does the tool at a position require a key? Every turn asks that of every tool that it is offered.
    pub(super) fn requires_key(&self, position: usize, tools: &dyn Tools) -> bool {
        let mut known = self.requiring.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(position).or_insert_with(|| tools.tool(position).is_some_and(|tool| requires_key(&tool)))
    }

    /// The keys that the tool at a position requires, with what evidently supplies them, whatever is asked for.
    pub(super) fn prerequisites(&self, position: usize, tools: &dyn Tools) -> Arc<[Prerequisite]> {
        let known = || self.prerequisites.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(&position).map(Arc::clone);
        found.unwrap_or_else(|| {
            let all: Arc<[Prerequisite]> = Prerequisite::all_of(tools, &self.producers, position).into();
            known().insert(position, Arc::clone(&all));
            all
        })
    }

    /// The tool at a position, with what its answers hold; `None` where there is none, or it may not be called.
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
